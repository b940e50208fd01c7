// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/host_device.cpp - the CPU as a device.
#include "runtime/device/host/host_device.h"

#include "runtime/device/host/step_loop.h"

namespace ingot {
namespace {

Status resolve_on_host(Device&, const StepProgram&, ErrorDetail*) { return {}; }
Status run_on_host(Device&, const StepProgram& program, const RunControl& control,
                   ThreadTeam* thread_team, ErrorDetail* detail) {
  return run_steps(program, control, thread_team, detail);
}
// thread stacks are the pool's
uint64_t host_outside_bytes(const Device&, const StepProgram&) { return 0; }

}  // namespace

const DeviceInterface kHostDevice = {"cpu",           true,        nullptr,
                                     nullptr,         nullptr,     nullptr,
                                     resolve_on_host, run_on_host, host_outside_bytes};

}  // namespace ingot
