// SPDX-License-Identifier: Apache-2.0
// runtime/format/region.cpp - intersections of combs in closed form.
#include "runtime/format/region.h"

namespace ingot {
namespace {

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// Elements of `comb` below position `x`.
int64_t elements_below(const Region& comb, int64_t x) {
  const int64_t distance = x - comb.offset;
  if (distance <= 0) return 0;
  const int64_t row = distance / comb.stride;
  if (row >= comb.rows) return comb.elements();
  return row * comb.length + smaller(comb.length, distance - row * comb.stride);
}

/// Rows of a against rows of b that lie `row_shift` further up; each pair starts `column` apart.
int64_t paired_rows(const Region& a, const Region& b, int64_t row_shift, int64_t column) {
  const int64_t length = smaller(a.length, column + b.length) - larger(0, column);
  const int64_t rows = smaller(a.rows, b.rows + row_shift) - larger(0, row_shift);
  return length > 0 && rows > 0 ? length * rows : 0;
}

/// Elements of both when the stride of `fine` divides that of `coarse`: every row of `coarse` that
/// lies inside the periods of `fine` meets as many elements as the next; at most one row at either
/// end is cut.
int64_t nested_elements(const Region& fine, const Region& coarse) {
  const auto in_row = [&](int64_t row) {
    const int64_t start = coarse.offset + row * coarse.stride;
    return elements_below(fine, start + coarse.length) - elements_below(fine, start);
  };
  // rows that start in front of fine
  const int64_t before = fine.offset - coarse.offset;
  // from the first row to the last that fits
  const int64_t room = before + fine.rows * fine.stride - coarse.length;
  int64_t begin = before > 0 ? (before - 1) / coarse.stride + 1 : 0;
  if (begin > coarse.rows) begin = coarse.rows;
  int64_t end = room >= 0 ? room / coarse.stride + 1 : 0;
  end = larger(begin, smaller(end, coarse.rows));
  int64_t count = end > begin ? (end - begin) * in_row(begin) : 0;
  if (begin > 0) count += in_row(begin - 1);
  if (end < coarse.rows) count += in_row(end);
  return count;
}

}  // namespace

Region make_region(const TensorType& type, int64_t offset) {
  const int64_t length = type.row_length(), rows = type.rows();
  if (length == 0 || rows == 0) return {offset, 0, 0, 1};
  if (type.packing != Packing::kDense || type.is_dense())
    return {offset, 1, rows * length, rows * length};
  return {offset, rows, length, type.row_stride};
}

bool common_elements(const Region& a, const Region& b, int64_t* count) {
  const int64_t first = larger(a.offset, b.offset), end = smaller(a.end(), b.end());
  *count = 0;
  if (first >= end) return true;
  if (a.is_interval()) {
    *count = elements_below(b, a.end()) - elements_below(b, a.offset);
    return true;
  }
  if (b.is_interval()) {
    *count = elements_below(a, b.end()) - elements_below(a, b.offset);
    return true;
  }
  if (a.stride != b.stride) {
    const bool a_is_fine = b.stride % a.stride == 0;
    if (a_is_fine || a.stride % b.stride == 0) {
      *count = a_is_fine ? nested_elements(a, b) : nested_elements(b, a);
      return true;
    }
    *count = end - first;
    return false;
  }
  int64_t shift = (b.offset - a.offset) / a.stride, column = (b.offset - a.offset) % a.stride;
  if (column < 0) column += a.stride, shift--;
  // Row r of a meets row r - shift of b at `column`, and row r - shift - 1 one stride before.
  *count = paired_rows(a, b, shift, column) + paired_rows(a, b, shift + 1, column - a.stride);
  return true;
}

bool may_overlap(const Region& a, const Region& b) {
  int64_t count;
  common_elements(a, b, &count);
  return count != 0;
}

}  // namespace ingot
