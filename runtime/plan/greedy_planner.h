// SPDX-License-Identifier: Apache-2.0
// runtime/plan/greedy_planner.h - offsets for tensors with lifetimes: best fit in several orders,
// the smallest layout kept.
// Owns     nothing; works in the caller's workspace.
// Threads  any.
// Cost     each order places n tensors by one walk over those already placed that live at the same
//          time; all walks together are bounded by kPlanSteps, after which the orders that are left
//          are skipped. The order by first step walks over live tensors only, and not at all where
//          they lie without a gap; it comes first, so that a plan exists for every sane program.
#pragma once
#include "runtime/base/status.h"
#include "runtime/plan/lifetime.h"

namespace ingot {

enum class PlanOrder : uint8_t {
  kNone,
  kFirstStep,
  kSize,
  kSizeTimesLife,
  kBreadth,
  kLife,
  kMoved
};
const char* plan_order_name(PlanOrder order);

constexpr uint64_t kPlanSteps = uint64_t{1} << 28;
/// For a layout more than 1/64 above the lower bound: from the best order, what lies highest is
/// placed earlier, again and again, and kept when it does no harm. About two milliseconds at most.
constexpr uint64_t kMovedSteps = uint64_t{1} << 20;

struct PlanSummary {
  uint64_t bytes = 0;  // of the layout, a multiple of the alignment
  // largest sum of live bytes at one step: no layout is smaller
  uint64_t lower_bound = 0;
  uint32_t peak_step = 0;              // where that is
  PlanOrder order = PlanOrder::kNone;  // that won
};

/// Bytes of workspace for `tensor_count` tensors over `step_count` steps.
uint64_t planner_workspace_bytes(uint32_t tensor_count, uint32_t step_count);

/// Writes offsets[i] for each lifetime (kNoOffset where bytes is 0): multiples of `alignment`, a
/// power of two. @pre every last_step < step_count (or step_count is 0 and all are 0); workspace is
/// 8-byte aligned and large enough.
/// Errors  kArenaTooSmall{need, have} for the workspace; kLimitExceeded when sizes overflow or
///         kPlanSteps is spent.
Status plan_greedy(Span<const Lifetime> lifetimes, uint32_t step_count, uint64_t alignment,
                   Span<uint8_t> workspace, Span<uint64_t> offsets, PlanSummary* out,
                   ErrorDetail* detail);

}  // namespace ingot
