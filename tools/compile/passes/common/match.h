// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/common/match.h - looking at source operators as formulas: products, sums
// with a constant, powers.
#pragma once
#include <optional>
#include <vector>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

/// factor x leaves[0] x leaves[1] ...; `inside` are the nodes between the root and the leaves, the
/// root first.
struct Product {
  double factor = 1;
  std::vector<ValueId> leaves;
  std::vector<Node*> inside;
};
/// Follows Mul, and Div by a constant, from `root` down through values that nobody else reads and
/// that are not in `stop`.
Product product_of(const Editor& editor, Node& root);

/// The operand of `op` that is not a one-element constant, and that constant, for Add, Mul and the
/// like in either order.
struct WithConstant {
  ValueId x;
  double constant;
};
std::optional<WithConstant> with_constant(const Editor& editor, const Node& node);
/// The same for the producer of `id` when its kind is `op`.
std::optional<WithConstant> made_with_constant(const Editor& editor, ValueId id,
                                               graph::Operator op);

bool near(double a, double b, double relative = 1e-4);
/// x where `id` is x * x or x ^ 2.
std::optional<ValueId> square_of(const Editor& editor, ValueId id);

/// Kills `nodes` from the first on as long as nothing else reads them, adding their sources to
/// `into`.
void retire(Editor& editor, const std::vector<Node*>& nodes, Node& into);

}  // namespace ingot::passes
