// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gemm/gemm_kernels.h - X(kernel, parameters, threads of a block). _any: a of
// any alignment or transposed.
#pragma once
#include "kernels/cuda/conv_transpose2d/conv_transpose2d_params.h"
#include "kernels/cuda/linear/skinny_params.h"
#include "kernels/cuda/linear/weights_params.h"
#include "kernels/cuda/matmul/matmul_params.h"

#define INGOT_CUDA_GEMM(X)                                 \
  X(matmul_large, MatMulParams, LargeTile::kThreads)       \
  X(matmul_square, MatMulParams, SquareTile::kThreads)     \
  X(matmul_small, MatMulParams, SmallTile::kThreads)       \
  X(matmul_square_any, MatMulParams, SquareTile::kThreads) \
  X(matmul_small_any, MatMulParams, SmallTile::kThreads)   \
  X(matmul_each, MatMulParams, 128)                        \
  X(conv_transpose, ConvTransposeParams, 128)              \
  X(conv_transpose_f16, ConvTransposeParams, 128)          \
  X(skinny, SkinnyParams, SkinnyShape::kThreads)           \
  X(weights_by_8_rows, SkinnyWeightsParams, 128)           \
  X(weights_by_16_rows, SkinnyWeightsParams, 128)          \
  X(relaxed_weights_by_1_row, SkinnyWeightsParams, 256)    \
  X(relaxed_weights_by_4_rows, SkinnyWeightsParams, 256)   \
  X(relaxed_weights_by_16_rows, SkinnyWeightsParams, 256)  \
  X(expand_weights, ExpandWeightsParams, 256)
