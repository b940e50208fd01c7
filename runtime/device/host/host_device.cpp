// runtime/device/host/host_device.cpp - the CPU as a device.
#include "runtime/device/host/host_device.h"

#include "runtime/device/host/step_loop.h"

namespace ingot {
namespace {

Status resolve(Device&, const StepProgram&, ErrorDetail*) { return {}; }
Status run(Device&, const StepProgram& program, const RunControl& control, Crew* crew,
           ErrorDetail* detail) {
  return run_steps(program, control, crew, detail);
}
// thread stacks are the pool's
uint64_t outside_bytes(const Device&, const StepProgram&) { return 0; }

}  // namespace

const DeviceInterface kHostDevice = {"cpu",   true,    nullptr, nullptr,      nullptr,
                                     nullptr, resolve, run,     outside_bytes};

}  // namespace ingot
