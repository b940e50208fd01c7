// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/movement/strides_plan.cpp - which kernel a walk with strides becomes: tiles through
// shared memory where two dimensions change places, else units as wide as both sides allow.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/movement/strides.h"

namespace ingot::cuda {

void Move::push(int64_t dim, int64_t from_stride, int64_t to_stride) {
  dims[rank] = dim;
  from[rank] = from_stride;
  to[rank++] = to_stride;
}
int64_t Move::elements() const {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dims[i];
  return n;
}

int64_t stride_of(const TensorType& t, int i) {
  if (i == t.rank - 1) return 1;
  int64_t stride = t.row_stride;
  for (int k = i + 1; k + 1 < t.rank; k++) stride *= t.dims[k];
  return stride;
}
int64_t extent_of(const TensorType& t, int first, int last) {
  int64_t n = 1;
  for (int i = first; i < last; i++) n *= t.dims[i];
  return n;
}

void merge(Move* m) {
  int out = 0;
  for (int i = 0; i < m->rank; i++) {
    if (m->dims[i] == 1) continue;
    const bool merges = out > 0 && m->from[out - 1] == m->from[i] * m->dims[i] &&
                        m->to[out - 1] == m->to[i] * m->dims[i];
    if (merges) out--;
    m->dims[out] = (merges ? m->dims[out] : 1) * m->dims[i];
    m->from[out] = m->from[i];
    m->to[out++] = m->to[i];
  }
  if (out == 0) {
    m->dims[0] = m->from[0] = m->to[0] = 1;
    out = 1;
  }
  m->rank = out;
}

int widest_unit(uint64_t bits) {
  const uint64_t lowest = bits & (~bits + 1);
  return lowest == 0 || lowest > 16 ? 16 : int(lowest);
}

int widen(Move* m, const void* from, const void* to) {
  const int last = m->rank - 1;
  if (m->from[last] != 1 || m->to[last] != 1) return int(m->bytes);
  uint64_t bits = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to) |
                  uint64_t(m->dims[last] * m->bytes);
  for (int i = 0; i < last; i++)
    bits |= uint64_t(m->from[i] * m->bytes) | uint64_t(m->to[i] * m->bytes);
  const int unit = widest_unit(bits);
  if (unit <= m->bytes) return int(m->bytes);
  const int64_t ratio = unit / m->bytes;
  m->dims[last] /= ratio;
  for (int i = 0; i < last; i++) m->from[i] /= ratio, m->to[i] /= ratio;
  m->bytes = unit;
  return unit;
}

namespace {

KernelId move_kernel(int bytes) {
  switch (bytes) {
    case 1: return KernelId::move_1;
    case 2: return KernelId::move_2;
    case 4: return KernelId::move_4;
    case 8: return KernelId::move_8;
    default: return KernelId::move_16;
  }
}
KernelId turn_kernel(int64_t bytes) {
  switch (bytes) {
    case 1: return KernelId::turn_1;
    case 2: return KernelId::turn_2;
    case 4: return KernelId::turn_4;
    default: return KernelId::turn_8;
  }
}

/// The dimension that is contiguous in the source while the last is contiguous in the target; -1:
/// none that is worth tiles.
int turned_dim(const Move& m) {
  constexpr int64_t kLeast = 8;  // below, a tile is mostly empty and the caches do as well
  const int last = m.rank - 1;
  if (m.from[last] == 1 || m.to[last] != 1 || m.dims[last] < kLeast) return -1;
  for (int i = 0; i < last; i++)
    if (m.from[i] == 1 && m.dims[i] >= kLeast) return i;
  return -1;
}

Status plan_turn(const GpuWork& work, const Move& m, int other, const void* from, void* to) {
  const int last = m.rank - 1;
  TurnParams p = {};
  p.from = static_cast<const char*>(from);
  p.to = static_cast<char*>(to);
  p.rows = m.dims[other];
  p.columns = m.dims[last];
  p.row_to = m.to[other];
  p.column_from = m.from[last];
  const int64_t row_tiles = (p.rows + kTurnSide - 1) / kTurnSide,
                column_tiles = (p.columns + kTurnSide - 1) / kTurnSide;
  p.row_tiles = fast_divisor(row_tiles);
  p.column_tiles = fast_divisor(column_tiles);
  p.tiles = row_tiles * column_tiles;
  for (int i = 0; i < last; i++) {
    if (i == other) continue;
    p.dims[p.rank] = fast_divisor(m.dims[i]);
    p.from_strides[p.rank] = m.from[i];
    p.to_strides[p.rank++] = m.to[i];
    p.tiles *= m.dims[i];
  }
  return launch(work, turn_kernel(m.bytes), blocks_for(p.tiles, 1, work.traits), p);
}

}  // namespace

Status plan_move(const GpuWork& work, Move m, const void* from, void* to) {
  if (m.elements() == 0) return {};
  merge(&m);
  const int other = turned_dim(m);
  if (other >= 0) return plan_turn(work, m, other, from, to);
  const int unit = widen(&m, from, to);
  MoveParams p = {};
  p.from = static_cast<const char*>(from);
  p.to = static_cast<char*>(to);
  p.count = m.elements();
  p.rank = m.rank;
  for (int i = 0; i < m.rank; i++) {
    p.dims[i] = fast_divisor(m.dims[i]);
    p.from_strides[i] = m.from[i];
    p.to_strides[i] = m.to[i];
  }
  return launch(work, move_kernel(unit), blocks_for(p.count, 256, work.traits), p);
}

Status plan_copy_bytes(const GpuWork& work, const void* from, void* to, int64_t bytes) {
  Move m;
  m.push(bytes, 1, 1);
  return plan_move(work, m, from, to);
}

}  // namespace ingot::cuda
