// SPDX-License-Identifier: Apache-2.0
// runtime/device/backends.cpp - the rows of backends.def. Each back end is a weak symbol: a program
// that does not link its library carries none of it. A program that defines these itself links
// another list (tests/device does).
#include "runtime/device/device.h"

#ifndef INGOT_BACKENDS
#define INGOT_BACKENDS "runtime/device/backends.def"
#endif

#define INGOT_BACKEND(name, title) \
  extern "C" __attribute__((weak)) const ingot::DeviceBackend ingot_##name##_backend;
#include INGOT_BACKENDS

namespace ingot {

const BackendRow kBackends[] = {
#define INGOT_BACKEND(name, title) \
  {#name, &ingot_##name##_backend, "device: this program was linked without " title},
#include INGOT_BACKENDS
    {nullptr, nullptr, nullptr}};

const char kDeviceNames[] = "use auto, cpu"
#define INGOT_BACKEND(name, title) ", " #name " or " #name ":1"
#include INGOT_BACKENDS
    ;

}  // namespace ingot
