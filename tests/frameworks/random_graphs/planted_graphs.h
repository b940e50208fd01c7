// SPDX-License-Identifier: Apache-2.0
// planted_graphs.h - bugs of the import and of passes: what a graph is after a stage, made wrong in
// every node that the bug can stand in.
#pragma once
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::planted {

struct GraphBug {
  const char* name;
  const char* stage;                            // "import", or a pass
  bool (*change)(graph::Model&, graph::Node&);  // true: it was changed
};

const std::vector<GraphBug>& graph_bugs();

}  // namespace ingot::planted
