// kernels/cpu/quantized/runs.inl - what each member of the team does of two tensors of the same
// dims: runs of elements that lie together in both.
#pragma once
#include "kernels/cpu/simd/share.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

/// f(offset in x, offset in y, elements) for every run of this member; offsets in elements.
template <class F>
INGOT_INLINE void for_runs(const Team& team, const TensorView& x, const TensorView& y, F f) {
  const bool dense = x.is_dense() && y.is_dense();
  const int64_t all = y.elements(), length = dense ? all : y.row_length();
  const Part mine = part_of(team, all, 64, 4096);
  for (int64_t at = mine.begin; at < mine.end;) {
    const int64_t row = at / length, column = at - row * length,
                  n = least_of(length - column, mine.end - at);
    f(row * x.row_stride + column, row * y.row_stride + column, n);
    at += n;
  }
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
