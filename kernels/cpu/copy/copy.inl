// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/copy/copy.inl - Copy and Tile. Contract: runtime/op/copy.h.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "runtime/op/copy.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// Short rows, a few numbers out of many, are one walk with two strides, where x and y lie apart
/// and have rows of one length, or none. False: they do not.
template <class V>
bool copy_short_rows(const TensorView& x, const TensorView& y, int64_t run, const Team& team) {
  constexpr int64_t kShort = 16;
  const int64_t bytes = dtype_bytes(x.dtype), rows = x.elements() / run;
  const auto stride_of_rows = [&](const TensorView& t) {
    return t.is_dense() ? run : t.row_length() == run ? int64_t(t.row_stride) : int64_t(0);
  };
  const int64_t from = stride_of_rows(x), to = stride_of_rows(y);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(x.data),
                  other = reinterpret_cast<uintptr_t>(y.data);
  if (run > kShort || from == 0 || to == 0 ||
      !(begin + uintptr_t(rows * from * bytes) <= other ||
        other + uintptr_t(rows * to * bytes) <= begin))
    return false;
  Move m;
  m.bytes = bytes;
  m.push(rows, from, to), m.push(run, 1, 1);
  merge_and_run<V>(&m, x.data, y.data, team);
  return true;
}

/// Row lengths may differ: runs go up to the nearer end of a row.
template <class V>
Status copy(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const int64_t bytes = dtype_bytes(x.dtype), n = x.elements();
  const char* from = x.as<const char>();
  char* to = y.as<char>();
  const int64_t x_run = x.is_dense() ? n : x.row_length(),
                y_run = y.is_dense() ? n : y.row_length();
  if (n == 0 || (from == to && x_run == n && y_run == n)) return {};
  if (copy_short_rows<V>(x, y, least_of(x_run, y_run), team)) return {};
  const Part mine = part_of(team, n, 64, 16384 / bytes);
  for (int64_t i = mine.begin; i < mine.end;) {
    const int64_t x_row = i / x_run, x_column = i % x_run, y_row = i / y_run, y_column = i % y_run;
    const int64_t count = least_of(least_of(x_run - x_column, y_run - y_column), mine.end - i);
    std::memmove(to + (y_row * y.row_stride + y_column) * bytes,
                 from + (x_row * x.row_stride + x_column) * bytes, size_t(count * bytes));
    i += count;
  }
  return {};
}

template <class V>
Status tile(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  Move m;
  m.bytes = dtype_bytes(x.dtype);
  for (int i = 0; i < x.rank; i++) {
    if (y.dims[i] == 0) return {};
    const int64_t stride = stride_of(y, i);
    m.push(y.dims[i] / x.dims[i], 0, stride * x.dims[i]);
    m.push(x.dims[i], stride_of(x, i), stride);
  }
  merge_and_run<V>(&m, x.data, y.data, team);
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
