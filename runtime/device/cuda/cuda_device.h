// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/cuda_device.h - a GPU as a device: memory, copies, graphs.
#pragma once
#include "runtime/device/device.h"

namespace ingot::cuda {

extern const DeviceInterface kCudaDevice;

}  // namespace ingot::cuda
