// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/block_kernels.h - X(kernel, parameters, threads of a block): of each
// type of codes one for a row, one for tiles of rows, and one on tensor cores.
#pragma once
#include "kernels/cuda/block_linear/block_params.h"

// X(name, BlockType::), in the order of BlockType.
#define INGOT_CUDA_CODE_TYPES(X) \
  X(q4_0, kQ4_0)                 \
  X(q4_1, kQ4_1)                 \
  X(q5_0, kQ5_0)                 \
  X(q5_1, kQ5_1)                 \
  X(q8_0, kQ8_0)                 \
  X(q4_k, kQ4_K)                 \
  X(q5_k, kQ5_K)                 \
  X(q6_k, kQ6_K)                 \
  X(q2_k, kQ2_K) X(q3_k, kQ3_K) X(iq4_nl, kIQ4_NL) X(iq4_xs, kIQ4_XS) X(mxfp4, kMXFP4)

#define INGOT_CUDA_BLOCKS_OF(X, name)                    \
  X(block_row_##name, BlockLinearParams, kBlockThreads)  \
  X(block_rows_##name, BlockLinearParams, kBlockThreads) \
  X(block_tiles_##name, BlockLinearParams, kBlockThreads)

#define INGOT_CUDA_BLOCK_LINEAR(X)                                     \
  INGOT_CUDA_BLOCKS_OF(X, q4_0)                                        \
  INGOT_CUDA_BLOCKS_OF(X, q4_1)                                        \
  INGOT_CUDA_BLOCKS_OF(X, q5_0)                                        \
  INGOT_CUDA_BLOCKS_OF(X, q5_1)                                        \
  INGOT_CUDA_BLOCKS_OF(X, q8_0)                                        \
  INGOT_CUDA_BLOCKS_OF(X, q4_k)                                        \
  INGOT_CUDA_BLOCKS_OF(X, q5_k)                                        \
  INGOT_CUDA_BLOCKS_OF(X, q6_k)                                        \
  INGOT_CUDA_BLOCKS_OF(X, q2_k)                                        \
  INGOT_CUDA_BLOCKS_OF(X, q3_k)                                        \
  INGOT_CUDA_BLOCKS_OF(X, iq4_nl)                                      \
  INGOT_CUDA_BLOCKS_OF(X, iq4_xs)                                      \
  INGOT_CUDA_BLOCKS_OF(X, mxfp4)                                       \
  X(float_blocks_few, BlockLinearParams, FloatBlocksOfFew::kThreads)   \
  X(float_blocks_many, BlockLinearParams, FloatBlocksOfMany::kThreads) \
  X(block_quantize, BlockQuantizeParams, kBlockThreads)                \
  X(block_gather, BlockGatherParams, kBlockThreads)
