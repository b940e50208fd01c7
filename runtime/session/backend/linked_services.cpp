// SPDX-License-Identifier: Apache-2.0
// runtime/session/backend/linked_services.cpp - the services of a program that has a back end for
// GPUs. A part of the library ingot_cuda, not of the runtime.
#include "runtime/session/backend_services.h"

extern "C" const ingot::BackendServices ingot_backend_services;
const ingot::BackendServices ingot_backend_services = {
    &ingot::kF16WeightPacker,  &ingot::kSharedWeightsCode, &ingot::kAutoCode,
    ingot::assign_devices,     ingot::read_tunings,        &ingot::kF16Planner,
    ingot::find_device_scratch};
