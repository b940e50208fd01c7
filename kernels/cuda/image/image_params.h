// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/image/image_params.h - what the kernels that read frames of a camera take.
#pragma once
#include "runtime/op/image_input.h"

namespace ingot::cuda {

struct FrameParams {
  ImageInputAttributes attributes;
  PixelLayout layout;
  ImageColor color;
  ImagePlane planes[kMaxImagePlanes];
  float* y;
  int64_t pixels;          // of all images
  uint32_t height, width;  // of y
};

}  // namespace ingot::cuda
