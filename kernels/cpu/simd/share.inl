// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/share.inl - which part of the work a member of the team does. Results never
// depend on it.
#pragma once
#include "runtime/op/contract.h"

namespace ingot::cpu {
namespace {
namespace tensors {

struct Part {
  int64_t begin, end;
};

/// This member's part of [0, n), cut at multiples of `grain`. Small work stays with the first
/// members: a part has at least `least` things, because waking a cache line costs more than the
/// work.
inline Part part_of(const Team& team, int64_t n, int64_t grain = 1, int64_t least = 1) {
  const int64_t pieces = (n + grain - 1) / grain;
  const int64_t workers = n / (least > 0 ? least : 1);
  const int64_t parts = workers < 1 ? 1 : workers < team.size ? workers : team.size;
  if (team.id >= parts) return {n, n};
  const int64_t begin = pieces / parts * team.id + pieces % parts * team.id / parts;
  const int64_t end = pieces / parts * (team.id + 1) + pieces % parts * (team.id + 1) / parts;
  return {begin * grain < n ? begin * grain : n, end * grain < n ? end * grain : n};
}

inline int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }

/// Runs of elements that lie together in both of two tensors of the same dims, of this member:
/// f(offset in x, offset in y, elements), offsets in elements.
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
