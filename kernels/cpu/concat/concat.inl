// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/concat/concat.inl - Concat. Contract: runtime/op/concat.h.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "runtime/op/concat.h"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class V>
Status concat(const OpArguments& a, const Team& team) {
  const TensorView& y = a.outputs[0];
  const int axis = int(a.as<ConcatAttributes>().axis);
  const int64_t axis_stride = stride_of(y, axis);
  int64_t start = 0;
  for (int k = 0; k < a.input_count; k++) {
    const TensorView& x = a.inputs[k];
    Move m;
    m.bytes = dtype_bytes(x.dtype);
    for (int i = 0; i < x.rank; i++) m.push(x.dims[i], stride_of(x, i), stride_of(y, i));
    merge_and_run<V>(&m, x.data, y.as<char>() + start * axis_stride * m.bytes, team);
    start += x.dims[axis];
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
