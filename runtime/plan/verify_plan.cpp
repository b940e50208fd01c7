// SPDX-License-Identifier: Apache-2.0
// runtime/plan/verify_plan.cpp - a sweep over steps with the ordered set of live tensors: they are
// disjoint at all times, hence a new one overlaps something exactly when it overlaps a neighbour.
#include "runtime/plan/verify_plan.h"

#include "runtime/base/checked_math.h"
#include "runtime/plan/plan_sweep.h"

namespace ingot {
namespace {

constexpr uint32_t kNobody = PlanSweep::kNobody;

Status refuse(ErrorDetail* detail, const char* rule, uint32_t tensor, uint64_t need,
              uint64_t have) {
  const Status status = fail(detail, Code::kPlanInvalid, rule, need, have);
  if (detail) detail->operand = int32_t(tensor);
  return status;
}

Status check_neighbours(PlanSweep sweep, Span<const Lifetime> lifetimes,
                        Span<const uint64_t> offsets, ErrorDetail* detail) {
  for (uint32_t i = 0; i < sweep.count(); i++) {
    const uint32_t tensor = sweep.starting(i);
    sweep.leave_before(lifetimes[tensor].first_step);
    const uint32_t below = sweep.below(tensor), above = sweep.above(tensor);
    if (below != kNobody && sweep.end(below) > offsets[tensor])
      return refuse(detail, "plan: starts inside a tensor that is still alive", tensor,
                    sweep.end(below), offsets[tensor]);
    if (above != kNobody && sweep.end(tensor) > offsets[above])
      return refuse(detail, "plan: reaches into a tensor that is alive", tensor, offsets[above],
                    sweep.end(tensor));
    sweep.enter(tensor);
  }
  return {};
}

}  // namespace

uint64_t verify_plan_workspace_bytes(uint32_t tensor_count) {
  return PlanSweep::workspace_bytes(tensor_count);
}

Status verify_plan(Span<const Lifetime> lifetimes, Span<const uint64_t> offsets,
                   uint64_t plan_bytes, uint64_t alignment, Span<uint8_t> workspace,
                   ErrorDetail* detail) {
  const uint32_t total = uint32_t(lifetimes.size);
  const uint64_t need = verify_plan_workspace_bytes(total);
  if (workspace.size < need)
    return fail(detail, Code::kArenaTooSmall, "plan check workspace", need, workspace.size);
  for (uint32_t i = 0; i < total; i++) {
    if (!lifetimes[i].bytes) {
      if (offsets[i] != kNoOffset && offsets[i] > plan_bytes)
        return refuse(detail, "plan: offset beyond the region", i, plan_bytes, offsets[i]);
      continue;
    }
    if (offsets[i] == kNoOffset)
      return refuse(detail, "plan: a tensor has no place", i, lifetimes[i].bytes, 0);
    if (offsets[i] & (alignment - 1))
      return refuse(detail, "plan: offset is not aligned", i, alignment, offsets[i]);
    uint64_t end;
    if (!checked_add(offsets[i], lifetimes[i].bytes, &end) || end > plan_bytes)
      return refuse(detail, "plan: a tensor leaves the region", i, plan_bytes, offsets[i]);
  }
  return check_neighbours(PlanSweep(lifetimes, offsets, workspace.data), lifetimes, offsets,
                          detail);
}

}  // namespace ingot
