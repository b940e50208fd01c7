// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/graphics.cpp - EGLImages as memory of the GPU, for examples/jetson.
#include "tests/cuda/fake_driver/fake_egl.h"
#include "tests/cuda/fake_driver/handles.h"

using namespace ingot::cuda;

namespace {

/// CUeglFrame (tests/cuda/egl_declarations.cpp).
struct EglFrame {
  void* plane[3];
  unsigned width, height, depth, pitch, planes, channels;
  int kind, color_format, element_format;
};

Address address_of(const FakeEglImage& image) {
  return Address(reinterpret_cast<uintptr_t>(image.at));
}

}  // namespace

extern "C" {

Result cuGraphicsEGLRegisterImage(void** resource, FakeEglImage* image, unsigned) {
  if (!image || image->magic != kFakeEglMagic) return kInvalidValue;
  *resource = image;
  return fake_cuda_lend(address_of(*image), image->bytes);
}
Result cuGraphicsResourceGetMappedEglFrame(EglFrame* frame, FakeEglImage* image, unsigned,
                                           unsigned) {
  if (image->magic != kFakeEglMagic) return kInvalidValue;
  *frame = {
      {image->at, nullptr, nullptr}, image->width, image->height, 1, image->pitch, 1, 1, 1, 0, 0};
  return 0;
}
Result cuGraphicsUnregisterResource(FakeEglImage* image) {
  return fake_cuda_take_back(address_of(*image));
}

}  // extern "C"
