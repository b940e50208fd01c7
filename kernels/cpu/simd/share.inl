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

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
