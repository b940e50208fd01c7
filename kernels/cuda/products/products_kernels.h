// kernels/cuda/products/products_kernels.h - X(kernel, parameters, threads of a block). _any: a of
// any alignment or transposed.
#pragma once
#include "kernels/cuda/products/conv_transpose_params.h"
#include "kernels/cuda/products/matmul_params.h"
#include "kernels/cuda/products/skinny_params.h"

#define INGOT_CUDA_PRODUCTS(X)                             \
  X(matmul_large, MatMulParams, LargeTile::kThreads)       \
  X(matmul_square, MatMulParams, SquareTile::kThreads)     \
  X(matmul_small, MatMulParams, SmallTile::kThreads)       \
  X(matmul_square_any, MatMulParams, SquareTile::kThreads) \
  X(matmul_small_any, MatMulParams, SmallTile::kThreads)   \
  X(matmul_each, MatMulParams, 128)                        \
  X(conv_transpose, ConvTransposeParams, 128)              \
  X(skinny, SkinnyParams, SkinnyShape::kThreads)
