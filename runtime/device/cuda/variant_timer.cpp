// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/variant_timer.cpp - graphs of one instruction, between two events.
#include "runtime/device/cuda/variant_timer.h"

namespace ingot::cuda {

VariantClock::~VariantClock() {
  if (is_forked()) return;
  const Current current(state_of(device_).gpu.context);
  if (begin_) driver().cuEventDestroy_v2(begin_);
  if (end_) driver().cuEventDestroy_v2(end_);
  if (scratch_) driver().cuMemFree_v2(scratch_);
}

Status VariantClock::open(uint64_t scratch_bytes, ErrorDetail* detail) {
  INGOT_TRY(check_usable(device_, detail));
  const Current current(state_of(device_).gpu.context);
  Result result = current.refused();
  if (!result) result = driver().cuEventCreate(&begin_, kEventWithTiming);
  if (result) begin_ = nullptr;
  if (!result && (result = driver().cuEventCreate(&end_, kEventWithTiming)) != 0) end_ = nullptr;
  static constexpr uint32_t kZeros[kGpuCounters] = {};
  scratch_bytes = (scratch_bytes + 255) & ~uint64_t{255};
  if (!result && scratch_bytes) {  // and counters behind it, for variants that add up parts
    result = driver().cuMemAlloc_v2(&scratch_, size_t(scratch_bytes + sizeof kZeros));
    if (result) scratch_ = 0;
    if (result == kResultOutOfMemory)
      return fail_on(device_, detail, Code::kOutOfMemory, "device memory: scratch for all variants",
                     scratch_bytes, free_bytes(state_of(device_).gpu));
    if (!result)
      result = driver().cuMemcpyHtoDAsync_v2(scratch_ + scratch_bytes, kZeros, sizeof kZeros,
                                             state_of(device_).stream);
    if (!result) result = driver().cuStreamSynchronize(state_of(device_).stream);
  }
  scratch_bytes_ = scratch_bytes;
  return result ? fail_with(device_, detail, result, Code::kDeviceLost) : Status();
}

Status VariantClock::wait_for(Result launched, ErrorDetail* detail) {
  if (!launched) launched = driver().cuStreamSynchronize(state_of(device_).stream);
  return launched ? lose(device_, detail, launched) : Status();
}

Status VariantClock::prepare(const TimedWork& timed, uint32_t repeats, GraphExec* out,
                             ErrorDetail* detail) {
  SessionState& s = state_of(device_);
  INGOT_TRY(check_usable(device_, detail));
  const Current current(s.gpu.context);
  if (current.refused()) return lose(device_, detail, current.refused());
  if (driver().graphs == GraphUse::kNone)
    return fail_on(device_, detail, Code::kInvalidArgument,
                   "device: INGOT_CUDA_GRAPHS=none leaves no graph to time variants in");
  GpuWork work;
  work.arguments = timed.arguments;
  work.scratch = reinterpret_cast<uint8_t*>(uintptr_t(scratch_));
  work.scratch_bytes = scratch_bytes_;
  work.fault = &s.mailbox->fault;
  work.fault_value = 1;
  work.traits = traits_of(gpu_facts(device_.ordinal));
  work.precision = timed.precision;
  work.variant = timed.variant;
  GpuCounters counters;
  if (scratch_)
    counters = {reinterpret_cast<uint32_t*>(work.scratch + scratch_bytes_), kGpuCounters};
  work.counters = &counters;
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, timed.op, *work.arguments, work.traits, work.precision);
  if (!row) return fail_on(device_, detail, Code::kNoKernel, "device: no kernel for these types");
  INGOT_TRY(build_repeats(device_, work, *row, repeats, out, detail));
  const Status status = wait_for(driver().cuGraphLaunch(*out, s.stream), detail);
  if (!status.ok()) driver().cuGraphExecDestroy(*out);
  return status;
}

Status VariantClock::time(GraphExec graph, double* nanoseconds, ErrorDetail* detail) {
  SessionState& s = state_of(device_);
  INGOT_TRY(check_usable(device_, detail));
  const Current current(s.gpu.context);
  float milliseconds = 0;
  Result result = current.refused();
  if (!result) result = driver().cuEventRecord(begin_, s.stream);
  if (!result) result = driver().cuGraphLaunch(graph, s.stream);
  if (!result) result = driver().cuEventRecord(end_, s.stream);
  INGOT_TRY(wait_for(result, detail));
  result = driver().cuEventElapsedTime(&milliseconds, begin_, end_);
  *nanoseconds = double(milliseconds) * 1e6;
  return result ? lose(device_, detail, result) : Status();
}

void VariantClock::drop(GraphExec graph) {
  if (is_forked()) return;
  const Current current(state_of(device_).gpu.context);
  driver().cuGraphExecDestroy(graph);
}

}  // namespace ingot::cuda
