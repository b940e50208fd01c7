// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gather/gather.inl - Gather, GatherElements, GatherNd. Contract: runtime/op/gather.h.
// Every index is checked before it is used; where one is bad the rest is still done and
// kBadIndexValue returned.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/share.inl"
#include "runtime/op/gather.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// Index number i, counted from the start; -1 when outside [-extent, extent).
INGOT_INLINE int64_t index_at(const TensorView& indices, int64_t i, int64_t extent) {
  const int64_t at = indices.dtype == DType::kI64 ? indices.as<const int64_t>()[i]
                                                  : int64_t(indices.as<const int32_t>()[i]);
  if (at < -extent || at >= extent) return -1;
  return at < 0 ? at + extent : at;
}

INGOT_INLINE void copy_slice(char* to, const char* from, int64_t bytes) {
  switch (bytes) {
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    default: std::memcpy(to, from, size_t(bytes)); return;
  }
}

inline int64_t extent_of(const TensorType& t, int first, int last) {
  int64_t n = 1;
  for (int i = first; i < last; i++) n *= t.dims[i];
  return n;
}

using GatherSlices = bool (*)(const TensorView& indices, int64_t first, int64_t n, int64_t extent,
                              const char* from, int64_t step, int64_t stride, char* to,
                              int64_t bytes);
/// Slices of `bytes` (a constant where kBytes is not 0) that n indices from number `first` on name,
/// `step` bytes between the place of one index and the next. False where an index is bad.
template <class Index, int64_t kBytes>
bool gather_slices(const TensorView& indices, int64_t first, int64_t n, int64_t extent,
                   const char* from, int64_t step, int64_t stride, char* to, int64_t bytes) {
  const Index* const index = indices.as<const Index>() + first;
  const int64_t size = kBytes ? kBytes : bytes;
  bool good = true;
  for (int64_t i = 0; i < n; i++) {
    int64_t at = index[i];
    at += at < 0 ? extent : 0;
    if (uint64_t(at) < uint64_t(extent))
      std::memcpy(to + i * size, from + i * step + at * stride, size_t(size));
    else
      good = false;
  }
  return good;
}
inline GatherSlices gather_of(DType index, int64_t bytes) {
  const bool is_wide = index == DType::kI64;
  if (bytes == 4) return is_wide ? gather_slices<int64_t, 4> : gather_slices<int32_t, 4>;
  return is_wide ? gather_slices<int64_t, 0> : gather_slices<int32_t, 0>;
}

template <class V>
Status gather(const OpArguments& a, const Team& team) {
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const int axis = int(a.as<GatherAttributes>().axis);
  const int64_t outer = extent_of(data, 0, axis), extent = data.dims[axis],
                count = indices.elements();
  const int64_t bytes = extent_of(data, axis + 1, data.rank) * dtype_bytes(data.dtype);
  if (bytes == 0 || outer == 0) return {};
  bool good = true;
  const GatherSlices slices = gather_of(indices.dtype, bytes);
  const Part mine = part_of(team, outer * count, 1, most_of(1, 16384 / bytes));
  for (int64_t i = mine.begin, n; i < mine.end; i += n) {
    const int64_t first = i % count;
    n = least_of(count - first, mine.end - i);
    good &= slices(indices, first, n, extent, data.as<const char>() + i / count * extent * bytes, 0,
                   bytes, y.as<char>() + i * bytes, bytes);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

template <class V>
Status gather_elements(const OpArguments& a, const Team& team) {
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const int axis = int(a.as<GatherElementsAttributes>().axis), last = data.rank - 1;
  const int64_t bytes = dtype_bytes(data.dtype), inner = extent_of(data, axis + 1, data.rank),
                extent = data.dims[axis], row = indices.dims[last];
  const GatherSlices slices = gather_of(indices.dtype, bytes);
  bool good = true;
  const Part mine = part_of(team, indices.elements(), 16, 2048);
  for (int64_t i = mine.begin, n; i < mine.end; i += n) {
    const int64_t column = i % row;
    n = least_of(row - column, mine.end - i);
    int64_t rest = i / row, stride = data.dims[last];
    int64_t base = axis == last ? 0 : column;  // of the element with position 0 along the axis
    for (int d = last - 1; d >= 0; d--) {
      if (d != axis) base += rest % indices.dims[d] * stride;
      rest /= indices.dims[d];
      stride *= data.dims[d];
    }
    good &= slices(indices, i, n, extent, data.as<const char>() + base * bytes,
                   axis == last ? 0 : bytes, inner * bytes, y.as<char>() + i * bytes, bytes);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

/// Number of the slice that index tuple i names among those behind the indexed dimensions; -1 when
/// outside.
inline int64_t slice_at(const TensorView& data, const TensorView& indices, int64_t i,
                        int batch_dims) {
  const int depth = int(indices.row_length());
  int64_t slice = 0;
  for (int k = 0; k < depth; k++) {
    const int64_t at = index_at(indices, i * depth + k, data.dims[batch_dims + k]);
    if (at < 0) return -1;
    slice = slice * data.dims[batch_dims + k] + at;
  }
  return slice;
}

template <class V>
Status gather_nd(const OpArguments& a, const Team& team) {
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const int batch_dims = int(a.as<GatherNdAttributes>().batch_dims),
            first = batch_dims + int(indices.row_length());
  const int64_t bytes = extent_of(data, first, data.rank) * dtype_bytes(data.dtype);
  const int64_t in_batch = extent_of(indices, batch_dims, indices.rank - 1),
                slices = extent_of(data, batch_dims, first);
  if (bytes == 0 || in_batch == 0) return {};
  bool good = true;
  const Part mine = part_of(team, indices.rows(), 1, most_of(1, 16384 / bytes));
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const int64_t at = slice_at(data, indices, i, batch_dims);
    if (at < 0)
      good = false;
    else
      copy_slice(y.as<char>() + i * bytes,
                 data.as<const char>() + (i / in_batch * slices + at) * bytes, bytes);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
