// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/memory_order.h"

namespace ingot::aten {

using graph::Dim;
using graph::Dims;

namespace {

/// Nothing where it depends on a symbol.
std::optional<bool> equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (graph::proven_at_least(a, b + Dim(1)) || graph::proven_at_least(b, a + Dim(1))) return false;
  return std::nullopt;
}

}  // namespace

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), Dim(1));
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Shared is_row_major(const Dims& dims, const Strides& strides) {
  if (!strides) return Shared::kUnknown;
  Shared result = Shared::kYes;
  Dim expected(1);
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == Dim(0)) return Shared::kYes;
    if (dims[i] != Dim(1) && (*strides)[i] != expected) {
      const bool differs =
          equal((*strides)[i], expected) == false && equal(dims[i], Dim(1)) == false;
      if (differs && result == Shared::kYes) result = Shared::kNo;
      if (!differs) result = Shared::kUnknown;
    }
    expected = expected * dims[i];
  }
  return result;
}

/// Dimensions that follow one another in memory without a gap form a block. A view takes blocks
/// apart and never joins two.
Reshaped reshape_in_memory(const Dims& dims, const Strides& strides, const Dims& to) {
  if (dims == to) return {Shared::kYes, strides};
  if (is_row_major(dims, strides) == Shared::kYes) return {Shared::kYes, row_major(to)};
  Dims extents, steps;  // without dimensions of 1, whose strides do not count
  for (size_t i = 0; i < dims.size(); i++) {
    if (dims[i] == Dim(1)) continue;
    extents.push_back(dims[i]);
    steps.push_back(strides ? (*strides)[i] : Dim(1));
  }
  Dims made(to.size(), Dim(1));
  size_t next = to.size();  // dimensions of `to` from here on have their places
  bool sure = true;         // no gap was assumed that may be none
  for (size_t end = extents.size(); end > 0;) {
    const Dim step = steps[end - 1];
    size_t first = end - 1;
    Dim count = extents[first];
    for (; first > 0 && strides && steps[first - 1] == count * step; first--)
      count = count * extents[first - 1];
    if (first > 0)
      sure = sure && strides.has_value() && equal(steps[first - 1], count * step) == false &&
             equal(count, Dim(1)) == false && equal(extents[first - 1], Dim(1)) == false;
    Dim taken(1);
    while (next > 0 && taken != count) {
      if (taken.is_static() && count.is_static() && *taken.value() > *count.value()) break;
      next--;
      made[next] = taken * step;
      taken = taken * to[next];
    }
    if (taken != count) {
      sure = sure && taken.is_static() && count.is_static();
      return {sure ? Shared::kNo : Shared::kUnknown, {}};
    }
    end = first;
  }
  return {Shared::kYes, strides ? Strides(made) : std::nullopt};
}

}  // namespace ingot::aten
