// SPDX-License-Identifier: Apache-2.0
// tools/compile/stream/multiply_adds.h - how many products a graph in normal form sums in a run.
// Threads  any.
#pragma once
#include "tools/graph/graph.h"

namespace ingot::convert {

/// Of convolutions, products of matrices and recurrent layers outside of branches and loops; 0 for
/// other operators. Dynamic dimensions count as 1.
double multiply_adds(const graph::Model& model);
/// Of one node.
double multiply_adds(const graph::Model& model, const graph::Node& node);

}  // namespace ingot::convert
