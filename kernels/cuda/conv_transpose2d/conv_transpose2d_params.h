// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv_transpose2d/conv_transpose2d_params.h - what the kernel of transposed
// convolutions takes. Strides in elements.
#pragma once
#include <cstdint>

#include "kernels/cuda/gemm/epilogue_params.h"

namespace ingot::cuda {

constexpr int kTransposePixels = 4;  // of a thread

/// Weight (o, k) of a group is at o / 16 * panel_stride + o % 16 * lane_stride + k * step.
struct ConvTransposeParams {
  const float *x, *w, *bias;  // bias or null
  float* y;
  int64_t count;                                 // threads with something to do
  int64_t h, width, c, oh, ow, outputs, groups;  // c and outputs of a group
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int64_t x_stride, y_stride, panel_stride, lane_stride, step, w_group;
  EpilogueParams epilogue;
  bool vector_w, vector_y;  // four channels of a weight, or of y, may be accessed at once
  bool y_f16;               // x is by the kernel
};

}  // namespace ingot::cuda
