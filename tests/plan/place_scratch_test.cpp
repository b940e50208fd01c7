// SPDX-License-Identifier: Apache-2.0
// Scratch among the tensors of a plan: it meets nothing that lives in its step, and lies behind all
// only where no gap holds it.
#include "runtime/plan/place_scratch.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/plan/plan_cases.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct Placed {
  std::vector<uint64_t> at;  // by step
};

Placed place(const std::vector<Lifetime>& lifetimes, const std::vector<uint64_t>& offsets,
             const std::vector<uint64_t>& needs) {
  std::vector<uint64_t> workspace(verify_plan_workspace_bytes(uint32_t(lifetimes.size())) / 8 + 1);
  ScratchPlacer placer({lifetimes.data(), lifetimes.size()}, {offsets.data(), offsets.size()},
                       reinterpret_cast<uint8_t*>(workspace.data()));
  Placed placed;
  for (uint32_t step = 0; step < needs.size(); step++)
    placed.at.push_back(needs[step] ? placer.place(step, needs[step], 64) : 0);
  return placed;
}

/// Whether some multiple of 64 below `end` has `bytes` behind it that meet nothing in this step.
bool has_gap(const std::vector<Lifetime>& lifetimes, const std::vector<uint64_t>& offsets,
             uint32_t step, uint64_t bytes, uint64_t end) {
  for (uint64_t at = 0; at + bytes <= end; at += 64) {
    bool meets = false;
    for (size_t i = 0; i < lifetimes.size(); i++)
      meets |= lifetimes[i].bytes && lifetimes[i].first_step <= step &&
               step <= lifetimes[i].last_step && at < offsets[i] + lifetimes[i].bytes &&
               offsets[i] < at + bytes;
    if (!meets) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("place_scratch: the smallest gap that holds it, else behind what lives") {
  const std::vector<Lifetime> lifetimes = {{64, 0, 2}, {64, 0, 2}, {64, 0, 2}, {64, 1, 1}};
  const std::vector<uint64_t> offsets = {0, 256, 384, 64};
  const Placed placed = place(lifetimes, offsets, {64, 192, 192});
  CHECK(placed.at[0] == 320);  // of the gaps of 192 and of 64
  CHECK(placed.at[1] == 448);  // the fourth tensor leaves 128 and 64
  CHECK(placed.at[2] == 64);
  CHECK(place({}, {}, {64}).at[0] == 0);
}

TEST_CASE("place_scratch: agrees with brute force on random plans") {
  std::mt19937 random(7);
  const auto below = [&random](uint32_t n) { return uint32_t(random() % n); };
  for (int round = 0; round < 2000; round++) {
    const uint32_t steps = 1 + below(12);
    std::vector<Lifetime> lifetimes(below(14));
    for (Lifetime& l : lifetimes) {
      l.first_step = below(steps), l.last_step = l.first_step + below(steps - l.first_step);
      l.bytes = below(5) ? 1 + below(400) : 0;
    }
    const Planned planned = plan(lifetimes);
    REQUIRE(planned.status.ok());
    std::vector<uint64_t> needs(steps);
    for (uint64_t& need : needs) need = below(3) ? 64 * (1 + below(8)) : 0;
    const Placed placed = place(lifetimes, planned.offsets, needs);
    for (uint32_t step = 0; step < steps; step++) {
      if (!needs[step]) continue;
      const uint64_t at = placed.at[step], end = at + needs[step];
      CHECK(at % 64 == 0);
      uint64_t top = 0;
      for (size_t i = 0; i < lifetimes.size(); i++) {
        const Lifetime& l = lifetimes[i];
        if (!l.bytes || l.first_step > step || step > l.last_step) continue;
        CHECK((end <= planned.offsets[i] || at >= planned.offsets[i] + l.bytes));
        top = std::max(top, planned.offsets[i] + l.bytes);
      }
      if (at < top) continue;
      CHECK(at == (top + 63) / 64 * 64);
      CHECK(!has_gap(lifetimes, planned.offsets, step, needs[step], top));
    }
  }
}
