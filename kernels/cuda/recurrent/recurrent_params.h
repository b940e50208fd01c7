// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/recurrent/recurrent_params.h - LSTM, GRU, RNN; LinearRecurrence. P is the hidden size rounded up to
// 16, G the gates; `d` a direction.
#pragma once
#include "runtime/op/linear_recurrence.h"
#include "runtime/op/recurrent.h"

namespace ingot::cuda {

constexpr int kRecurrentThreads = 256;

struct RecurrentParams {
  const float *x, *w, *r, *bias;  // w, r: panels16; bias may be null
  const float *h0, *c0, *peepholes;
  const int32_t* lengths;
  float *y, *h_out, *c_out;  // may be null
  float* products;           // [d][chunk * batch][G * P] of the inputs
  float* states;             // [d][batch][G * P] of the state
  float *h[2], *c, *reset;   // [d][batch][P]
  uint32_t* fault;
  uint32_t fault_value;
  int64_t steps, batch, input, hidden, padded, chunk;
  int64_t done, count;  // steps before this chunk, of this chunk
  int64_t step;         // of the sequence; which h is current follows from it
  float clip;
  RecurrentKind kind;
  ActivationSpec f[2], g[2], act_h[2];               // by direction
  int gates, directions, biases;                     // biases: rows of bias for each direction
  int first_gate, last_gate;                         // of a step's launch
  bool batch_first, linear_before_reset, backwards;  // backwards: direction 0
};

struct LinearRecurrenceParams {
  linear_recurrence::Plan plan;
  uint32_t* fault;
  uint32_t fault_value;
};

}  // namespace ingot::cuda
