// SPDX-License-Identifier: Apache-2.0
// tests/compile/quantize/rewritten.h - a network before and after a step that quantizes weights.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tests/support/graph_builder.h"
#include "tools/compile/quantize/dynamic.h"

namespace ingot::test {

template <class Report>
struct Rewritten {
  Report found;
  std::set<std::string> matched;
  double moved = 0;  // of the outputs
};

/// What `step(model, keep, &matched)` makes of the network; `keep`: patterns of what stays.
template <class Step>
auto rewritten(GraphBuilder& g, const std::vector<std::string>& keep, Step step) {
  quantize::Keep kept;
  kept.patterns = keep;
  const std::map<std::string, Tensor> before = g.outputs();
  std::set<std::string> matched;
  auto found = step(g.model, kept, &matched);
  return Rewritten<decltype(found)>{std::move(found), std::move(matched),
                                    difference(before, g.outputs())};
}

}  // namespace ingot::test
