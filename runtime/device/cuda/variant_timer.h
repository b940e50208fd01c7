// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/variant_timer.h - how long a variant to compute an instruction takes on a
// GPU: its launches many times in one graph, where the session's operands lie, between two events.
// For `ingot tune`; no session needs it.
// Owns     a pair of events, scratch, a graph a variant.
// Threads  one; the session does not run meanwhile.
// Errors   kNoKernel, kOutOfMemory, kDeviceLost, after which the session is dead.
#pragma once
#include "runtime/device/cuda/session_state.h"

namespace ingot::cuda {

/// One instruction of a session that lies on `device`, and how it is computed.
struct TimedWork {
  OpCode op;
  const OpArguments* arguments;
  GpuPrecision precision;
  const GpuVariant* variant;  // null: the model's
};

class VariantClock {
 public:
  /// `device`: with the state of a session. @pre nothing of it runs
  explicit VariantClock(Device& device) : device_(device) {}
  ~VariantClock();
  VariantClock(const VariantClock&) = delete;
  VariantClock& operator=(const VariantClock&) = delete;
  /// Room for variants whose scratch is at most that.
  Status open(uint64_t scratch_bytes, ErrorDetail* detail);

  /// The launches of one kernel variant, `repeats` times one behind the other; run once, so that
  /// its code and operands are where they belong.
  Status prepare(const TimedWork& work, uint32_t repeats, GraphExec* out, ErrorDetail* detail);
  /// Nanoseconds of all repeats.
  Status time(GraphExec graph, double* nanoseconds, ErrorDetail* detail);
  void drop(GraphExec graph);

 private:
  Status wait_for(Result launched, ErrorDetail* detail);

  Device& device_;
  Event begin_ = nullptr, end_ = nullptr;
  Address scratch_ = 0;
  uint64_t scratch_bytes_ = 0;
};

/// A graph of one instruction, its launches `repeats` times. (graph.cpp)
Status build_repeats(Device& device, const GpuWork& work, const GpuKernelEntry& row,
                     uint32_t repeats, GraphExec* out, ErrorDetail* detail);

}  // namespace ingot::cuda
