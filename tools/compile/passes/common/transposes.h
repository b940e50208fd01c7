// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/common/transposes.h - the algebra of Transpose and Reshape.
#pragma once
#include <optional>

#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

/// The perm of Transpose(second) of Transpose(first).
Integers compose(const Integers& first, const Integers& second);
/// Only dimensions of extent 1 change their place: in memory nothing moves.
bool moves_only_units(const Dims& dims, const Integers& perm);

/// A Reshape, a Transpose or a Slice.
bool is_view(const Node* node);

struct Commuted {
  Dims dims;
  Integers perm;
};
/// Reshape(Transpose(x, perm), to) as Transpose(Reshape(x, dims), perm'), where that is possible.
std::optional<Commuted> reshape_first(const Dims& x, const Integers& perm, const Dims& to);

/// Moves every Transpose that only a Reshape reads below it, where that is possible.
uint32_t push_transposes_down(Editor& editor);
/// Moves a Transpose above the Reshape that feeds it; only where it meets another Transpose there,
/// unless `always`.
uint32_t pull_transposes_up(Editor& editor, bool always);

/// A Transpose that moves nothing in memory becomes a Reshape. Not before the layout is chosen:
/// until then it says which order is which.
uint32_t drop_unit_transposes(Editor& editor);

}  // namespace ingot::passes
