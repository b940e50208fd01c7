// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/data_dependent/unique.cuh - items sorted by what they hold, then by their index: no
// two are the same, so every sort gives the one order. Sorted runs are merged by pairs, beginning
// with runs of one; an item finds its place in the other run by halving. Equal items then lie
// together, the first of a kind first. The kinds are counted by nonzero.cuh.
#pragma once
#include "kernels/cuda/data_dependent/block.cuh"
#include "kernels/cuda/data_dependent/data_dependent_params.h"
#include "kernels/cuda/device/bytes.cuh"

namespace ingot::cuda {

/// Numbers that ascend with the elements: NaN above all others, both zeros equal.
GPU_FN int64_t unique_key(const UniqueParams& p, int64_t at) {
  const int shift = 64 - 8 * p.bytes;
  const uint64_t bits = load_bits(p.x, at, p.bytes) << shift;  // the sign on top
  if (p.kind != UniqueKind::kFloat)
    return int64_t(p.kind == UniqueKind::kUnsigned ? bits ^ 1ull << 63 : bits) >> shift;
  const uint64_t magnitude = bits << 1 >> 1;
  if (magnitude > p.infinity) return INT64_MAX;
  return bits >> 63 ? -int64_t(magnitude) : int64_t(magnitude);
}

/// Below 0, 0, above 0.
GPU_FN int compare_items(const UniqueParams& p, int64_t i, int64_t j) {
  GPU_ROLLED for (int64_t o = 0; o < p.outer; o++)
      GPU_ROLLED for (int64_t k = 0; k < p.inner; k++) {
    const int64_t a = unique_key(p, (o * p.m + i) * p.inner + k),
                  b = unique_key(p, (o * p.m + j) * p.inner + k);
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

/// Merges runs; where p.begins is there, marks where kinds begin, which is one comparison of the
/// same sort: with the item before.
INGOT_GPU_KERNEL_BLOCKS(unique_merge, UniqueParams, 256, 4) {
  GPU_ROLLED for (int64_t at = grid_thread(); at < p.m; at += grid_threads()) {
    const int64_t base = at & ~(2 * p.run - 1), middle = base + p.run;
    const bool marks = p.begins != nullptr, is_left = at < middle;
    const int64_t item = p.order ? p.order[at] : at, other = is_left ? middle : base;
    int64_t low = marks ? at - (at > 0) : other, high = marks     ? at
                                                        : is_left ? middle + p.run
                                                                  : middle;
    if (high > p.m) high = p.m;
    GPU_ROLLED while (low < high) {  // for the first of the other run that comes behind the item
      const int64_t half = low + (high - low) / 2, against = p.order ? p.order[half] : half;
      const int order = compare_items(p, against, item);
      if (order < 0 || (order == 0 && against < item && !marks))
        low = half + 1;
      else
        high = half;
    }
    if (!marks) {
      p.merged[at + (low - other) - (is_left ? 0 : p.run)] = item;
      continue;
    }
    p.begins[at] = low == at;
    if (p.firsts) p.firsts[item] = low == at;
  }
}

/// How many of the ascending list[0 .. n) are below x.
GPU_FN int64_t count_below(const int64_t* list, int64_t n, int64_t x) {
  int64_t low = 0, high = n;
  GPU_ROLLED while (low < high) {
    const int64_t half = low + (high - low) / 2;
    if (list[half] < x)
      low = half + 1;
    else
      high = half;
  }
  return low;
}

INGOT_GPU_KERNEL_BLOCKS(unique_write, UniqueParams, 256, 4) {
  const int64_t n = *p.n;
  GPU_ROLLED for (int64_t at = grid_thread(); at < p.m; at += grid_threads()) {
    const int64_t kind = count_below(p.kinds, n, at + 1) - 1, begin = p.kinds[kind],
                  first = p.order[begin];
    const int64_t to = p.arrivals ? count_below(p.arrivals, n, first) : kind;
    if (p.inverse) p.inverse[p.order[at]] = to;
    if (at != begin) continue;
    if (p.first) p.first[to] = first;
    if (p.count) p.count[to] = (kind + 1 < n ? p.kinds[kind + 1] : p.m) - begin;
    GPU_ROLLED for (int64_t o = 0; o < p.outer && p.y; o++) GPU_ROLLED for (int64_t k = 0;
                                                                            k < p.inner; k++)
        copy_unit(p.x, (o * p.m + first) * p.inner + k, p.y, (o * n + to) * p.inner + k, p.bytes);
  }
}

}  // namespace ingot::cuda
