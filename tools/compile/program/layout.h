// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/layout.h - where a view lies inside the tensor it is a view of
// (runtime/op/tensor.h: rows with a stride).
#pragma once
#include <optional>
#include <vector>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// Dims and the distance of rows in elements, 0 when dense.
struct RowLayout {
  Dims dims;
  SymbolicDim row_stride;
};

/// What a view is of the tensor it lies in.
struct ViewOf {
  enum class Kind { kReshape, kSlice, kPermute };
  Kind kind = Kind::kReshape;
  Dims starts;                // kSlice: per dimension of the parent
  std::vector<uint8_t> perm;  // kPermute: dimension perm[k] of the parent is dimension k here
  std::vector<uint8_t>
      // kSlice: dimensions of the parent (extent 1 in the slice) that the view does not have
      dropped{};
};

/// Offset in elements from the parent's start, and the view's own row stride.
struct ViewPlace {
  SymbolicDim offset, row_stride;
};

/// Nothing when the view cannot be written as rows with one stride (at least one row length apart),
/// for every binding.
std::optional<ViewPlace> place_view(const RowLayout& parent, const ViewOf& view, const Dims& dims);

/// True when the elements surely lie without gaps, for every binding.
bool is_dense(const RowLayout& layout);

}  // namespace ingot::convert
