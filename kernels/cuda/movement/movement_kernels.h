// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/movement/movement_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/gather/gather_params.h"
#include "kernels/cuda/gather/scatter_params.h"
#include "kernels/cuda/movement/movement_params.h"

// clang-format off
#define INGOT_CUDA_MOVEMENT(X)                                                                  \
  X(move_1, MoveParams, 256) X(move_2, MoveParams, 256) X(move_4, MoveParams, 256)              \
  X(move_8, MoveParams, 256) X(move_16, MoveParams, 256) X(turn_1, TurnParams, 256)             \
  X(turn_2, TurnParams, 256) X(turn_4, TurnParams, 256) X(turn_8, TurnParams, 256)              \
  X(concat_units, ConcatParams, 256) X(pad_units, PadParams, 256)                               \
  X(gather_units, GatherParams, 256) X(gather_as_halves, GatherParams, 256)                     \
  X(gather_elements, GatherElementsParams, 256)                                                 \
  X(scatter_claim, ScatterParams, 256) X(scatter_write, ScatterParams, 256)                     \
  X(scatter_keys, ScatterParams, 256) X(scatter_combine, ScatterParams, 256)                    \
  X(clear_words, ClearParams, 256) X(sort_count, SortParams, 256) X(sort_scan, SortParams, 256) \
  X(sort_place, SortParams, 256)
// clang-format on
