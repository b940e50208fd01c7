// SPDX-License-Identifier: Apache-2.0
// tools/graph/movement.h - operators that only move elements, as a table of where each comes from;
// shared by folding of constants and by shape arithmetic. Operators are in normal form.
#pragma once
#include <optional>
#include <vector>

#include "tools/graph/graph.h"
#include "tools/graph/symbolic.h"

namespace ingot::graph {

constexpr int64_t kFill = -1;  // no source: Pad's value

/// For output `output` of `node`: positions in the concatenation of all data inputs, row-major.
/// `dims`: of each input; contents of index operands come from `indices` (input 1, when it is one).
/// Nothing when the operator is not of this kind or a number is out of range.
std::optional<std::vector<int64_t>> movement_sources(
    const Node& node, size_t output, const std::vector<std::vector<int64_t>>& dims,
    const std::vector<int64_t>& output_dims, const std::vector<int64_t>& indices,
    const std::vector<std::vector<int64_t>>& all_output_dims);
bool takes_indices(const Node& node);
/// Whether its results are numbers of its first operand, of `rank` dimensions, and what pads them:
/// they have the scale of what they come from.
bool moves_numbers(const Node& node, size_t rank);

/// What the output holds, or nothing (empty). One per kind of operator.
Contents symbolic_movement(const Model& model, const Node& node,
                           const std::vector<Contents>& inputs);
Contents symbolic_elementwise(const Model& model, const Node& node,
                              const std::vector<Contents>& inputs);
Contents symbolic_reduction(const Model& model, const Node& node,
                            const std::vector<Contents>& inputs);

}  // namespace ingot::graph
