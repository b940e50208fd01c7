// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/lookup.inl - a function of one quantized number by its table. Contract:
// runtime/op/lookup.h.
#pragma once
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/lookup.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// y may be x.
template <class V>
void lookup_run(const typename V::Table& from, const uint8_t* x, uint8_t* y, int64_t n) {
  const typename V::Table table = from;  // which no store of bytes can change
  int64_t i = 0;
  for (; i + V::kBytes <= n; i += V::kBytes) V::bstore(y + i, V::blookup(table, V::bload(x + i)));
  if (i < n) V::bstore_partial(y + i, V::blookup(table, V::bload_partial(x + i, n - i)), n - i);
}

template <class V>
Status lookup(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  if (x.dtype == DType::kI16) {
    const int16_t* const words = a.inputs[1].as<const int16_t>() + 32768;
    for_runs(team, x, y, [&](int64_t from, int64_t to, int64_t n) {
      const int16_t* const p = x.as<const int16_t>() + from;
      int16_t* const q = y.as<int16_t>() + to;
      for (int64_t i = 0; i < n; i++) q[i] = words[p[i]];
    });
    return {};
  }
  const typename V::Table table = V::btable(a.inputs[1].as<const uint8_t>());
  for_runs(team, x, y, [&](int64_t from, int64_t to, int64_t n) {
    lookup_run<V>(table, x.as<const uint8_t>() + from, y.as<uint8_t>() + to, n);
  });
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
