// SPDX-License-Identifier: Apache-2.0
// Layouts: sound always, smallest on small cases, near the lower bound on large ones, bounded on
// hostile ones.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/plan/plan_cases.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE("plan_greedy: the arena is exactly the peak when no gap is forced") {
  struct Case {
    const char* name;
    std::vector<Lifetime> lifetimes;
    uint64_t bytes;
  };
  const Case cases[] = {
      {"nothing", {}, 0},
      {"only empty tensors", {{0, 0, 3}, {0, 1, 1}}, 0},
      {"disjoint in time share bytes", {{64, 0, 1}, {128, 2, 3}}, 128},
      {"touching at one step do not", {{64, 0, 1}, {128, 1, 2}}, 192},
      {"sizes round up to the alignment", {{1, 0, 0}, {65, 0, 0}}, 192},
      {"a chain needs its two largest neighbours",
       {{256, 0, 1}, {64, 1, 2}, {512, 2, 3}, {64, 3, 4}},
       576},
      {"a skip stays while a chain runs below it",
       {{128, 0, 4}, {64, 1, 2}, {64, 2, 3}, {64, 3, 4}},
       256},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const Planned planned = plan(c.lifetimes);
    REQUIRE(planned.status.ok());
    CHECK(planned.summary.bytes == c.bytes);
    CHECK(sound_by_brute_force(c.lifetimes, planned.offsets, planned.summary.bytes));
  }
}

namespace {

/// Every set of `count` tensors on `steps` steps in 3 sizes, each set once whatever its order.
struct Exhaustive {
  uint32_t steps;
  uint64_t cases = 0, above_smallest = 0;
  std::vector<Lifetime> kinds, chosen;

  explicit Exhaustive(uint32_t step_count) : steps(step_count) {
    for (uint64_t bytes : {64, 128, 192})
      for (uint32_t first = 0; first < steps; first++)
        for (uint32_t last = first; last < steps; last++) kinds.push_back({bytes, first, last});
  }
  void choose(size_t from, uint32_t left, bool compare) {
    if (left == 0) return check(compare);
    for (size_t i = from; i < kinds.size(); i++) {
      chosen.push_back(kinds[i]);
      choose(i, left - 1, compare);
      chosen.pop_back();
    }
  }
  void check(bool compare) {
    cases++;
    const Planned planned = plan(chosen);
    REQUIRE(planned.status.ok());
    REQUIRE(planned.summary.bytes >= planned.summary.lower_bound);
    REQUIRE(sound_by_brute_force(chosen, planned.offsets, planned.summary.bytes));
    if (cases % 7 == 0) REQUIRE(verify(chosen, planned.offsets, planned.summary.bytes).ok());
    if (compare && planned.summary.bytes != planned.summary.lower_bound)
      above_smallest += planned.summary.bytes != smallest_by_brute_force(chosen);
  }
};

}  // namespace

TEST_CASE(
    "plan_greedy: every set of up to 5 tensors on 5 steps in 3 sizes is sound, and up to 3 the "
    "smallest there is") {
  for (uint32_t count = 1; count <= 5; count++) {
    Exhaustive all(5);
    all.choose(0, count, true);
    MESSAGE(count << " tensors: " << all.cases << " sets, " << all.above_smallest
                  << " above the smallest layout");
    // Greedy is not optimal: at 5 tensors it misses the smallest layout in 1717 of 1.9 million
    // sets.
    if (count <= 3) CHECK(all.above_smallest == 0);
    CHECK(all.above_smallest * 1000 <= all.cases);
  }
}

TEST_CASE("plan_greedy: random graphs are sound and near their lower bound") {
  std::mt19937 random(7);
  double worst = 1, sum = 0;
  constexpr int kGraphs = 300;
  for (int graph = 0; graph < kGraphs; graph++) {
    const uint32_t tensors = 2 + uint32_t(random() % 300), steps = 1 + uint32_t(random() % 200);
    const std::vector<Lifetime> lifetimes = random_lifetimes(random, tensors, steps);
    const Planned planned = plan(lifetimes);
    CAPTURE(graph);
    REQUIRE(planned.status.ok());
    REQUIRE(sound_by_brute_force(lifetimes, planned.offsets, planned.summary.bytes));
    REQUIRE(verify(lifetimes, planned.offsets, planned.summary.bytes).ok());
    if (!planned.summary.lower_bound) continue;
    const double ratio = double(planned.summary.bytes) / double(planned.summary.lower_bound);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  MESSAGE("mean ratio to the lower bound " << sum / kGraphs << ", worst " << worst);
  CHECK(worst < 1.3);
  CHECK(sum / kGraphs < 1.03);
}

TEST_CASE(
    "plan_greedy: the same lifetimes give the same layout, whatever their order in memory gave "
    "before") {
  std::mt19937 random(11);
  const std::vector<Lifetime> lifetimes = random_lifetimes(random, 100, 50);
  CHECK(plan(lifetimes).offsets == plan(lifetimes).offsets);
}

TEST_CASE("plan_greedy: refuses what overflows, and a workspace one byte short") {
  ErrorDetail detail;
  std::vector<uint64_t> workspace(4096), offsets(2);
  const Lifetime huge[] = {{uint64_t{1} << 62, 0, 0}, {uint64_t{1} << 62, 0, 0}};
  PlanSummary summary;
  Span<uint8_t> memory(reinterpret_cast<uint8_t*>(workspace.data()), workspace.size() * 8);
  CHECK(plan_greedy(huge, 1, 64, memory, {offsets.data(), 2}, &summary, &detail).code() ==
        Code::kLimitExceeded);
  const Lifetime all_ones[] = {{~uint64_t{0}, 0, 0}, {64, 0, 0}};
  CHECK(plan_greedy(all_ones, 1, 64, memory, {offsets.data(), 2}, &summary, &detail).code() ==
        Code::kLimitExceeded);
  const Lifetime fine[] = {{64, 0, 0}, {64, 0, 0}};
  memory.size = planner_workspace_bytes(2, 1);
  CHECK(plan_greedy(fine, 1, 64, memory, {offsets.data(), 2}, &summary, &detail).ok());
  memory.size--;
  CHECK(plan_greedy(fine, 1, 64, memory, {offsets.data(), 2}, &summary, &detail).code() ==
        Code::kArenaTooSmall);
  CHECK(detail.need == detail.have + 1);
}

TEST_CASE("plan_greedy: ten thousand tensors of a long chain with skips") {
  std::vector<Lifetime> lifetimes;
  for (uint32_t i = 0; i < 10000; i++)
    lifetimes.push_back({64u << (i % 7), i, std::min(9999u, i + (i % 13 ? 1 : 40))});
  const Planned planned = plan(lifetimes);
  REQUIRE(planned.status.ok());
  CHECK(verify(lifetimes, planned.offsets, planned.summary.bytes).ok());
  CHECK(planned.summary.bytes <= planned.summary.lower_bound * 13 / 10);
}

// A walk for each of them would be 2 * 10^10 steps, beyond kPlanSteps.
TEST_CASE("plan_greedy: two hundred thousand inputs that nobody reads, beside a chain") {
  std::vector<Lifetime> lifetimes;
  for (uint32_t i = 0; i < 200000; i++) lifetimes.push_back({64u << (i % 3), 0, 9});
  for (uint32_t i = 0; i < 9; i++) lifetimes.push_back({4096, i, i + 1});
  const Planned planned = plan(lifetimes);
  REQUIRE(planned.status.ok());
  CHECK(verify(lifetimes, planned.offsets, planned.summary.bytes).ok());
  CHECK(planned.summary.bytes == planned.summary.lower_bound);
  CHECK(planned.summary.order == PlanOrder::kFirstStep);
}
