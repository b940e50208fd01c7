// SPDX-License-Identifier: Apache-2.0
// runtime/op/recurrent.h - LSTM, GRU and RNN over a whole sequence.
// Operands  0 x [T,B,I] ([B,T,I] when batch_first); 1 w: panels16 over [D*G*P, I]; 2 r: panels16
//           over [D*G*P, H]; 3 [bias dense [D, N, G*P]]; 4 [h0 [D,B,H]]; 5 [c0 [D,B,H]] (lstm); 6
//           [sequence_lens i32 [B]]; 7 [peepholes dense [D, 3*P]] (lstm, i o f); 8 and 9 [numbers
//           of the outputs of w and r] (lstm of bytes). D directions, H hidden, P = H rounded up to
//           16, G gates in ONNX's order (lstm i o f c, gru z r h, rnn
//           one); each gate block is padded to P rows, the rest zero. N = 1: input and recurrent
//           biases already summed; N = 2 for gru with linear_before_reset, whose recurrent bias
//           stays apart.
// Results   0 [y [T,D,B,H] ([B,T,D,H] when batch_first)]; 1 [h [D,B,H]]; 2 [c [D,B,H]].
//           The oracle also takes w and r dense. Every result may be absent.
// Order     gate = chain of fma from the bias over x, then (a second chain, from zero or the
//           recurrent bias) over h; the two are added; peepholes by one fma; clip; then
//           activations. lstm: c = fma(f, c, i * g), h = o * act(c). gru: h = fma(z, h, (1 - z) *
//           g), g from x + r * (h R) where linear_before_reset (one fma), else from x + (r * h) R.
// Bytes     lstm whose w and r are i8 panels16x4 (dense for the oracle). Operands 8 and 9 are
//           channels of to_float (runtime/op/requantize.h) for D*G*P outputs, with the biases; 3
//           is absent. x becomes bytes as a whole, up to the end of the longest sequence, and in
//           step s h of all sequences of at least s steps, with the range `full`
//           (runtime/op/dynamic_quantize.h). Step s of a sequence that runs in reverse is its time
//           length - 1 - s. DynamicQuantizeLSTM of ONNX Runtime.
// State     h and c are flushed: an absolute value below 2^-126 becomes zero, by an explicit
//           compare.
#pragma once
#include "runtime/op/activation.h"
#include "runtime/op/contract.h"

namespace ingot {

enum class RecurrentKind : uint8_t { kLstm = 0, kGru = 1, kRnn = 2 };
enum class Direction : uint8_t { kForward = 0, kReverse = 1, kBidirectional = 2 };
struct RecurrentAttributes {
  RecurrentKind kind = RecurrentKind::kLstm;
  Direction direction = Direction::kForward;
  uint32_t hidden = 0;
  float clip = 0;  // 0: none
  bool linear_before_reset = false;
  bool batch_first = false;
  // 0: the defaults; else 3 (lstm f g h), 2 (gru f g) or 1 (rnn) per direction
  uint32_t activation_count = 0;
  ActivationSpec activations[6];
};
constexpr int recurrent_gates(RecurrentKind k) {
  return k == RecurrentKind::kLstm ? 4 : k == RecurrentKind::kGru ? 3 : 1;
}
// rows of x (steps x batch) whose products are made at once
constexpr int64_t kRecurrentChunkRows = 64;
/// Weights are bytes.
bool recurrent_of_bytes(const OpArguments& arguments);
extern const OpContract kRecurrentContract;

/// Steps whose input products are made at once; and the floats of scratch that this takes, false on
/// overflow.
int64_t recurrent_chunk_steps(int64_t steps, int64_t batch);
bool recurrent_shared_floats(const OpArguments& arguments, uint64_t* out);
/// Where the rows of bytes begin in the scratch of a thread: behind what a product of bytes takes.
uint64_t recurrent_byte_rows();

}  // namespace ingot
