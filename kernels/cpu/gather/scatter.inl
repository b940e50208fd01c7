// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gather/scatter.inl - ScatterNd, ScatterElements. Contract: runtime/op/gather.h. The
// team copies data; then one member applies the updates in their order, so that repeated indices
// have one meaning.
#pragma once
#include "kernels/cpu/elementwise/convert.inl"
#include "kernels/cpu/gather/combine.inl"
#include "kernels/cpu/gather/gather.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class T>
void combine_run(ScatterReduction r, DType dtype, char* to, const char* from, int64_t n,
                 int64_t bytes) {
  for (int64_t i = 0; i < n; i++) {
    T old, update;
    load_block<T>(dtype, to + i * bytes, 1, &old);
    load_block<T>(dtype, from + i * bytes, 1, &update);
    const T result = combine(r, old, update);
    store_block<T>(dtype, &result, 1, to + i * bytes);
  }
}

/// n updates onto n elements. Floats are combined in double and rounded once, which is what one f32
/// operation gives.
inline void apply_updates(ScatterReduction r, DType dtype, char* to, const char* from, int64_t n) {
  const int64_t bytes = dtype_bytes(dtype);
  if (r == ScatterReduction::kNone) {
    copy_slice(to, from, n * bytes);
    return;
  }
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF64: return combine_run<double>(r, dtype, to, from, n, bytes);
    case DType::kU64: return combine_run<uint64_t>(r, dtype, to, from, n, bytes);
    default: return combine_run<int64_t>(r, dtype, to, from, n, bytes);
  }
}

/// data into y, by all members; true for the one that goes on.
inline bool copy_then_lead(const TensorView& data, const TensorView& y, const Team& team) {
  if (data.data != y.data) {
    const int64_t bytes = data.elements() * dtype_bytes(data.dtype);
    const Part mine = part_of(team, bytes, 64, 16384);
    if (mine.begin < mine.end)
      std::memcpy(y.as<char>() + mine.begin, data.as<const char>() + mine.begin,
                  size_t(mine.end - mine.begin));
    team.join();
  }
  return team.id == 0;
}

template <class V>
Status scatter_nd(const OpArguments& a, const Team& team) {
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &updates = a.inputs[2],
                   &y = a.outputs[0];
  const ScatterReduction r = a.as<ScatterNdAttributes>().reduction;
  if (!copy_then_lead(data, y, team)) return {};
  const int64_t n = extent_of(data, int(indices.row_length()), data.rank),
                bytes = n * dtype_bytes(data.dtype);
  bool good = true;
  for (int64_t i = 0; i < indices.rows(); i++) {
    const int64_t at = slice_at(data, indices, i, 0);
    if (at < 0)
      good = false;
    else
      apply_updates(r, data.dtype, y.as<char>() + at * bytes, updates.as<const char>() + i * bytes,
                    n);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

template <class V>
Status scatter_elements(const OpArguments& a, const Team& team) {
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &updates = a.inputs[2],
                   &y = a.outputs[0];
  const ScatterElementsAttributes& t = a.as<ScatterElementsAttributes>();
  if (!copy_then_lead(data, y, team)) return {};
  const int axis = int(t.axis);
  const int64_t bytes = dtype_bytes(data.dtype), inner = extent_of(data, axis + 1, data.rank),
                extent = data.dims[axis];
  bool good = true;
  for (int64_t i = 0; i < indices.elements(); i++) {
    int64_t rest = i, stride = 1, base = 0;
    for (int d = data.rank - 1; d >= 0; d--) {
      if (d != axis) base += rest % indices.dims[d] * stride;
      rest /= indices.dims[d];
      stride *= data.dims[d];
    }
    const int64_t at = index_at(indices, i, extent);
    if (at < 0)
      good = false;
    else
      apply_updates(t.reduction, data.dtype, y.as<char>() + (base + at * inner) * bytes,
                    updates.as<const char>() + i * bytes, 1);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
