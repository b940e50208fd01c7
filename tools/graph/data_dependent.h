// tools/graph/data_dependent.h - dims that a value resolves when the program runs. A node whose
// types mention such a dim needs that value as if it read it: it may not run before, and what makes
// the value may not go.
#pragma once
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::graph {

/// The values that resolve dims of a node's operands, results and attributes, but not those that
/// the node itself makes. Not of nodes in its branches.
std::vector<ValueId> resolvers_of(const Model& model, const Node& node);

/// True when a dim, or one of them, depends on data.
bool is_data_dependent(const Model& model, const Dim& dim);
bool is_data_dependent(const Model& model, const Dims& dims);

}  // namespace ingot::graph
