// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/layout.cpp - see layout.h.
#include "tools/compile/program/layout.h"

#include <algorithm>

namespace ingot::convert {
namespace {

bool is_one(const SymbolicDim& dim) { return dim == SymbolicDim(1); }

SymbolicDim row_length(const Dims& dims) { return dims.empty() ? SymbolicDim(1) : dims.back(); }

/// Distance of neighbours along every dimension, in elements.
Dims strides_of(const RowLayout& layout) {
  Dims strides(layout.dims.size(), SymbolicDim(1));
  if (strides.size() < 2) return strides;
  SymbolicDim stride =
      layout.row_stride == SymbolicDim(0) ? row_length(layout.dims) : layout.row_stride;
  for (size_t i = strides.size() - 1; i-- > 0;) {
    strides[i] = stride;
    stride = stride * layout.dims[i];
  }
  return strides;
}

/// The row stride of a tensor with these distances, 0 when dense; nothing when rows are not evenly
/// spaced.
std::optional<SymbolicDim> rows_from(const Dims& dims, const Dims& strides) {
  if (dims.empty()) return SymbolicDim(0);
  const size_t last = dims.size() - 1;
  if (!is_one(dims[last]) && !is_one(strides[last])) return std::nullopt;
  SymbolicDim row_stride(0), expected;
  bool any = false;
  for (size_t i = last; i-- > 0;) {
    if (is_one(dims[i])) continue;
    if (any && strides[i] != expected) return std::nullopt;
    if (!any) row_stride = strides[i];
    any = true;
    expected = strides[i] * dims[i];
  }
  if (!any || row_stride == row_length(dims)) return SymbolicDim(0);
  if (!graph::proven_at_least(row_stride, row_length(dims))) return std::nullopt;
  return row_stride;
}

}  // namespace

bool is_dense(const RowLayout& layout) {
  return layout.row_stride == SymbolicDim(0) || layout.dims.empty() ||
         std::all_of(layout.dims.begin(), layout.dims.end() - 1, is_one);
}

std::optional<ViewPlace> place_view(const RowLayout& parent, const ViewOf& view, const Dims& dims) {
  if (view.kind == ViewOf::Kind::kReshape) {
    if (is_dense(parent)) return ViewPlace{0, 0};
    if (row_length(dims) == row_length(parent.dims)) return ViewPlace{0, parent.row_stride};
    return std::nullopt;
  }
  const Dims strides = strides_of(parent);
  SymbolicDim offset(0);
  Dims kept;
  for (size_t i = 0; i < strides.size(); i++) {
    if (view.kind == ViewOf::Kind::kPermute) {
      kept.push_back(strides[view.perm[i]]);
      continue;
    }
    offset = offset + view.starts[i] * strides[i];
    if (std::find(view.dropped.begin(), view.dropped.end(), uint8_t(i)) == view.dropped.end())
      kept.push_back(strides[i]);
  }
  const std::optional<SymbolicDim> row_stride = rows_from(dims, kept);
  if (!row_stride) return std::nullopt;
  return ViewPlace{offset, *row_stride};
}

}  // namespace ingot::convert
