// SPDX-License-Identifier: Apache-2.0
// runtime/device/null/null_device.h - computes nothing, takes no time: the overhead of a session
// alone, and a device to copy.
#pragma once
#include "runtime/device/device.h"

namespace ingot {

/// Outputs keep what their memory held.
extern const DeviceInterface kNullDevice;

}  // namespace ingot
