// kernels/cpu/copy/copy.inl - Copy and Tile. Contract: runtime/op/copy.h.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "runtime/op/copy.h"

namespace ingot::cpu {
namespace {
namespace tensors {

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
