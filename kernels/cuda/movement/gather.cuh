// kernels/cuda/movement/gather.cuh - Gather, GatherElements, GatherNd. Every index is checked before it is used; where one is bad the
// fault is reported, the rest is still done, and nothing is read or written for it.
#pragma once
#include "kernels/cuda/device/bytes.cuh"
#include "kernels/cuda/movement/gather_params.h"

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

template <class T, class Index>
GPU_FN void gather_rows(const GatherParams& p) {
  const T* from = reinterpret_cast<const T*>(p.from);
  T* to = reinterpret_cast<T*>(p.to);
  GPU_ROLLED for (Index i = Index(grid_thread()); i < Index(p.count); i += Index(grid_threads())) {
    Index row = i;
    const Index unit = take_remainder(&row, p.row);
    Index outer = row;
    const Index tuple = take_remainder(&outer, p.tuples);
    const int64_t at = slice_at(p.indices, p.extents, p.depth, int64_t(p.tuples_repeat ? tuple : row));
    if (at < 0)
      report(p.indices);
    else
      to[i] = from[(int64_t(outer) * p.slices + at) * p.row.divisor + int64_t(unit)];
  }
}
template <int bytes>
GPU_FN void gather_units(const GatherParams& p) {
  if (fits_index32(p.count))
    gather_rows<Unit<bytes>, uint32_t>(p);
  else
    gather_rows<Unit<bytes>, uint64_t>(p);
}

INGOT_GPU_KERNEL(gather_1, GatherParams, 256) { gather_units<1>(p); }
INGOT_GPU_KERNEL(gather_2, GatherParams, 256) { gather_units<2>(p); }
INGOT_GPU_KERNEL(gather_4, GatherParams, 256) { gather_units<4>(p); }
INGOT_GPU_KERNEL(gather_8, GatherParams, 256) { gather_units<8>(p); }
INGOT_GPU_KERNEL(gather_16, GatherParams, 256) { gather_units<16>(p); }

/// Offset of position i of the dims, the axis at zero.
template <class Index>
GPU_FN int64_t base_at(const FastDivisor* dims, const int64_t* strides, int rank, Index i) {
  int64_t at = 0;
  GPU_ROLLED for (int d = rank - 1; d > 0; d--) at += int64_t(take_remainder(&i, dims[d])) * strides[d];
  return at + int64_t(i) * strides[0];
}

template <class T, class Index>
GPU_FN void gather_each(const GatherElementsParams& p) {
  const T* from = reinterpret_cast<const T*>(p.from);
  T* to = reinterpret_cast<T*>(p.to);
  GPU_ROLLED for (Index i = Index(grid_thread()); i < Index(p.count); i += Index(grid_threads())) {
    const int64_t at = index_at(p.indices, int64_t(i), p.extent);
    if (at < 0)
      report(p.indices);
    else
      to[i] = from[base_at(p.dims, p.from_strides, p.rank, i) + at * p.axis_stride];
  }
}
template <int bytes>
GPU_FN void gather_elements(const GatherElementsParams& p) {
  if (fits_index32(p.count))
    gather_each<Unit<bytes>, uint32_t>(p);
  else
    gather_each<Unit<bytes>, uint64_t>(p);
}

INGOT_GPU_KERNEL(gather_elements_1, GatherElementsParams, 256) { gather_elements<1>(p); }
INGOT_GPU_KERNEL(gather_elements_2, GatherElementsParams, 256) { gather_elements<2>(p); }
INGOT_GPU_KERNEL(gather_elements_4, GatherElementsParams, 256) { gather_elements<4>(p); }
INGOT_GPU_KERNEL(gather_elements_8, GatherElementsParams, 256) { gather_elements<8>(p); }

}  // namespace ingot::cuda
