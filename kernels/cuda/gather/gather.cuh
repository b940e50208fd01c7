// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gather/gather.cuh - Gather, GatherElements, GatherNd. Every index is checked before
// it is used; where one is bad the fault is reported, the rest is still done, and nothing is read
// or written for it.
#pragma once
#include "kernels/cuda/device/bytes.cuh"
#include "kernels/cuda/device/f16.cuh"
#include "kernels/cuda/gather/gather_params.h"

namespace ingot::cuda {

/// Index number i, counted from the start; -1 when outside [-extent, extent).
GPU_FN int64_t index_at(const Indices& indices, int64_t i, int64_t extent) {
  const int64_t at = indices.is_wide ? reinterpret_cast<const int64_t*>(indices.data)[i]
                                     : int64_t(reinterpret_cast<const int32_t*>(indices.data)[i]);
  if (at < -extent || at >= extent) return -1;
  return at < 0 ? at + extent : at;
}
GPU_FN void report(const Indices& indices) { *indices.fault = indices.fault_value; }

/// Number of the slice that tuple i names; -1 when outside.
GPU_FN int64_t slice_at(const Indices& indices, const int64_t* extents, int depth, int64_t i) {
  int64_t slice = 0;
  GPU_ROLLED for (int k = 0; k < depth; k++) {
    const int64_t at = index_at(indices, i * depth + k, extents[k]);
    if (at < 0) return -1;
    slice = slice * extents[k] + at;
  }
  return slice;
}

/// The unit of `from` that unit i of `to` is; -1 where an index is bad.
GPU_FN int64_t gathered_unit(const GatherParams& p, int64_t i) {
  uint64_t row = uint64_t(i);
  const int64_t unit = int64_t(take_remainder(&row, p.row));
  uint64_t outer = row;
  const uint64_t tuple = take_remainder(&outer, p.tuples);
  const int64_t at =
      slice_at(p.indices, p.extents, p.depth, int64_t(p.tuples_repeat ? tuple : row));
  return at < 0 ? -1 : (int64_t(outer) * p.slices + at) * p.row.divisor + unit;
}

INGOT_GPU_KERNEL(gather_units, GatherParams, 256) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    const int64_t from = gathered_unit(p, i);
    if (from < 0)
      report(p.indices);
    else
      copy_unit(p.from, from, p.to, i, p.unit);
  }
}

/// Rows of f32 to rows of f16, in units of one or four.
INGOT_GPU_KERNEL(gather_as_halves, GatherParams, 256) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    const int64_t from = gathered_unit(p, i);
    const float* const data = reinterpret_cast<const float*>(p.from);
    if (from < 0) {
      report(p.indices);
    } else if (p.unit == 4) {
      reinterpret_cast<uint16_t*>(p.to)[i] = round_f16(data[from]);
    } else {
      const FourFloats four = load_four<FourFloats>(data, from * 4, false, 4, true);
      store_four(reinterpret_cast<float*>(p.to), i * 4, true, 4, true, four);
    }
  }
}

/// Offset of position i of the dims, the axis at zero.
GPU_FN int64_t base_at(const FastDivisor* dims, const int64_t* strides, int rank, uint64_t i) {
  int64_t at = 0;
  GPU_ROLLED for (int d = rank - 1; d > 0; d--) at +=
      int64_t(take_remainder(&i, dims[d])) * strides[d];
  return at + int64_t(i) * strides[0];
}

INGOT_GPU_KERNEL(gather_elements, GatherElementsParams, 256) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    const int64_t at = index_at(p.indices, i, p.extent);
    if (at < 0)
      report(p.indices);
    else
      copy_unit(p.from, base_at(p.dims, p.from_strides, p.rank, uint64_t(i)) + at * p.axis_stride,
                p.to, i, p.unit);
  }
}

}  // namespace ingot::cuda
