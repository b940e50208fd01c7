// SPDX-License-Identifier: Apache-2.0
// runtime/plan/place_scratch.h - scratch of a step in a gap between the tensors that live in it.
// Owns     nothing; works in the caller's workspace.
// Threads  any.
// Cost     that of verify_plan(), and a walk over the live tensors for each step with scratch.
#pragma once
#include "runtime/plan/plan_sweep.h"

namespace ingot {

/// @pre verify_plan() accepted the layout
class ScratchPlacer {
 public:
  /// `workspace`: of verify_plan_workspace_bytes(), 8-byte aligned.
  ScratchPlacer(Span<const Lifetime> lifetimes, Span<const uint64_t> offsets, uint8_t* workspace)
      : lifetimes_(lifetimes), offsets_(offsets), sweep_(lifetimes, offsets, workspace) {}

  /// The smallest gap that holds `bytes` (> 0) at `step`, else behind all that live: a multiple of
  /// `alignment`, a power of two. Steps ascend from call to call.
  uint64_t place(uint32_t step, uint64_t bytes, uint64_t alignment);

 private:
  Span<const Lifetime> lifetimes_;
  Span<const uint64_t> offsets_;
  PlanSweep sweep_;
  uint32_t entered_ = 0;
};

}  // namespace ingot
