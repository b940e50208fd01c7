// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/tensorcore_kernels.h - X(kernel, parameters, threads of a block)
//   product_<type>_<pixels><weights>_<pixels of a tile>x<outputs of a tile>
//   rows, windows, first: how x is read, see pixels.cuh; transposed: w is [n][k]; any: any x and
//   any w
//   w of windows and first is panels: f32 with tf32, packed f16 with f16; of rows f32, [k][n] or
//   panels;
//   packed: rows of x, packed f16 weights
//   word_rows, word_windows: the same where x is f16, a word of which is two channels; w packed f16
//   weights
//   shared_windows: 3x3 windows out of a patch in shared memory; where f16, x is f16 as well
//   grouped: windows, and w [n][k] of each group, a group a matrix of the batch
//   bottleneck_<type>: three convolutions of a chain, see bottleneck.cuh
//   attention_<type>_<widest head>, halves: f16 products of q, k and v that are f16 in memory;
//   attention_parts: where keys are cut into parts, their sum
#pragma once
#include "kernels/cuda/attention/attention_params.h"
#include "kernels/cuda/tensorcore/bottleneck_params.h"
#include "kernels/cuda/tensorcore/shared_windows_params.h"
#include "kernels/cuda/tensorcore/tensorcore_params.h"

#define INGOT_CUDA_PRODUCTS_OF(X, type)                     \
  X(product_##type##_rows_128x64, ProductParams, 128)       \
  X(product_##type##_rows_64x64, ProductParams, 128)        \
  X(product_##type##_rows_32x128, ProductParams, 128)       \
  X(product_##type##_windows_128x64, ProductParams, 128)    \
  X(product_##type##_windows_64x64, ProductParams, 128)     \
  X(product_##type##_windows_32x128, ProductParams, 128)    \
  X(product_##type##_grouped_64x64, ProductParams, 128)     \
  X(product_##type##_first_128x64, ProductParams, 128)      \
  X(product_##type##_first_64x64, ProductParams, 128)       \
  X(product_##type##_transposed_128x64, ProductParams, 128) \
  X(product_##type##_transposed_64x64, ProductParams, 128)  \
  X(product_##type##_any_64x64, ProductParams, 128)

#define INGOT_CUDA_TENSORCORE(X)                           \
  INGOT_CUDA_PRODUCTS_OF(X, f16)                           \
  INGOT_CUDA_PRODUCTS_OF(X, tf32)                          \
  X(product_tf32_shared_windows, SharedWindowsParams, 128) \
  X(product_f16_shared_windows, SharedWindowsParams, 128)  \
  X(product_one_row, ProductParams, 128)                   \
  X(product_skinny, ProductParams, 128)                    \
  X(product_one_row_packed_f16, ProductParams, 128)        \
  X(product_skinny_packed_f16, ProductParams, 128)         \
  X(product_f16_packed_128x64, ProductParams, 128)         \
  X(product_f16_packed_64x64, ProductParams, 128)          \
  X(product_f16_packed_32x128, ProductParams, 128)         \
  X(product_f16_word_rows_128x64, ProductParams, 128)      \
  X(product_f16_word_rows_64x64, ProductParams, 128)       \
  X(product_f16_word_rows_32x128, ProductParams, 128)      \
  X(product_f16_word_windows_128x64, ProductParams, 128)   \
  X(product_f16_word_windows_64x64, ProductParams, 128)    \
  X(product_f16_word_windows_32x128, ProductParams, 128)   \
  X(product_tf32_rows_128x128, ProductParams, 256)         \
  X(product_tf32_windows_128x128, ProductParams, 256)      \
  X(product_f16_word_rows_128x128, ProductParams, 256)     \
  X(add_splits, ProductParams, 256)                        \
  X(bottleneck_f16, BottleneckParams, 128)                 \
  X(bottleneck_tf32, BottleneckParams, 128)                \
  X(attention_f16_64, AttentionParams, 128)                \
  X(attention_f16_128, AttentionParams, 128)               \
  X(attention_halves_64, AttentionParams, 128)             \
  X(attention_halves_128, AttentionParams, 128)            \
  X(attention_tf32_128, AttentionParams, 128)              \
  X(attention_parts, AttentionParams, 128)
