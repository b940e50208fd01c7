// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/host_device.h - the CPU: runs the steps of a program with a thread team.
#pragma once
#include "runtime/device/device.h"

namespace ingot {

extern const DeviceInterface kHostDevice;

}  // namespace ingot
