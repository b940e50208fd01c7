// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/skinny_params.h - what the kernel for a few rows times panels takes.
// Strides in elements.
#pragma once
#include <cstdint>

#include "kernels/cuda/gemm/epilogue_params.h"

namespace ingot::cuda {

/// A block has one panel and up to kRows rows; kStages k-tiles of both are on their way at a time.
struct SkinnyShape {
  static constexpr int kRows = 8, kThreads = 16 * kRows, kDepth = 64, kStages = 6;
  // of a row of x: rows of one warp in different banks
  static constexpr int kPitch = kDepth + 4;
  static constexpr int kStage = kDepth * 16 + kRows * kPitch;  // floats
  static constexpr uint32_t kSharedBytes = kStages * kStage * 4;
};

struct SkinnyParams {
  const float *x, *w, *bias, *residual;  // w: panels16; bias or residual may be null
  float* y;
  int64_t rows, k, outputs;  // rows: 1 .. SkinnyShape::kRows
  int64_t x_stride, y_stride, residual_stride;
  EpilogueParams epilogue;
  bool is_early;  // as of ConvParams
};

}  // namespace ingot::cuda
