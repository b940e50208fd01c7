// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/reduce/reduce_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/reduce/reduce_params.h"

// clang-format off
#define INGOT_CUDA_REDUCE(X)                                                                     \
  X(reduce_columns_f32, ReduceParams, 128) X(reduce_rows_f32, ReduceParams, 128)                 \
  X(reduce_columns_f16, ReduceParams, 128)                                                       \
  X(reduce_short_f32, ReduceParams, 128) X(reduce_long_f32, ReduceParams, 256)                   \
  X(reduce_any, ReduceParams, 128) X(arg_reduce, ArgReduceParams, 128)                           \
  X(softmax_rows, SoftmaxParams, 64) X(softmax_long, SoftmaxParams, 256)                         \
  X(softmax_columns, SoftmaxParams, 128) X(norm_rows, NormRowsParams, 64)                        \
  X(norm_long, NormRowsParams, 256) X(norm_channel_sums, NormChannelsParams, 512)                \
  X(norm_channel_squares, NormChannelsParams, 512)                                               \
  X(norm_channel_finish, NormChannelsParams, 128) X(norm_channel_apply, NormChannelsParams, 256) \
  X(topk_lines, TopKParams, 256) X(cumsum_f32, CumSumParams, 64) X(cumsum_any, CumSumParams, 64)
// clang-format on
