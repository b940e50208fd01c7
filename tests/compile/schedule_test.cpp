// SPDX-License-Identifier: Apache-2.0
// In-place results and orders.
#include "tools/compile/plan/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/compile/lowered_maker.h"
#include "tools/compile/plan/dependencies.h"
#include "tools/compile/plan/in_place.h"
#include "tools/compile/program/usage.h"

namespace ingot::convert {
namespace {

bool overwrites(const LoweredMaker& m, int32_t value, int32_t of) {
  return m.at(value).alias == AliasKind::kInPlace && m.at(value).alias_of == of;
}

}  // namespace

TEST_CASE("apply_in_place: the last reader overwrites, an earlier one does not") {
  LoweredMaker m;
  const int32_t x = m.input("x", {8}), a = m.value("a", {8}), b = m.value("b", {8}),
                c = m.value("c", {8}), y = m.output("y", {8});
  m.relu(x, a), m.relu(a, b), m.relu(a, c), m.relu(b, y, c);
  CHECK(apply_in_place(&m.lowered) == 1);
  CHECK(m.at(a).alias == AliasKind::kNone);  // an input is not overwritten
  CHECK(m.at(b).alias == AliasKind::kNone);  // a is read again
  CHECK(overwrites(m, c, a));
  CHECK(m.at(y).alias == AliasKind::kNone);  // an output has storage of its own
}

TEST_CASE("apply_in_place: a view that is read later keeps its storage") {
  LoweredMaker m;
  const int32_t x = m.input("x", {2, 4}), a = m.value("a", {2, 4}), v = m.value("v", {8}),
                b = m.value("b", {2, 4}), c = m.value("c", {8});
  const int32_t y = m.output("y", {8});
  m.relu(x, a), m.relu(a, b), m.reshape(b, c), m.relu(v, y, c);
  m.lowered.at(v).alias = AliasKind::kView;
  m.lowered.at(v).alias_of = a;
  apply_in_place(&m.lowered);
  CHECK(m.at(b).alias == AliasKind::kNone);
  CHECK(overwrites(m, c, b));
}

TEST_CASE("apply_in_place: not over an operand that another operand shares storage with") {
  LoweredMaker m;
  const int32_t x = m.input("x", {2, 4}), a = m.value("a", {2, 4}), v = m.value("v", {1, 4}),
                b = m.value("b", {2, 4}), y = m.output("y", {2, 4});
  m.relu(x, a), m.relu(a, b, v), m.relu(b, y);
  m.lowered.at(v).alias = AliasKind::kView;
  m.lowered.at(v).alias_of = a;
  m.lowered.at(v).alias_offset = 4;
  CHECK(apply_in_place(&m.lowered) == 0);
}

TEST_CASE("apply_in_place: the same operand twice is overwritten") {
  LoweredMaker m;
  const int32_t x = m.input("x", {8}), a = m.value("a", {8}), b = m.value("b", {8}),
                y = m.output("y", {8});
  m.relu(x, a), m.relu(a, b, a), m.relu(b, y);
  CHECK(apply_in_place(&m.lowered) == 1);
  CHECK(overwrites(m, b, a));
}

TEST_CASE("apply_in_place: a rows-with-gaps operand and a broadcast one are left alone") {
  LoweredMaker m;
  const int32_t x = m.input("x", {2, 4}), c = m.value("c", {2, 8}), a = m.value("a", {2, 4}),
                b = m.value("b", {2, 4}), y = m.output("y", {2, 8});
  const int32_t s = m.value("s", {2, 1}), t = m.value("t", {2, 4});
  m.relu(x, a), m.relu(a, b), m.reduce(b, s, 2), m.relu(x, t, s), m.relu(c, y);
  m.lowered.at(a).alias = AliasKind::kView;
  m.lowered.at(a).alias_of = c;
  m.lowered.at(a).row_stride = 8;
  CHECK(apply_in_place(&m.lowered) == 0);
}

TEST_CASE("apply_in_place: not over what several instructions wrote in parts") {
  LoweredMaker m;
  const int32_t x = m.input("x", {2, 4}), c = m.value("c", {4, 4}), a = m.value("a", {2, 4}),
                b = m.value("b", {2, 4}), d = m.value("d", {4, 4});
  const int32_t y = m.output("y", {4, 4});
  for (const int32_t part : {a, b}) {
    m.lowered.at(part).alias = AliasKind::kView;
    m.lowered.at(part).alias_of = c;
  }
  m.lowered.at(b).alias_offset = 8;
  m.relu(x, a), m.relu(x, b), m.relu(c, d), m.relu(d, y);
  CHECK(apply_in_place(&m.lowered) == 0);
}

TEST_CASE("find_dependencies: disjoint columns of one storage do not wait for each other") {
  LoweredMaker m;
  const int32_t x = m.input("x", {4, 3}), c = m.value("c", {4, 6}), a = m.value("a", {4, 3}),
                b = m.value("b", {4, 3}), d = m.output("d", {4, 3});
  const int32_t y = m.output("y", {4, 6});
  for (const int32_t part : {a, b}) {
    m.lowered.at(part).alias = AliasKind::kView;
    m.lowered.at(part).alias_of = c;
    m.lowered.at(part).row_stride = 6;
  }
  m.lowered.at(b).alias_offset = 3;
  m.relu(x, a), m.relu(x, b), m.relu(a, d), m.relu(c, y);
  const Dependencies found = find_dependencies(m.lowered, {});
  CHECK(found.before[2] == std::vector<uint32_t>{0});
  CHECK(found.before[3] == std::vector<uint32_t>{0, 1});
}

TEST_CASE("candidate_orders: permutations that respect every dependency, on random graphs") {
  for (uint32_t seed = 0; seed < 30; seed++) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    LoweredMaker m;
    std::vector<int32_t> values{m.input("x", {16})};
    for (int i = 0; i < 24; i++) {
      const int32_t a = values[random() % values.size()], b = values[random() % values.size()];
      const int32_t y = m.value("v" + std::to_string(i), {16});
      m.relu(a, y, b);
      values.push_back(y);
    }
    const int32_t out = m.output("y", {16});
    m.relu(values.back(), out);
    const Dependencies d = find_dependencies(m.lowered, {});
    for (const CandidateOrder& candidate : candidate_orders(m.lowered, {})) {
      CAPTURE(candidate.name);
      REQUIRE(candidate.order.size() == m.count());
      std::vector<uint32_t> place(m.count(), ~0u);
      for (uint32_t k = 0; k < candidate.order.size(); k++) place[candidate.order[k]] = k;
      CHECK(std::count(place.begin(), place.end(), ~0u) == 0);
      for (uint32_t i = 0; i < m.count(); i++)
        for (const uint32_t j : d.before[i]) CHECK(place[j] < place[i]);
    }
  }
}

TEST_CASE("schedule: branches that shrink run one after the other, not side by side") {
  LoweredMaker m;
  const int32_t x = m.input("x", {1, 64});
  std::vector<int32_t> wide, narrow;
  for (int i = 0; i < 4; i++) {
    wide.push_back(m.value("w" + std::to_string(i), {64, 64}));
    m.relu(x, wide.back());
  }
  for (int i = 0; i < 4; i++) {
    narrow.push_back(m.value("n" + std::to_string(i), {64, 1}));
    m.reduce(wide[size_t(i)], narrow.back(), 2);
  }
  const int32_t y = m.output("y", {64, 4});
  m.concat(1, narrow, y);
  ConversionReport report;
  const uint64_t before = estimate_arena(m.lowered, {}).bytes;
  schedule(&m.lowered, &report);
  CHECK(before >= 4 * 64 * 64 * 4);
  CHECK(report.arena_bytes < 2 * 64 * 64 * 4);
  CHECK(report.order != "source");
  check_lowered(m.lowered, false);
}

}  // namespace ingot::convert
