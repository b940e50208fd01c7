// SPDX-License-Identifier: Apache-2.0
// runtime/session/backend_services.h - what sessions do only where a back end is linked. A program
// without one carries none of this code: the table is found through a weak symbol, which
// backend/linked_services.cpp defines, a part of each back end's library.
// Owns     nothing.
// Threads  any.
// Errors   those of the functions.
#pragma once
#include "runtime/session/assignment.h"
#include "runtime/session/auto_device.h"
#include "runtime/session/f16_plan.h"
#include "runtime/session/packed_f16_weights.h"
#include "runtime/session/shared_weights.h"
#include "runtime/session/tunings.h"

namespace ingot {

struct BackendServices {
  const F16WeightPacker* f16_weights;       // where DeviceInterface::takes_f16_weights
  const SharedWeightsCode* shared_weights;  // where DeviceInterface::shares_weights
  const AutoCode* automatic;                // where "auto" took a GPU that then failed
  // of instructions that DeviceInterface::supports refuses
  decltype(&assign_devices) assign;
  decltype(&read_tunings) tunings;                // where DeviceInterface::variant
  const F16Planner* f16;                          // where DeviceInterface::choose_f16
  decltype(&find_device_scratch) device_scratch;  // where DeviceInterface::scratch
};

/// Null: this program was linked without a back end, and no device of it asks for a service.
const BackendServices* backend_services();

}  // namespace ingot
