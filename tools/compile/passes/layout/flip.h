// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/layout/flip.h - which nodes can work on permuted dims, and how they change
// when they do.
#pragma once
#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

/// Operand `i` of a node that can be flipped: takes part in the permutation (rank as the output,
/// data and not an index or a weight).
bool is_flipped_operand(const Editor& editor, const Node& node, size_t i, size_t rank);

/// True when `node` gives T(y) for T(x), T = Transpose with any perm of that rank that it can bear:
/// x there is its operand permuted by the inverse, and so is y. `perm` says which dimension of the
/// flipped value is dimension k of the plain one.
bool can_flip(const Editor& editor, const Node& node, const Integers& perm);

/// Rewrites axes and per-dimension attributes; operands and outputs are the caller's.
void flip_attributes(Node& node, const Integers& perm);

}  // namespace ingot::passes
