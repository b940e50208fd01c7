// kernels/cuda/image/image.h - the device code that this build carries.
#pragma once
#include "runtime/base/span.h"

#include <cstdint>

namespace ingot::cuda {

/// All modules of all architectures, compressed; empty where the build had no CUDA compiler.
Span<const uint8_t> device_images();

}  // namespace ingot::cuda
