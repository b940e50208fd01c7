// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/reduce/folds.inl - one accumulation in f32: start value, step in vectors, combination
// of two lanes. Device code as well.
#pragma once
#include "kernels/cpu/simd/math.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class V>
struct FoldSum {
  static constexpr float kStart = 0;
  static INGOT_INLINE typename V::F step(typename V::F a, typename V::F x, typename V::F) {
    return V::add(a, x);
  }
  static INGOT_INLINE float join(float a, float b) { return a + b; }
  static INGOT_INLINE typename V::F join_lanes(typename V::F a, typename V::F b) {
    return V::add(a, b);
  }
};
template <class V>
struct FoldL1 : FoldSum<V> {
  static INGOT_INLINE typename V::F step(typename V::F a, typename V::F x, typename V::F) {
    return V::add(a, V::abs(x));
  }
};
template <class V>
struct FoldSquare : FoldSum<V> {
  static INGOT_INLINE typename V::F step(typename V::F a, typename V::F x, typename V::F) {
    return V::fma(x, x, a);
  }
};
template <class V>
struct FoldExp : FoldSum<V> {
  static INGOT_INLINE typename V::F step(typename V::F a, typename V::F x, typename V::F shift) {
    return V::add(a, Math<V>::exp_flush(V::sub(x, shift)));
  }
};
template <class V>
struct FoldMax {
  static constexpr float kStart = -__builtin_inff();
  static INGOT_INLINE typename V::F step(typename V::F a, typename V::F x, typename V::F) {
    return V::select(V::unordered(a, a), a, V::max(a, x));  // NaN stays
  }
  static INGOT_INLINE float join(float a, float b) { return a > b || a != a ? a : b; }
  static INGOT_INLINE typename V::F join_lanes(typename V::F a, typename V::F b) {
    return step(a, b, b);
  }
};
template <class V>
struct FoldMin {
  static constexpr float kStart = __builtin_inff();
  static INGOT_INLINE typename V::F step(typename V::F a, typename V::F x, typename V::F) {
    return V::select(V::unordered(a, a), a, V::min(a, x));  // NaN stays
  }
  static INGOT_INLINE float join(float a, float b) { return a < b || a != a ? a : b; }
  static INGOT_INLINE typename V::F join_lanes(typename V::F a, typename V::F b) {
    return step(a, b, b);
  }
};
template <class V>
struct FoldProd {
  static constexpr float kStart = 1;
  static INGOT_INLINE typename V::F step(typename V::F a, typename V::F x, typename V::F) {
    return V::mul(a, x);
  }
  static INGOT_INLINE float join(float a, float b) { return a * b; }
  static INGOT_INLINE typename V::F join_lanes(typename V::F a, typename V::F b) {
    return V::mul(a, b);
  }
};

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
