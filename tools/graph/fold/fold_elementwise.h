// SPDX-License-Identifier: Apache-2.0
// tools/graph/fold/fold_elementwise.h - operators of single elements, on constants. Inside
// tools/graph only.
#pragma once
#include <optional>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::graph {

/// The output of a node in normal form with one output; nothing when its operator is not folded.
/// Inputs may be null where absent.
std::optional<Constant> fold_elementwise(const Node& node,
                                         const std::vector<const Constant*>& inputs, DType dtype,
                                         const std::vector<int64_t>& dims);

}  // namespace ingot::graph
