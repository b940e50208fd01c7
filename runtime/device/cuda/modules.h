// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/modules.h - device code: from the library's image to functions. Called by
// gpu.cpp under its lock.
#pragma once
#include "runtime/device/cuda/gpu.h"

namespace ingot::cuda {

/// Whether this build carries code that runs on compute capability `sm` with a driver of that
/// version (12040: 12.4); on any at all.
bool has_modules(int sm, int driver);
bool has_any_modules();
/// The same for the module that a kernel is in.
bool has_kernel(int sm, int driver, uint16_t kernel);

/// @pre the context of the GPU is current
Status load_function(int slot, int sm, Device& device, uint16_t kernel, Function* out,
                     ErrorDetail* detail);
void unload_modules(int slot);

}  // namespace ingot::cuda
