// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/schedule.cpp - see schedule.h.
#include "tools/compile/plan/schedule.h"

#include <algorithm>

#include "runtime/base/checked_math.h"
#include "runtime/plan/greedy_planner.h"
#include "tools/compile/plan/in_place.h"
#include "tools/compile/plan/states.h"
#include "tools/compile/program/roots.h"
#include "tools/compile/program/usage.h"
#include "tools/files/work_budget.h"

namespace ingot::convert {
namespace {

/// The operands of each Loop at the end of its iterations, where they are looked at again.
std::vector<std::pair<int32_t, uint32_t>> loop_ends(const LoweredProgram& lowered,
                                                    const RunOrder& order) {
  std::vector<std::pair<int32_t, uint32_t>> uses;
  for (uint32_t s = 0; s < lowered.subprograms.size(); s++) {
    const auto& instructions = lowered.subprograms[s].instructions;
    for (uint32_t i = 0; i < instructions.size(); i++) {
      if (instructions[i].op() != OpCode::kLoop) continue;
      for (const RunOrder::LoopSpan& span : order.loops) {
        if (span.begin != order.position[s][i]) continue;
        for (const auto* ids : {&instructions[i].inputs, &instructions[i].outputs})
          for (const int32_t id : *ids)
            if (id >= 0 && lowered.at(id).kind != ValueKind::kConstant)
              uses.emplace_back(id, span.end);
      }
    }
  }
  return uses;
}

/// Lifetimes of roots in positions of the run order, as runtime/plan/lifetime.h counts them.
std::vector<Lifetime> lifetimes_of(const LoweredProgram& lowered, const Bindings& bindings,
                                   uint32_t* steps) {
  const Usage usage(lowered);
  const RunOrder order(lowered);
  Roots roots(lowered);
  *steps = std::max(order.length, 1u);
  std::vector<Lifetime> lifetimes(lowered.values.size());
  std::vector<bool> seen(lowered.values.size(), false);
  const auto touch = [&](int32_t id, uint32_t position) {
    const size_t root = size_t(roots.of(id));
    Lifetime& life = lifetimes[root];
    life.first_step = seen[root] ? std::min(life.first_step, position) : position;
    life.last_step = seen[root] ? std::max(life.last_step, position) : position;
    seen[root] = true;
  };
  // uses that a loop may extend, once first_step is known
  std::vector<std::pair<int32_t, uint32_t>> in_loops;
  const auto use_at = [&](int32_t id, const Use& use) {
    touch(id, order.at(use));
    if (!order.loops.empty()) in_loops.emplace_back(id, order.at(use));
  };
  for (int32_t id = 0; id < int32_t(lowered.values.size()); id++) {
    const ValueKind kind = lowered.at(id).kind;
    if (kind == ValueKind::kConstant) continue;
    for (const Use& use : usage.readers[size_t(id)]) use_at(id, use);
    for (const Use& use : usage.writers[size_t(id)]) use_at(id, use);
    if (kind == ValueKind::kInput) touch(id, 0);
    if (kind == ValueKind::kOutput) touch(id, *steps - 1);
    if (kind == ValueKind::kState) touch(id, 0), touch(id, *steps - 1);
  }
  for (const auto& [id, position] : in_loops)
    touch(id, order.last_use(lifetimes[size_t(lowered.root(id))].first_step, position));
  for (const auto& [id, position] : loop_ends(lowered, order)) touch(id, position);
  for (int32_t id = 0; id < int32_t(lowered.values.size()); id++) {
    const LoweredValue& value = lowered.at(id);
    if (!seen[size_t(id)] || value.alias != AliasKind::kNone || value.kind == ValueKind::kConstant)
      continue;
    if (!storage_bytes(evaluate_type(value, bindings), &lifetimes[size_t(id)].bytes))
      lifetimes[size_t(id)].bytes = 0;
  }
  return lifetimes;
}

LoweredProgram reordered(const LoweredProgram& lowered, const std::vector<uint32_t>& order) {
  LoweredProgram result = lowered;
  for (size_t i = 0; i < order.size(); i++)
    result.subprograms[0].instructions[i] = lowered.subprograms[0].instructions[order[i]];
  return result;
}

ArenaEstimate place(const LoweredProgram& lowered, std::vector<Lifetime>& lifetimes,
                    uint32_t steps) {
  std::vector<uint64_t> offsets(lifetimes.size());
  std::vector<uint64_t> workspace(planner_workspace_bytes(uint32_t(lifetimes.size()), steps) / 8 +
                                  1);
  PlanSummary summary;
  ErrorDetail detail;
  const Status status =
      plan_greedy({lifetimes.data(), lifetimes.size()}, steps, lowered.alignment,
                  {reinterpret_cast<uint8_t*>(workspace.data()), workspace.size() * 8},
                  {offsets.data(), offsets.size()}, &summary, &detail);
  if (status.code() == Code::kLimitExceeded)
    graph::fail_unsupported(
        "too many values are alive at once (" + std::to_string(lifetimes.size()) +
        " values in all, more outputs and states than the planner places); convert the "
        "model in parts, or with fewer outputs");
  if (!status.ok())
    graph::fail_internal(std::string("the planner refused a layout: ") + code_name(status.code()) +
                         " (" + detail.field + ")");
  return {summary.bytes, summary.lower_bound, 0, summary.peak_step, std::move(offsets)};
}

}  // namespace

namespace {

/// Of one thread, each in the step of its instruction alone.
void add_scratch(const LoweredProgram& lowered, const Bindings& bindings,
                 std::vector<Lifetime>* lifetimes) {
  const RunOrder order(lowered);
  for (size_t s = 0; s < lowered.subprograms.size(); s++)
    for (size_t i = 0; i < lowered.subprograms[s].instructions.size(); i++) {
      const LoweredInstruction& instruction = lowered.subprograms[s].instructions[i];
      const OpContract* contract = contract_of(instruction.op());
      if (!contract->scratch) continue;
      const Arguments arguments(lowered, instruction, bindings);
      const ScratchNeed need = contract->scratch(arguments.get(), 1);
      const uint32_t step = order.position[s][i];
      lifetimes->push_back({need.per_thread_bytes + need.shared_bytes, step, step});
    }
}

}  // namespace

ArenaEstimate estimate_arena(const LoweredProgram& lowered, const Bindings& bindings) {
  uint32_t steps = 0;
  std::vector<Lifetime> lifetimes = lifetimes_of(lowered, bindings, &steps);
  const std::vector<Lifetime> values = lifetimes;
  if (lowered.is_for_core) add_scratch(lowered, bindings, &lifetimes);
  ArenaEstimate estimate = place(lowered, lifetimes, steps);
  for (size_t i = 0; i < values.size(); i++)
    if (values[i].bytes > 0)
      estimate.value_bytes = std::max(
          estimate.value_bytes,
          estimate.offsets[i] + uint64_t(round_up(int64_t(values[i].bytes), lowered.alignment)));
  return estimate;
}

namespace {

/// The order with the smallest plan so far.
class BestOrder {
 public:
  BestOrder(const LoweredProgram& lowered, ConversionReport* report)
      : lowered_(lowered), report_(report), typical_(typical_binding(lowered)) {}

  void consider(const CandidateOrder& candidate) {
    host::charge_work(candidate.order.size() + lowered_.values.size());
    LoweredProgram tried = reordered(lowered_, candidate.order);
    const uint32_t updated = update_states_in_place(&tried);
    const uint32_t in_place = apply_in_place(&tried);
    const ArenaEstimate estimate = estimate_arena(tried, typical_);
    const bool same_size =
        estimate.bytes == report_->arena_bytes && estimate.lower_bound == report_->lower_bound;
    if (any_ &&
        (estimate.bytes > report_->arena_bytes ||
         (estimate.bytes == report_->arena_bytes && estimate.lower_bound > report_->lower_bound) ||
         (same_size && updated <= report_->states_in_place)))
      return;
    any_ = true;
    best = std::move(tried);
    report_->order = candidate.name;
    report_->arena_bytes = estimate.bytes;
    report_->lower_bound = estimate.lower_bound;
    report_->in_place = in_place;
    report_->states_in_place = updated;
  }
  LoweredProgram best;

 private:
  const LoweredProgram& lowered_;
  ConversionReport* report_;
  Bindings typical_;
  bool any_ = false;
};

constexpr double kCloseEnough = 1.02;  // to the lower bound: no search
constexpr uint32_t kSearchedOrders = 48;

}  // namespace

void schedule(LoweredProgram* lowered, ConversionReport* report) {
  const Bindings typical = typical_binding(*lowered);
  BestOrder best(*lowered, report);
  for (const CandidateOrder& candidate : candidate_orders(*lowered, typical))
    best.consider(candidate);
  if (report->ratio() > kCloseEnough)
    for (const CandidateOrder& candidate : random_orders(*lowered, typical, kSearchedOrders))
      best.consider(candidate);
  *lowered = std::move(best.best);
}

}  // namespace ingot::convert
