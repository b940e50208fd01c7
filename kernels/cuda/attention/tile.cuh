// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/attention/tile.cuh - which queries and keys a block works on. Queries of all query
// heads that read one head of keys are one row of rows, [group][queries], cut into tiles.
#pragma once
#include "kernels/cuda/attention/attention_params.h"
#include "kernels/cuda/device/gpu.h"

namespace ingot::cuda {

struct AttentionTile {
  int64_t b, kv_head, row;  // row: the first, of the unit
  int64_t kept_b = 0;       // the batch of keys and values; on tensor cores b
  int64_t count, limit;     // keys that exist; keys that are read for a group of rows
  int rows;
};
/// A row of a tile.
struct AttentionRow {
  int64_t q, y, mask, visible;  // where it begins in each operand; keys that it sees
  int64_t head;
};

GPU_FN int64_t place_of(const AttentionOperand& o, int64_t b, int64_t h, int64_t t) {
  return b * o.batch + h * o.head + t * o.token;
}

GPU_FN int64_t seen_by(const AttentionParams& p, int64_t count, int64_t query) {
  int64_t n = count;
  if (p.causal == CausalMask::kTopLeft) n = query + 1;
  if (p.causal == CausalMask::kBottomRight) n = query + 1 + count - p.queries;
  return n < 0 ? 0 : n < count ? n : count;
}

/// Tile `at` of tiles of kRows; kGroup rows share the last key that is read. False where the file's
/// number of keys is none. Count has every row and every tile: 64 bits divide slowly.
template <class Count, int kRows, int kGroup>
GPU_FN bool make_tile(const AttentionParams& p, int64_t at, AttentionTile* t) {
  const Count unit = Count(at) / Count(p.tiles_of_unit), b = unit / Count(p.kv_heads);
  const int64_t all = p.group * p.queries;
  t->row = (at - int64_t(unit) * p.tiles_of_unit) * kRows;
  t->b = int64_t(b), t->kv_head = int64_t(unit - b * Count(p.kv_heads));
  t->rows = int(all - t->row < kRows ? all - t->row : kRows);
  t->count = p.keys;
  if (p.counts) {
    const int64_t i = p.one_count ? 0 : t->b;
    t->count = p.counts_are_i64 ? static_cast<const int64_t*>(p.counts)[i]
                                : static_cast<const int32_t*>(p.counts)[i];
    if (t->count < 0 || t->count > p.keys) return false;
  }
  t->limit = t->count;
  if (p.causal != CausalMask::kNone) {
    const int64_t first = t->row / kGroup * kGroup, next = first + kGroup;
    const int64_t end = next < all ? next : all;
    const bool wraps = int64_t(Count(first) % Count(p.queries)) + (end - first) > p.queries;
    t->limit =
        seen_by(p, t->count, wraps ? p.queries - 1 : int64_t(Count(end - 1) % Count(p.queries)));
  }
  return true;
}

template <class Count>
GPU_FN AttentionRow make_row(const AttentionParams& p, const AttentionTile& t, int row) {
  const int64_t within = int64_t(Count(t.row + row) / Count(p.queries)),
                head = t.kv_head * p.group + within, query = t.row + row - within * p.queries;
  return {place_of(p.q, t.b, head, query), place_of(p.y, t.b, head, query),
          t.b * p.mask_strides[0] + head * p.mask_strides[1] + query * p.mask_strides[2],
          seen_by(p, t.count, query), head};
}

}  // namespace ingot::cuda
