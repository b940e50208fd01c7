// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/matmul/matmul_params.h - what the kernels of products of two activations take.
// Strides in elements.
#pragma once
#include "kernels/cuda/conv2d/conv2d_params.h"

namespace ingot::cuda {

constexpr int kMaxBatchRank = 6;

/// y [batch][m][n] = alpha * sum over k of a * b.
struct MatMulParams {
  ConvParams rows;  // a as rows of pixels; w, bias and residual unused
  const float* b;
  int64_t b_k, b_n;  // strides of b along k and along n; one of them is 1
  int64_t batches, y_batch;
  int64_t dims[kMaxBatchRank], a_strides[kMaxBatchRank], b_strides[kMaxBatchRank];  // 0: broadcast
  int batch_rank;
  float alpha;
  bool vector_b;  // b_n is 1, and four neighbours of a row may be read at once
};

}  // namespace ingot::cuda
