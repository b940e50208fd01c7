// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/depthwise_params.h - what the kernels of depthwise convolutions take. Strides
// in elements.
#pragma once
#include <cstdint>

#include "kernels/cuda/conv2d/conv2d_params.h"

namespace ingot::cuda {

struct DepthwiseParams {
  // w: [kernel_h * kernel_w][channels, padded to 16]; bias padded likewise, or null
  const float *x, *w, *bias, *residual;
  float* y;
  int64_t count;  // threads with something to do: quads of channels, by groups of pixels, by rows
  int64_t h, width, c, oh, ow;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int64_t x_stride, y_stride, residual_stride, tap_stride;
  EpilogueParams epilogue;
  bool vector_x, vector_y;  // may be accessed four elements at a time
  bool x_f16, y_f16, residual_f16;
};

/// A depthwise convolution 3x3 and the pointwise one behind it; what lies between is never in
/// memory. Channels of x are quads, rows of the pixels between are whole groups of four.
struct DepthwisePointwiseParams {
  DepthwiseParams depthwise;
  ConvParams product;  // without x
};

}  // namespace ingot::cuda
