// SPDX-License-Identifier: Apache-2.0
// tools/compile/stream/rules.h - what each operator of a graph in normal form needs to run frame
// by frame.
// Threads  any.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/compile/stream/timeline.h"
#include "tools/graph/graph.h"

namespace ingot::convert {

/// Values that have frames. All others are the same in each run.
using Timelines = std::map<graph::ValueId, Timeline>;

/// Why an operator cannot run frame by frame.
struct NotStreamable {
  std::string why, hint;
};

/// A value that the operator hands to itself in the next run: operand and output.
struct CarriedState {
  size_t operand, output;
};

struct StreamRule {
  Timeline y;                                         // of every output, but those that are carried
  std::vector<std::pair<size_t, History>> histories;  // by operand
  std::vector<CarriedState> carried;
  std::optional<size_t> only_operand;  // the others go: they were padding
  /// What changes of the node itself: the padding along the axis goes. May be empty.
  std::function<void(graph::Node&)> edit;
};

/// @pre an operand of `node` is in `timelines`. @throws NotStreamable
StreamRule stream_rule(const graph::Model& model, const graph::Node& node,
                       const Timelines& timelines);

}  // namespace ingot::convert
