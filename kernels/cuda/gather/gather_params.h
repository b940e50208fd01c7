// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gather/gather_params.h - reading by index tensors.
#pragma once
#include "kernels/cuda/device/fast_divide.h"
#include "kernels/cuda/movement/strides.h"

namespace ingot::cuda {

/// An index tensor and where a bad index is reported.
struct Indices {
  const char* data;
  uint32_t* fault;
  uint32_t fault_value;
  bool is_wide;  // i64, else i32
};
/// Of an operand. Host only.
Indices indices_of(const GpuWork& work, const TensorView& t);

/// Row r of `to` is the slice of `from` that index tuple r (or r % tuples, see `outer`) names.
/// Units of the kernel.
struct GatherParams {
  const char* from;
  char* to;
  Indices indices;
  int64_t count;    // units of `to`
  FastDivisor row;  // units of a row
  // gather: rows of `to` for each position of the outer dims; gather_nd: tuples of a batch
  FastDivisor tuples;
  int64_t slices;  // of `from`, for each position of the outer dims (of a batch)
  int64_t extents[kMaxRank];
  int depth;           // entries of a tuple
  bool tuples_repeat;  // gather: the same tuples for every outer position
  int unit;            // bytes of `from`
};

/// Element i of `to` is the one of `from` whose position along the axis is index i. Dims of the
/// indices, merged.
struct GatherElementsParams {
  const char* from;
  char* to;
  Indices indices;
  int64_t count, extent, axis_stride;
  FastDivisor dims[kMoveRank];
  int64_t from_strides[kMoveRank];  // 0 along the axis
  int rank;
  int unit;  // bytes of an element
};

}  // namespace ingot::cuda
