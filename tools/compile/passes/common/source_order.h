// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/common/source_order.h - which tensor of the source a value holds when a pass
// gave it another order of dimensions, so that a value of the file can be shown as the source has
// it.
#pragma once
#include "tools/graph/graph.h"

namespace ingot::passes {

/// Every value of the model holds itself, in its own order. Before the first pass.
void begin_source_orders(graph::Model& model);

/// What a Transpose, or a Reshape that adds or takes dimensions of 1, says about the one side from
/// the other. Content of a value never changes, so what was found once stays true whatever becomes
/// of the node.
void relate_to_source(graph::Model& model, const graph::Node& node);

}  // namespace ingot::passes
