// tools/cast/schedule.cpp - see schedule.h.
#include "tools/cast/schedule.h"

#include <algorithm>

#include "runtime/plan/greedy_planner.h"
#include "tools/cast/in_place.h"
#include "tools/cast/usage.h"

namespace ingot::cast {
namespace {

/// Lifetimes of roots in positions of the run order, as runtime/plan/lifetime.h counts them.
std::vector<Lifetime> lifetimes_of(const Draft& draft, const Bindings& bindings, uint32_t* steps) {
  const Usage usage(draft);
  const RunOrder order(draft);
  *steps = std::max(order.length, 1u);
  std::vector<Lifetime> lifetimes(draft.values.size());
  std::vector<bool> seen(draft.values.size(), false);
  const auto touch = [&](int32_t id, uint32_t position) {
    const size_t root = size_t(draft.root(id));
    Lifetime& life = lifetimes[root];
    life.first_step = seen[root] ? std::min(life.first_step, position) : position;
    life.last_step = seen[root] ? std::max(life.last_step, position) : position;
    seen[root] = true;
  };
  for (int32_t id = 0; id < int32_t(draft.values.size()); id++) {
    const ValueKind kind = draft.at(id).kind;
    if (kind == ValueKind::kConstant) continue;
    for (const Use& use : usage.readers[size_t(id)]) touch(id, order.at(use));
    for (const Use& use : usage.writers[size_t(id)]) touch(id, order.at(use));
    if (kind == ValueKind::kInput) touch(id, 0);
    if (kind == ValueKind::kOutput) touch(id, *steps - 1);
  }
  for (int32_t id = 0; id < int32_t(draft.values.size()); id++) {
    const DraftValue& value = draft.at(id);
    if (!seen[size_t(id)] || value.alias != AliasKind::kNone || value.kind == ValueKind::kConstant) continue;
    if (!storage_bytes(evaluate_type(value, bindings), &lifetimes[size_t(id)].bytes)) lifetimes[size_t(id)].bytes = 0;
  }
  return lifetimes;
}

Draft reordered(const Draft& draft, const std::vector<uint32_t>& order) {
  Draft result = draft;
  for (size_t i = 0; i < order.size(); i++) result.subprograms[0].instructions[i] = draft.subprograms[0].instructions[order[i]];
  return result;
}

}  // namespace

ArenaEstimate estimate_arena(const Draft& draft, const Bindings& bindings) {
  uint32_t steps = 0;
  std::vector<Lifetime> lifetimes = lifetimes_of(draft, bindings, &steps);
  std::vector<uint64_t> offsets(lifetimes.size());
  std::vector<uint64_t> workspace(planner_workspace_bytes(uint32_t(lifetimes.size()), steps) / 8 + 1);
  PlanSummary summary;
  ErrorDetail detail;
  const Status status = plan_greedy({lifetimes.data(), lifetimes.size()}, steps, draft.alignment,
                                    {reinterpret_cast<uint8_t*>(workspace.data()), workspace.size() * 8},
                                    {offsets.data(), offsets.size()}, &summary, &detail);
  if (!status.ok())
    graph::throw_cast_error(8, std::string("the planner refused a layout: ") + code_name(status.code()) + " (" + detail.field + ")");
  return {summary.bytes, summary.lower_bound, summary.peak_step, std::move(offsets)};
}

void schedule(Draft* draft, CastReport* report) {
  const Bindings typical = typical_binding(*draft);
  Draft best;
  bool any = false;
  for (const CandidateOrder& candidate : candidate_orders(*draft, typical)) {
    Draft tried = reordered(*draft, candidate.order);
    const uint32_t in_place = apply_in_place(&tried);
    const ArenaEstimate estimate = estimate_arena(tried, typical);
    if (any && (estimate.bytes > report->arena_bytes ||
                (estimate.bytes == report->arena_bytes && estimate.lower_bound >= report->lower_bound)))
      continue;
    any = true;
    best = std::move(tried);
    report->order = candidate.name;
    report->arena_bytes = estimate.bytes;
    report->lower_bound = estimate.lower_bound;
    report->in_place = in_place;
  }
  *draft = std::move(best);
}

}  // namespace ingot::cast
