// SPDX-License-Identifier: Apache-2.0
// runtime/format/region.h - which elements of a root's storage a value occupies: rows of equal
// length at equal distance.
#pragma once
#include <cstdint>

#include "runtime/op/tensor.h"

namespace ingot {

/// Elements [offset + i * stride, offset + i * stride + length) for i in [0, rows). rows or length
/// 0: nothing. @pre length <= stride, and nothing here exceeds 2^62.
struct Region {
  int64_t offset = 0, rows = 0, length = 0, stride = 0;
  int64_t elements() const { return rows * length; }
  int64_t end() const {
    return rows == 0 || length == 0 ? offset : offset + (rows - 1) * stride + length;
  }
  bool is_interval() const { return rows <= 1; }
};

/// `offset` elements behind the start of the root. Dense values become one row.
Region make_region(const TensorType& type, int64_t offset);
inline bool same_region(const Region& a, const Region& b) {
  return a.offset == b.offset && a.rows == b.rows && a.length == b.length &&
         (a.rows == 1 || a.stride == b.stride);
}

/// Number of elements in both. Exact when one is an interval or one stride divides the other; else
/// false is returned and *count is an upper bound (the overlap of the bounding intervals).
bool common_elements(const Region& a, const Region& b, int64_t* count);
/// False only when they certainly share nothing.
bool may_overlap(const Region& a, const Region& b);

}  // namespace ingot
