// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/backend_services.h"

// Defined by every back end's library (runtime/CMakeLists.txt), which a program links or does not.
extern "C" __attribute__((weak)) const ingot::BackendServices ingot_backend_services;

namespace ingot {

const BackendServices* backend_services() { return &ingot_backend_services; }

}  // namespace ingot
