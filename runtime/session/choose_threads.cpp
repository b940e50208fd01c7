// SPDX-License-Identifier: Apache-2.0
// runtime/session/choose_threads.cpp - see choose_threads.h.
#include "runtime/session/choose_threads.h"

#include "runtime/op/multiply_adds.h"
#include "runtime/op/recurrent.h"
#include "runtime/session/assignment.h"

namespace ingot {
namespace {

// A core moves some 20 bytes in a nanosecond and pauses for some 20: waiting costs a sixteenth of
// the run, 150 us at most.
constexpr uint64_t kBytesPerNs = 20;
constexpr uint64_t kNsPerSpin = 320;
constexpr uint64_t kMaxJoinSpins = 8192;
constexpr uint64_t kWorthSharingNs = 25000;  // waking a helper takes as long

/// Products of the whole program, those of f32 four times.
uint64_t count_products(const OpenModel& model, const BoundProgram& bound) {
  constexpr uint64_t kMax = uint64_t{1} << 60;
  uint64_t total = 0;
  for (uint32_t i = 0; i < model.program.instructions.size; i++) {
    const OpArguments a = operand_types(model.program, bound, i, model.workspace.operands);
    const uint64_t products = multiply_adds(model.program.instructions[i].op, a);
    const bool of_bytes =
        products &&
        (dtype_bytes(a.inputs[0].dtype) == 1 ||
         (model.program.instructions[i].op == OpCode::kRecurrent && recurrent_of_bytes(a)));
    const uint64_t each = of_bytes ? 1 : 4;
    total = products > kMax / 4 ? kMax : total + products * each;
    if (total > kMax) total = kMax;
  }
  return total;
}

/// What a run of one core is likely to take.
uint64_t expected_ns(const OpenModel& model, const BoundProgram& bound) {
  const uint64_t rate = model.kernels->products_per_ns ? model.kernels->products_per_ns : 1;
  return traffic_bytes(model, bound) / kBytesPerNs + count_products(model, bound) / rate;
}

/// One for each fast processor where some are slower.
int automatic_threads(bool* on_fast) {
  const os::ProcessorSet usable = os::usable_processors(), fast = os::choose_fast(usable);
  *on_fast = fast.count() > 0 && fast.count() < usable.count();
  const int processors = *on_fast ? fast.count() : os::processor_count();
  return processors < kMaxTeam ? processors : kMaxTeam;
}

}  // namespace

Status choose_threads(const OpenModel& model, const SessionRequest& request, Preparation* p,
                      ErrorDetail* detail) {
  // Without threads nothing asks; firmware has no code for it.
  const uint64_t ns = os::kHasThreads ? expected_ns(model, p->planned.bound) : 0;
  const int most = request.pool ? request.pool->threads() : kMaxTeam;
  if (request.threads < 0)
    return fail(detail, Code::kInvalidArgument, "options.threads: at least", 0,
                uint64_t(request.threads));
  if (request.threads > most)
    return fail(
        detail, Code::kInvalidArgument,
        request.pool ? "options.threads, of the pool's: at most" : "options.threads: at most",
        uint64_t(most), uint64_t(request.threads));
  if (!p->device.interface->host_memory) {
    p->threads = 1;
    p->threads_reason = "the device computes by itself";
    return {};
  }
  if (request.threads) {
    p->threads = request.threads;
    p->threads_reason = "asked for";
  } else if (p->split && !request.assignment->instruction_counts[0]) {
    p->threads_reason = "no instruction runs on the CPU";
  } else if (ns < kWorthSharingNs) {
    p->threads_reason = "the program is too short to share; ask for a number to have it";
  } else if (request.pool) {
    p->threads = most;
    p->threads_reason = "all of the pool";
  } else {
    p->threads = automatic_threads(&p->on_fast);
    p->threads_reason = p->on_fast ? "one for each fast processor" : "one for each processor";
  }
  p->join_spins = uint32_t(ns / kNsPerSpin < kMaxJoinSpins ? ns / kNsPerSpin : kMaxJoinSpins);
  p->starts_threads = p->threads > 1 && !request.pool && !request.executor.parallel;
  if (p->starts_threads && !os::kHasThreads)
    return fail(detail, Code::kThreadFailed, "options.threads: this system has no threads", 1,
                uint64_t(p->threads));
  return {};
}

}  // namespace ingot
