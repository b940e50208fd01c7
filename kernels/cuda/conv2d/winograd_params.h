// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/winograd_params.h - what the transforms of F(4x4, 3x3) take. The 36 products
// between them are those of ConvParams.
#pragma once
#include <cstdint>

#include "kernels/cuda/gemm/epilogue_params.h"

namespace ingot::cuda {

/// Tiles first .. first + count - 1 of the batch, 4 x 4 outputs each. Strides in elements.
struct WinogradInputParams {
  const float* x;
  float* v;                              // [36][block][v_row]
  int64_t first, count, tiles_w, tiles;  // tiles: of one image
  int64_t h, width, c, pad_top, pad_left;
  int64_t x_stride, v_row, v_plane;
};

struct WinogradOutputParams {
  const float *m, *bias, *residual;  // m: [36][block][m_row]; bias, residual or null
  float* y;
  int64_t first, count, tiles_w, tiles;
  int64_t oh, ow, o;
  int64_t m_row, m_plane, y_stride, residual_stride;
  EpilogueParams epilogue;
};

}  // namespace ingot::cuda
