// SPDX-License-Identifier: Apache-2.0
// runtime/plan/place_scratch.cpp - see place_scratch.h.
#include "runtime/plan/place_scratch.h"

namespace ingot {

uint64_t ScratchPlacer::place(uint32_t step, uint64_t bytes, uint64_t alignment) {
  for (; entered_ < sweep_.count(); entered_++) {
    const uint32_t tensor = sweep_.starting(entered_);
    if (lifetimes_[tensor].first_step > step) break;
    sweep_.enter(tensor);
  }
  sweep_.leave_before(step);
  uint64_t behind = 0, best = 0, best_gap = ~uint64_t{0};
  for (uint32_t tensor = sweep_.lowest(); tensor != PlanSweep::kNobody;
       tensor = sweep_.above(tensor)) {
    const uint64_t start = offsets_[tensor];
    if (start >= behind && start - behind >= bytes && start - behind < best_gap)
      best = behind, best_gap = start - behind;
    // no overflow: verify_plan() knows the end, and a plan is far below 2^64
    behind = (sweep_.end(tensor) + alignment - 1) & ~(alignment - 1);
  }
  return best_gap == ~uint64_t{0} ? behind : best;
}

}  // namespace ingot
