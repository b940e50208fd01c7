// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/embed/image.h - the device code that this build carries.
#pragma once
#include <cstdint>

#include "runtime/base/span.h"

namespace ingot::cuda {

/// All modules of all architectures, compressed; runtime/device/cuda/image_reader.h reads them.
/// Constant data, valid for ever. A build without a CUDA compiler has entries for the emulator
/// alone; empty where there was not even a Python to pack those.
Span<const uint8_t> device_images();

}  // namespace ingot::cuda
