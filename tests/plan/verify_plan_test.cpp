// SPDX-License-Identifier: Apache-2.0
// The check: agrees with brute force on sound and broken layouts, names the tensor and the rule.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tests/plan/plan_cases.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE("verify_plan: names what is wrong, with tensor and numbers") {
  struct Case {
    const char* rule;
    std::vector<Lifetime> lifetimes;
    std::vector<uint64_t> offsets;
    uint64_t bytes;
    int32_t tensor;
  };
  const Case cases[] = {
      {"plan: a tensor has no place", {{64, 0, 0}}, {kNoOffset}, 64, 0},
      {"plan: offset is not aligned", {{64, 0, 0}}, {32}, 128, 0},
      {"plan: a tensor leaves the region", {{64, 0, 0}, {65, 1, 1}}, {0, 64}, 128, 1},
      {"plan: a tensor leaves the region", {{64, 0, 0}}, {~uint64_t{0} - 63}, 128, 0},
      {"plan: starts inside a tensor that is still alive",
       {{128, 0, 1}, {64, 1, 2}},
       {0, 64},
       128,
       1},
      {"plan: reaches into a tensor that is alive", {{64, 0, 1}, {128, 1, 2}}, {64, 0}, 128, 1},
      {"plan: offset beyond the region", {{0, 0, 0}}, {4096}, 64, 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.rule);
    ErrorDetail detail;
    CHECK(verify(c.lifetimes, c.offsets, c.bytes, 64, &detail).code() == Code::kPlanInvalid);
    CHECK(std::strcmp(detail.field, c.rule) == 0);
    CHECK(detail.operand == c.tensor);
  }
  CHECK(verify({{128, 0, 1}, {64, 2, 2}}, {0, 64}, 128).ok());
  CHECK(verify({}, {}, 0).ok());
}

TEST_CASE("verify_plan: agrees with brute force on every placement of 3 tensors") {
  // 5 kinds of interval, 2 sizes, 4 places for each of three tensors.
  std::vector<Lifetime> kinds;
  for (uint64_t bytes : {64, 100})
    for (auto [first, last] : {std::pair{0u, 0u}, {0u, 1u}, {1u, 1u}, {1u, 2u}, {0u, 2u}})
      kinds.push_back({bytes, first, last});
  uint64_t sound = 0, broken = 0;
  for (const Lifetime& a : kinds)
    for (const Lifetime& b : kinds)
      for (const Lifetime& c : kinds)
        for (uint64_t places = 0; places < 64; places++) {
          const std::vector<Lifetime> lifetimes = {a, b, c};
          const std::vector<uint64_t> offsets = {places % 4 * 64, places / 4 % 4 * 64,
                                                 places / 16 * 64};
          const bool expected = sound_by_brute_force(lifetimes, offsets, 256);
          REQUIRE(verify(lifetimes, offsets, 256).ok() == expected);
          (expected ? sound : broken)++;
        }
  CHECK(sound > 1000);
  CHECK(broken > 1000);
}

TEST_CASE("verify_plan: agrees with brute force on random layouts with one offset moved") {
  std::mt19937 random(3);
  int sound = 0, broken = 0;
  for (int graph = 0; graph < 400; graph++) {
    const std::vector<Lifetime> lifetimes =
        random_lifetimes(random, 2 + random() % 200, 1 + random() % 60);
    Planned planned = plan(lifetimes);
    REQUIRE(planned.status.ok());
    planned.offsets[random() % lifetimes.size()] = random() % (planned.summary.bytes / 64 + 1) * 64;
    const bool expected = sound_by_brute_force(lifetimes, planned.offsets, planned.summary.bytes);
    CAPTURE(graph);
    REQUIRE(verify(lifetimes, planned.offsets, planned.summary.bytes).ok() == expected);
    (expected ? sound : broken)++;
  }
  CHECK(sound > 20);
  CHECK(broken > 20);
}

TEST_CASE("verify_plan: half a million tensors, all alive at once, take n log n") {
  std::vector<Lifetime> lifetimes;
  std::vector<uint64_t> offsets;
  constexpr uint32_t kCount = 500000;
  for (uint32_t i = 0; i < kCount; i++) {
    lifetimes.push_back({64, 0, 1 + i});
    offsets.push_back(uint64_t{(i * 7919u) % kCount} * 64);
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(verify(lifetimes, offsets, uint64_t{kCount} * 64).ok());
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  offsets[kCount / 2] += 64;
  CHECK_FALSE(verify(lifetimes, offsets, uint64_t{kCount} * 64).ok());
}
