// SPDX-License-Identifier: Apache-2.0
// Graphs as long or as wide as somebody may hand in: converted in time linear in their size, or
// refused by name, never a fault.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>

#include "tests/compile/core_graph.h"
#include "tools/compile/convert/convert.h"

namespace ingot::convert {
namespace {

/// x -> softmax -> softmax ... -> y: each overwrites the one before, so all share one storage.
CoreGraph chain(int length) {
  CoreGraph g;
  ValueId y = g.input("x", {2, 8});
  for (int i = 0; i < length; i++) y = g.node(op::Softmax, {y}, {2, 8}, {{attr::axis, int64_t(1)}});
  g.output(y);
  return g;
}

int refusal(CoreGraph&& g, const std::string& says) {
  try {
    convert_model(std::move(g.model), {});
  } catch (const graph::ConversionError& error) {
    CAPTURE(error.message);
    CHECK(error.message.find(says) != std::string::npos);
    return error.exit_code;
  }
  return 0;
}

}  // namespace

TEST_CASE(
    "deep: a chain of twelve thousand instructions in one storage is converted, and its file "
    "validated") {
  ConversionResult converted = convert_model(std::move(chain(12000).model), {});
  CHECK(converted.report.instructions.size() == 12000);
  CHECK(converted.report.in_place >= 11998);
  CHECK(converted.report.arena_bytes <= 2 * 64);
}

TEST_CASE("deep: four times the length takes not much more than four times the time") {
  const auto seconds = [](int length) {
    double best = 1e9;
    for (int round = 0; round < 3; round++) {
      CoreGraph g = chain(length);
      const std::clock_t begin = std::clock();
      convert_model(std::move(g.model), {});
      best = std::min(best, double(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const double small = seconds(2000), large = seconds(8000);
  CAPTURE(small);
  CAPTURE(large);
  WARN(large < 8 * small);
  CHECK(large < 14 * small);  // quadratic would be 16 and more
}

TEST_CASE("deep: what is beyond a limit of the format is refused as that, not as a fault of ours") {
  CoreGraph wide;
  std::vector<ValueId> parts(5000, wide.input("x", {1, 4}));
  wide.output(wide.node(op::Concat, parts, {5000, 4}, {{attr::axis, int64_t(0)}}));
  CHECK(refusal(std::move(wide), "ask for what no operator here does") == 4);
  CoreGraph named;
  named.output(named.relu(named.input(std::string(2000, 'n'), {1, 4})));
  CHECK(refusal(std::move(named), "found 2000") == 4);
  CoreGraph zero;
  zero.output(zero.relu(zero.input(std::string("a\0b", 3), {1, 4})));
  CHECK(refusal(std::move(zero), "rename it") == 4);
}

}  // namespace ingot::convert
