// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/recognize/head_views.h - heads of attention where they lie: is a value of
// [B, heads, T, D], made by reshapes, transposes and slices, nothing but rows of tokens of some
// earlier value?
#pragma once
#include <optional>

#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

/// `elements` of `base` from `offset` on, with a list of (extent, stride) for each dimension, outer
/// ones first; dimensions of 1 have none.
struct StridedView {
  struct Part {
    Dim extent, stride;
  };
  ValueId base = graph::kAbsent;
  Dim offset;
  std::vector<std::vector<Part>> dims;
};

/// `id` as a view of the value that `steps` Reshapes, Transposes and Slices before it read; nothing
/// where one of them copies or where there are fewer.
std::optional<StridedView> view_through(const Editor& e, ValueId id, size_t steps);

/// [B, heads, T, D] as [B, T, heads * D] (a value, or a slice of its rows) where no element has to
/// move for that; else `id` itself.
ValueId rows_of_heads(Editor& e, ValueId id, const Node& from);

}  // namespace ingot::passes
