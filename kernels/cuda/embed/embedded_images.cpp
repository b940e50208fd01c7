// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/embed/embedded_images.cpp - of a build that could pack them (see embedded_images.S).
#include "kernels/cuda/embed/image.h"

extern "C" __attribute__((visibility("hidden"))) const uint8_t ingot_device_images_begin[],
    ingot_device_images_end[];

namespace ingot::cuda {

Span<const uint8_t> device_images() {
  return {ingot_device_images_begin, size_t(ingot_device_images_end - ingot_device_images_begin)};
}

}  // namespace ingot::cuda
