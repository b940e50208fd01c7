// runtime/device/host/host_device.h - the CPU: runs the steps of a program with a crew.
#pragma once
#include "runtime/device/device.h"

namespace ingot {

extern const DeviceInterface kHostDevice;

}  // namespace ingot
