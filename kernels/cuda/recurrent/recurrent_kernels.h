// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/recurrent/recurrent_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/recurrent/recurrent_params.h"

#define INGOT_CUDA_RECURRENT(X)             \
  X(recurrent_start, RecurrentParams, 128)  \
  X(recurrent_inputs, RecurrentParams, 128) \
  X(recurrent_step, RecurrentParams, 256)   \
  X(recurrent_steps, RecurrentParams, 256)  \
  X(recurrent_finish, RecurrentParams, 128) \
  X(linear_recurrence, LinearRecurrenceParams, 128)
