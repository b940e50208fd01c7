// kernels/cuda/image/image_params.h - what the kernels that read frames of a camera take.
#pragma once
#include "runtime/op/picture.h"

namespace ingot::cuda {

struct FrameParams {
  PictureAttributes attributes;
  PixelLayout layout;
  PictureColor color;
  PicturePlane planes[kMaxPicturePlanes];
  float* y;
  int64_t pixels;          // of all pictures
  uint32_t height, width;  // of y
};

}  // namespace ingot::cuda
