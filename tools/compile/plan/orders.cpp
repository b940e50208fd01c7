// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/orders.cpp - orders of the main program worth trying: as in the source, greedy
// by live bytes, depth first.
#include <algorithm>
#include <limits>

#include "tools/compile/plan/dependencies.h"
#include "tools/compile/plan/schedule.h"
#include "tools/files/work_budget.h"

namespace ingot::convert {
namespace {

constexpr size_t kMaxForGreedy = 20000;               // ready lists are walked at every step
constexpr uint64_t kMaxCompared = uint64_t{1} << 24;  // of ready instructions, in one order
constexpr size_t kMaxForSearch = 1000;                // each order costs a plan

/// Live bytes while instructions run one after another.
class LiveBytes {
 public:
  LiveBytes(const LoweredProgram& lowered, const Dependencies& dependencies)
      : lowered_(lowered),
        dependencies_(dependencies),
        left_(lowered.values.size(), 0),
        live_(lowered.values.size(), false) {
    for (const auto& roots : dependencies.touches)
      for (const int32_t root : roots) left_[size_t(root)]++;
    for (size_t id = 0; id < lowered.values.size(); id++)
      if (lowered.values[id].kind == ValueKind::kInput ||
          lowered.values[id].kind == ValueKind::kState)
        live_[id] = true;
  }
  int64_t starts(uint32_t instruction) const {
    int64_t bytes = 0;
    for (const int32_t root : dependencies_.touches[instruction])
      if (!live_[size_t(root)]) bytes += dependencies_.root_bytes[size_t(root)];
    return bytes;
  }
  int64_t ends(uint32_t instruction) const {
    int64_t bytes = 0;
    for (const int32_t root : dependencies_.touches[instruction])
      if (left_[size_t(root)] == 1 && lowered_.at(root).kind != ValueKind::kOutput &&
          lowered_.at(root).kind != ValueKind::kState)
        bytes += dependencies_.root_bytes[size_t(root)];
    return bytes;
  }
  void run(uint32_t instruction) {
    now_ += starts(instruction) - ends(instruction);
    for (const int32_t root : dependencies_.touches[instruction])
      live_[size_t(root)] = true, left_[size_t(root)]--;
  }
  int64_t now() const { return now_; }

 private:
  const LoweredProgram& lowered_;
  const Dependencies& dependencies_;
  std::vector<uint32_t> left_;  // by root: instructions still to touch it
  std::vector<bool> live_;
  int64_t now_ = 0;
};

/// Picks one of the ready instructions after another by `better(candidate, best)`. Nothing where
/// too many are ready at once.
template <class Better>
std::vector<uint32_t> list_schedule(const LoweredProgram& lowered, const Dependencies& d,
                                    Better better) {
  const size_t count = d.before.size();
  std::vector<std::vector<uint32_t>> after(count);
  std::vector<size_t> waiting(count);
  std::vector<uint32_t> ready, order;
  for (uint32_t i = 0; i < count; i++) {
    waiting[i] = d.before[i].size();
    for (const uint32_t j : d.before[i]) after[j].push_back(i);
    if (waiting[i] == 0) ready.push_back(i);
  }
  LiveBytes live(lowered, d);
  int64_t peak = 0;
  uint64_t compared = 0;
  while (!ready.empty()) {
    compared += ready.size();
    if (compared > kMaxCompared) return {};
    auto best = ready.begin();
    for (auto it = ready.begin() + 1; it != ready.end(); ++it)
      if (better(live, peak, *it, *best)) best = it;
    const uint32_t chosen = *best;
    ready.erase(best);
    peak = std::max(peak, live.now() + live.starts(chosen));
    live.run(chosen);
    order.push_back(chosen);
    for (const uint32_t i : after[chosen])
      if (--waiting[i] == 0) ready.insert(std::lower_bound(ready.begin(), ready.end(), i), i);
  }
  return order;
}

/// Depth first from the outputs; of several operands the one that needs most on the way comes
/// first.
std::vector<uint32_t> depth_first(const LoweredProgram& lowered, const Dependencies& d) {
  const size_t count = d.before.size();
  std::vector<int64_t> written(count, 0), need(count, 0);
  for (uint32_t i = 0; i < count; i++)
    for (const int32_t id : lowered.subprograms[0].instructions[i].outputs)
      if (id >= 0) written[i] += d.root_bytes[size_t(lowered.root(id))];
  std::vector<std::vector<uint32_t>> sorted(count);
  for (uint32_t i = 0; i < count; i++) {
    sorted[i] = d.before[i];
    std::stable_sort(sorted[i].begin(), sorted[i].end(), [&](uint32_t a, uint32_t b) {
      return need[a] - written[a] > need[b] - written[b];
    });
    int64_t held = 0;
    for (const uint32_t j : sorted[i])
      need[i] = std::max(need[i], held + need[j]), held += written[j];
    need[i] = std::max(need[i], held + written[i]);
  }
  std::vector<bool> done(count, false), is_read(count, false);
  for (const auto& before : d.before)
    for (const uint32_t j : before) is_read[j] = true;
  std::vector<uint32_t> order;
  std::vector<std::pair<uint32_t, size_t>> stack;
  for (uint32_t sink = 0; sink < count; sink++) {
    if (is_read[sink]) continue;
    stack.emplace_back(sink, 0);
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      if (done[at]) {
        stack.pop_back();
      } else if (next < sorted[at].size()) {
        const uint32_t operand = sorted[at][next++];
        if (!done[operand]) stack.emplace_back(operand, 0);
      } else {
        done[at] = true;
        order.push_back(at);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace

std::vector<CandidateOrder> candidate_orders(const LoweredProgram& lowered,
                                             const Bindings& bindings) {
  const Dependencies d = find_dependencies(lowered, bindings);
  std::vector<CandidateOrder> candidates;
  CandidateOrder source{"source", {}};
  for (uint32_t i = 0; i < d.before.size(); i++) source.order.push_back(i);
  candidates.push_back(std::move(source));
  if (d.before.size() > kMaxForGreedy) return candidates;
  candidates.push_back(
      {"least live bytes",
       list_schedule(lowered, d, [](const LiveBytes& live, int64_t, uint32_t a, uint32_t b) {
         return live.starts(a) - live.ends(a) < live.starts(b) - live.ends(b);
       })});
  candidates.push_back(
      {"below the peak",
       list_schedule(lowered, d, [](const LiveBytes& live, int64_t peak, uint32_t a, uint32_t b) {
         const int64_t over_a = std::max<int64_t>(0, live.now() + live.starts(a) - peak);
         const int64_t over_b = std::max<int64_t>(0, live.now() + live.starts(b) - peak);
         return over_a != over_b ? over_a < over_b
                                 : live.starts(a) - live.ends(a) < live.starts(b) - live.ends(b);
       })});
  candidates.push_back({"depth first", depth_first(lowered, d)});
  host::charge_work(candidates.size() * d.before.size());
  candidates.erase(
      std::remove_if(candidates.begin(), candidates.end(),
                     [&](const CandidateOrder& c) { return c.order.size() != d.before.size(); }),
      candidates.end());
  return candidates;
}

std::vector<CandidateOrder> random_orders(const LoweredProgram& lowered, const Bindings& bindings,
                                          uint32_t count) {
  const Dependencies d = find_dependencies(lowered, bindings);
  std::vector<CandidateOrder> candidates;
  if (d.before.size() > kMaxForSearch) return candidates;
  for (uint32_t seed = 1; seed <= count; seed++) {
    // Among what keeps below the peak: mostly as in the source, now and then something else.
    std::vector<uint64_t> key(d.before.size());
    uint64_t state = seed * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < key.size(); i++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      key[i] = i + state % (2 + key.size() * seed / (count * 4));
    }
    const auto better = [&](const LiveBytes& live, int64_t peak, uint32_t a, uint32_t b) {
      const int64_t over_a = std::max<int64_t>(0, live.now() + live.starts(a) - peak);
      const int64_t over_b = std::max<int64_t>(0, live.now() + live.starts(b) - peak);
      return over_a != over_b ? over_a < over_b : key[a] < key[b];
    };
    candidates.push_back({"search " + std::to_string(seed), list_schedule(lowered, d, better)});
  }
  return candidates;
}

}  // namespace ingot::convert
