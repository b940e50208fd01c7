// SPDX-License-Identifier: Apache-2.0
// tests/graph/data_dependent_test.cpp - the values that resolve a symbol and those in its bound.
#include "tools/graph/data_dependent.h"

#include <doctest/doctest.h>

using namespace ingot;
using namespace ingot::graph;

namespace {

/// Symbols s0, s1, ... of which each is bounded by the sum of the two before it.
Model chained(int count) {
  Model model;
  for (int i = 0; i < count; i++) {
    const std::string name = "s" + std::to_string(i);
    const ValueId by = model.add_value("count of " + name, DType::kI64);
    Dim bound(4);
    for (int before = i - 2; before < i; before++)
      if (before >= 0) bound = bound + Dim::symbol("s" + std::to_string(before));
    model.data_dependent[name] = {by, bound};
  }
  return model;
}

}  // namespace

TEST_CASE("data-dependent: every symbol of a chain of bounds is resolved once") {
  // By every way through the bounds these would be more than 2^60 steps.
  Model model = chained(100);
  const ValueId out = model.add_value("y", DType::kF32);
  model.values[size_t(out)].dims = {Dim::symbol("s99")};
  Node node;
  node.outputs = {out};
  CHECK(resolvers_of(model, node).size() == 100);
  CHECK(is_data_dependent(model, model.values[size_t(out)].dims));
  CHECK_FALSE(is_data_dependent(model, Dim::symbol("batch")));
}
