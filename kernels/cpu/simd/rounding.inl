// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/rounding.inl - rounding to whole numbers for instruction sets that have no
// instruction for it: V has with_sign(magnitude, sign).
#pragma once
#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {

/// Adding 2^23 rounds at the unit; larger magnitudes are integers already.
template <class V>
INGOT_INLINE typename V::F rounded(typename V::F a) {
  const auto magnitude = V::abs(a), unit = V::splat(8388608.0f);
  const auto whole = V::sub(V::add(magnitude, unit), unit);
  return V::select(V::lt(magnitude, unit), V::with_sign(whole, a), a);
}
template <class V>
INGOT_INLINE typename V::F rounded_down(typename V::F a) {
  const auto r = rounded<V>(a);
  return V::select(V::gt(r, a), V::sub(r, V::splat(1.0f)), r);
}
template <class V>
INGOT_INLINE typename V::F rounded_up(typename V::F a) {
  const auto r = rounded<V>(a);
  return V::select(V::lt(r, a), V::with_sign(V::abs(V::add(r, V::splat(1.0f))), a), r);
}
template <class V>
INGOT_INLINE typename V::F truncated(typename V::F a) {
  const auto magnitude = V::abs(a), r = rounded<V>(magnitude);
  return V::with_sign(V::select(V::gt(r, magnitude), V::sub(r, V::splat(1.0f)), r), a);
}

}  // namespace
}  // namespace ingot::cpu
