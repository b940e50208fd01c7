// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/graph/same_node.h - whether a pass left a node as it was.
#pragma once
#include "tools/graph/graph.h"

namespace ingot::compare {

/// Same operator, operands, results and attributes. Nodes with branches are never the same.
bool same_node(const graph::Node& a, const graph::Node& b);

}  // namespace ingot::compare
