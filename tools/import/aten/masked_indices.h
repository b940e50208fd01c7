// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/masked_indices.h - where a mask holds, which only the run knows.
#pragma once
#include <vector>

#include "tools/import/aten/builder.h"

namespace ingot::aten {

/// For each dimension of `mask` the indices of its elements that are not 0, i64 [n]; n is a symbol.
std::vector<ValueId> positions_where(Builder& b, ValueId mask);

/// `whole` [mask's dims..., rest...] with the rows where `mask` holds replaced by those of `rows`,
/// in their order. `rows` has rows of `rest` one behind the other, at least one.
ValueId with_rows_where(Builder& b, ValueId whole, ValueId mask, ValueId rows);

}  // namespace ingot::aten
