// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/embed/no_images.cpp - of a build that packs no device code: bare machines, and hosts
// without Python.
#include "kernels/cuda/embed/image.h"

namespace ingot::cuda {

Span<const uint8_t> device_images() { return {}; }

}  // namespace ingot::cuda
