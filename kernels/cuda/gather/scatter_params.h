// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gather/scatter_params.h - writing by index tensors; a stable sort.
#pragma once
#include "kernels/cuda/gather/gather_params.h"
#include "runtime/op/gather.h"

namespace ingot::cuda {

/// Update number i is a row of `row` units (elements where they are combined) that goes to a slot
/// of `to`, which has `slots` of them.
struct ScatterParams {
  char* to;
  const char* updates;
  Indices indices;
  int64_t count;  // updates
  int64_t slots;
  FastDivisor row;
  // by slot: number of the last update that names it, plus one. null: bad indices are only
  // reported, or one update writes where it may
  uint64_t* owners;
  // by update: its slot (`slots` for a bad index), its number; once sorted, by slot
  uint64_t *keys, *numbers;
  int64_t extents[kMaxRank];    // scatter_nd
  FastDivisor dims[kMoveRank];  // scatter_elements: of the indices, merged
  int64_t strides[kMoveRank];   // of data, 0 along the axis
  int64_t axis_stride;
  int depth, rank;
  int unit;         // bytes of a unit, where they are not combined
  bool by_element;  // scatter_elements
  ScatterReduction reduction;
  DType dtype;
};

struct ClearParams {
  uint64_t* words;
  int64_t count;
};

constexpr int kSortDigits = 256, kSortTile = 1024, kSortBlocks = 256;

/// One digit of a stable radix sort of (key, number) pairs. Each block has `share` neighbouring
/// pairs.
struct SortParams {
  const uint64_t *keys, *numbers;
  uint64_t *sorted_keys, *sorted_numbers;
  uint64_t* places;  // [digit][block]: pairs, then where the first of them goes
  int64_t count, share;
  int shift;
};

/// Bytes of scratch for sorting `count` pairs; the pairs are its first two arrays of `count` words,
/// keys first.
uint64_t sort_scratch(int64_t count);
/// Launches that sort the pairs at `scratch` by keys below 2^bits; *keys and *numbers: where they
/// end up.
Status plan_sort(const GpuWork& work, uint8_t* scratch, int64_t count, int bits, uint64_t** keys,
                 uint64_t** numbers);

}  // namespace ingot::cuda
