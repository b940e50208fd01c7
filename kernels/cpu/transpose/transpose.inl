// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/transpose/transpose.inl - Transpose. Contract: runtime/op/transpose.h.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "runtime/op/transpose.h"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class V>
Status transpose(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const TransposeAttributes& t = a.as<TransposeAttributes>();
  Move m;
  m.bytes = dtype_bytes(x.dtype);
  for (int i = 0; i < y.rank; i++) m.push(y.dims[i], stride_of(x, t.perm[i]), stride_of(y, i));
  merge_and_run<V>(&m, x.data, y.data, team);
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
