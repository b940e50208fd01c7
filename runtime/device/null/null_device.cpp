// SPDX-License-Identifier: Apache-2.0
// runtime/device/null/null_device.cpp - the smallest device.
#include "runtime/device/null/null_device.h"

namespace ingot {
namespace {

Status resolve_nothing(Device&, const StepProgram&, ErrorDetail*) { return {}; }
Status run_nothing(Device&, const StepProgram&, const RunControl& control, ThreadTeam*,
                   ErrorDetail* detail) {
  if (!control.cancel || !control.cancel->exchange(0)) return {};
  return fail(detail, Code::kCancelled, "run: cancelled");
}
uint64_t no_outside_bytes(const Device&, const StepProgram&) { return 0; }

}  // namespace

const DeviceInterface kNullDevice = {"null",          true,        nullptr,
                                     nullptr,         nullptr,     nullptr,
                                     resolve_nothing, run_nothing, no_outside_bytes};

}  // namespace ingot
