// SPDX-License-Identifier: Apache-2.0
// runtime/session/backend/linked_services.cpp - the services of a program that has a back end. A
// part of each back end's library, not of the runtime; weak, so that a program may link several.
#include "runtime/session/backend_services.h"

extern "C" __attribute__((weak)) const ingot::BackendServices ingot_backend_services;
const ingot::BackendServices ingot_backend_services = {
    &ingot::kF16WeightPacker,  &ingot::kSharedWeightsCode, &ingot::kAutoCode,
    ingot::assign_devices,     ingot::read_tunings,        &ingot::kF16Planner,
    ingot::find_device_scratch};
