// runtime/device/null/null_device.cpp - the smallest device.
#include "runtime/device/null/null_device.h"

namespace ingot {
namespace {

Status resolve(Device&, const StepProgram&, ErrorDetail*) { return {}; }
Status run(Device&, const StepProgram&, const RunControl& control, Crew*, ErrorDetail* detail) {
  if (!control.cancel || !control.cancel->exchange(0)) return {};
  return fail(detail, Code::kCancelled, "run: cancelled");
}
uint64_t outside_bytes(const Device&, const StepProgram&) { return 0; }

}  // namespace

const DeviceInterface kNullDevice = {"null",  true,    nullptr, nullptr,      nullptr,
                                     nullptr, resolve, run,     outside_bytes};

}  // namespace ingot
