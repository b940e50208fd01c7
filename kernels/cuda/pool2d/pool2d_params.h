// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/pool2d/pool2d_params.h - Pool2d. Strides in units of the kernel.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "runtime/op/pool2d.h"

namespace ingot::cuda {

struct PoolParams {
  const float* x;
  float* y;
  int64_t count;                        // of y: groups of neighbouring channels
  FastDivisor channels, width, height;  // of y; channels in groups
  FastDivisor dilation_h, dilation_w;
  int64_t in_h, in_w;
  int64_t x_pixel, y_pixel;  // elements from one pixel to the next
  Pool2dAttributes t;
  bool x_f16, y_f16;
};

}  // namespace ingot::cuda
