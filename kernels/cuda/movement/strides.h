// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/movement/strides.h - one walk over dims with a stride on each side, as the planner
// sees it: what Copy, Tile, Slice, Concat and Transpose are made of. Host only.
#pragma once
#include "runtime/device/gpu/kernel_set.h"

namespace ingot::cuda {

constexpr int kMoveRank = 2 * kMaxRank;  // Tile has a repetition and an extent for each dimension

/// Strides in elements.
struct Move {
  int rank = 0;
  int64_t dims[kMoveRank] = {}, from[kMoveRank] = {}, to[kMoveRank] = {};
  int64_t bytes = 1;  // of an element
  void push(int64_t dim, int64_t from_stride, int64_t to_stride);
  int64_t elements() const;
};

/// Elements between neighbours along dimension i.
int64_t stride_of(const TensorType& t, int i);
/// Product of the dims [first, last).
int64_t extent_of(const TensorType& t, int first, int last);

/// Drops dims of 1 and merges neighbours that lie in one run on both sides; at least one dimension
/// stays. @pre no dimension is empty.
void merge(Move* m);
/// Bytes of the widest unit (16 at most) that `from`, `to` and every stride of a merged move are
/// multiples of; the move then counts in such units. Rows must be contiguous on both sides for
/// anything wider than an element.
int widen(Move* m, const void* from, const void* to);
/// The widest of 16, 8, 4, 2, 1 that divides every one of the `bits` or-ed together.
int widest_unit(uint64_t bits);

/// Launches that move `m`, whatever its shape. An empty move is none.
Status plan_move(const GpuWork& work, Move m, const void* from, void* to);
/// `bytes` bytes as they lie.
Status plan_copy_bytes(const GpuWork& work, const void* from, void* to, int64_t bytes);

}  // namespace ingot::cuda
