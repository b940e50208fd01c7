// kernels/cuda/image/no_images.cpp - of a build that packs no device code: bare machines, and hosts
// without Python.
#include "kernels/cuda/image/image.h"

namespace ingot::cuda {

Span<const uint8_t> device_images() { return {}; }

}  // namespace ingot::cuda
