// SPDX-License-Identifier: Apache-2.0
// tests/plan/plan_cases.h - wrappers that own workspace, and a check by brute force.
#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "runtime/plan/greedy_planner.h"
#include "runtime/plan/verify_plan.h"

namespace ingot::test {

struct Planned {
  PlanSummary summary;
  std::vector<uint64_t> offsets;
  Status status;
};

inline uint32_t step_count(const std::vector<Lifetime>& lifetimes) {
  uint32_t count = 0;
  for (const Lifetime& l : lifetimes) count = std::max(count, l.last_step + 1);
  return count;
}

inline Planned plan(const std::vector<Lifetime>& lifetimes, uint64_t alignment = 64) {
  Planned planned;
  planned.offsets.resize(lifetimes.size());
  const uint64_t bytes = planner_workspace_bytes(uint32_t(lifetimes.size()), step_count(lifetimes));
  std::vector<uint64_t> workspace(bytes / 8 + 1);
  planned.status =
      plan_greedy({lifetimes.data(), lifetimes.size()}, step_count(lifetimes), alignment,
                  {reinterpret_cast<uint8_t*>(workspace.data()), size_t(bytes)},
                  {planned.offsets.data(), planned.offsets.size()}, &planned.summary, nullptr);
  return planned;
}

inline Status verify(const std::vector<Lifetime>& lifetimes, const std::vector<uint64_t>& offsets,
                     uint64_t plan_bytes, uint64_t alignment = 64, ErrorDetail* detail = nullptr) {
  const uint64_t bytes = verify_plan_workspace_bytes(uint32_t(lifetimes.size()));
  std::vector<uint64_t> workspace(bytes / 8 + 1);
  return verify_plan({lifetimes.data(), lifetimes.size()}, {offsets.data(), offsets.size()},
                     plan_bytes, alignment,
                     {reinterpret_cast<uint8_t*>(workspace.data()), size_t(bytes)}, detail);
}

/// Every pair, every rule.
inline bool sound_by_brute_force(const std::vector<Lifetime>& lifetimes,
                                 const std::vector<uint64_t>& offsets, uint64_t plan_bytes,
                                 uint64_t alignment = 64) {
  for (size_t i = 0; i < lifetimes.size(); i++) {
    const Lifetime& a = lifetimes[i];
    if (!a.bytes) continue;
    if (offsets[i] == kNoOffset || offsets[i] % alignment || offsets[i] > plan_bytes ||
        plan_bytes - offsets[i] < a.bytes)
      return false;
    for (size_t j = 0; j < i; j++) {
      const Lifetime& b = lifetimes[j];
      if (!b.bytes || a.last_step < b.first_step || b.last_step < a.first_step) continue;
      if (offsets[i] < offsets[j] + b.bytes && offsets[j] < offsets[i] + a.bytes) return false;
    }
  }
  return true;
}

/// Smallest layout there is, by trying each order of first fit placements (which contain an
/// optimum) for few tensors.
inline uint64_t smallest_by_brute_force(const std::vector<Lifetime>& lifetimes,
                                        uint64_t alignment = 64) {
  std::vector<size_t> order(lifetimes.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  uint64_t best = ~uint64_t{0};
  do {
    std::vector<uint64_t> offsets(lifetimes.size(), kNoOffset);
    uint64_t end = 0;
    for (size_t at = 0; at < order.size(); at++) {
      const Lifetime& own = lifetimes[order[at]];
      if (!own.bytes) continue;
      uint64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t k = 0; k < at; k++) {
          const Lifetime& other = lifetimes[order[k]];
          if (!other.bytes || other.last_step < own.first_step || own.last_step < other.first_step)
            continue;
          const uint64_t start = offsets[order[k]];
          const uint64_t behind = (start + other.bytes + alignment - 1) / alignment * alignment;
          if (offset < start + other.bytes && start < offset + own.bytes)
            offset = behind, moved = true;
        }
      }
      offsets[order[at]] = offset;
      end = std::max(end, (offset + own.bytes + alignment - 1) / alignment * alignment);
    }
    best = std::min(best, end);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// A network-like graph: each tensor is made at its step and read at one or a few later ones.
inline std::vector<Lifetime> random_lifetimes(std::mt19937& random, uint32_t tensors,
                                              uint32_t steps) {
  std::vector<Lifetime> lifetimes;
  for (uint32_t i = 0; i < tensors; i++) {
    const uint32_t first = uint32_t(random() % steps);
    const uint32_t life = random() % 4 ? uint32_t(random() % 3) : uint32_t(random() % steps);
    const uint64_t bytes = random() % 16 ? (random() % 5000) << (random() % 6) : 0;
    lifetimes.push_back({bytes, first, std::min(steps - 1, first + life)});
  }
  return lifetimes;
}

}  // namespace ingot::test
