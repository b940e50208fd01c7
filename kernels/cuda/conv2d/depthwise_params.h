// kernels/cuda/conv2d/depthwise_params.h - what the kernels of depthwise convolutions take. Strides in elements.
#pragma once
#include <cstdint>

#include "kernels/cuda/products/epilogue_params.h"

namespace ingot::cuda {

struct DepthwiseParams {
  const float *x, *w, *bias, *residual;  // w: [kernel_h * kernel_w][channels, padded to 16]; bias padded likewise, or null
  float* y;
  int64_t count;  // threads with something to do: quads of channels, by groups of pixels, by rows
  int64_t h, width, c, oh, ow;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int64_t x_stride, y_stride, residual_stride, tap_stride;
  EpilogueParams epilogue;
  bool vector_x, vector_y;  // may be accessed 16 bytes at a time
};

}  // namespace ingot::cuda
