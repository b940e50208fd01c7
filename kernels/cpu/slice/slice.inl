// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/slice/slice.inl - Slice. Contract: runtime/op/slice.h.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "runtime/op/slice.h"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class V>
Status slice(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const SliceAttributes& t = a.as<SliceAttributes>();
  Move m;
  m.bytes = dtype_bytes(x.dtype);
  int64_t start = 0;
  for (int i = 0; i < x.rank; i++) {
    if (y.dims[i] == 0) return {};
    const int64_t stride = stride_of(x, i);
    start += t.starts[i] * stride;
    m.push(y.dims[i], y.dims[i] == 1 ? 0 : t.steps[i] * stride, stride_of(y, i));
  }
  merge_and_run<V>(&m, x.as<const char>() + start * m.bytes, y.data, team);
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
