// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/lockstep.inl - several vectors that go through a function step by step together.
// Math<V> is one long chain; a processor's scheduler holds two or three of them, four in lockstep
// keep its units busy. The same bits as one after another.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {

template <int... I>
struct Indices {};
template <int n, int... I>
struct MakeIndices : MakeIndices<n - 1, n - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
  using Type = Indices<I...>;
};

/// What Math needs for exponentials, sigmoid, tanh, silu, mish and both gelus; F and I hold one
/// vector for each of the indices.
template <class V, class Together>
struct LockstepOf;
template <class V, int... I>
struct LockstepOf<V, Indices<I...>> {
  struct F {
    typename V::F v[sizeof...(I)];
  };
  struct Whole {
    typename V::I v[sizeof...(I)];
  };

  static INGOT_INLINE F splat(float x) { return {{(void(I), V::splat(x))...}}; }
  static INGOT_INLINE F zero() { return {{(void(I), V::zero())...}}; }
  static INGOT_INLINE Whole isplat(int32_t x) { return {{(void(I), V::isplat(x))...}}; }
  static INGOT_INLINE F add(F a, F b) { return {{V::add(a.v[I], b.v[I])...}}; }
  static INGOT_INLINE F sub(F a, F b) { return {{V::sub(a.v[I], b.v[I])...}}; }
  static INGOT_INLINE F mul(F a, F b) { return {{V::mul(a.v[I], b.v[I])...}}; }
  static INGOT_INLINE F div(F a, F b) { return {{V::div(a.v[I], b.v[I])...}}; }
  static INGOT_INLINE F fma(F a, F b, F c) { return {{V::fma(a.v[I], b.v[I], c.v[I])...}}; }
#if defined(INGOT_UNFUSED)
  static INGOT_INLINE F fma_once(F a, F b, F c) {
    return {{V::fma_once(a.v[I], b.v[I], c.v[I])...}};
  }
#endif
#if defined(INGOT_SIMD_AVX512)
  static INGOT_INLINE F round(F a) { return {{V::round(a.v[I])...}}; }
  template <bool may_overflow>
  static INGOT_INLINE F scale(F a, F n) {
    return {{V::template scale<may_overflow>(a.v[I], n.v[I])...}};
  }
#endif
  static INGOT_INLINE F max(F a, F b) { return {{V::max(a.v[I], b.v[I])...}}; }
  static INGOT_INLINE F min(F a, F b) { return {{V::min(a.v[I], b.v[I])...}}; }
  static INGOT_INLINE F limit(F low, F high, F a) {
    return {{V::limit(low.v[I], high.v[I], a.v[I])...}};
  }
  static INGOT_INLINE F abs(F a) { return {{V::abs(a.v[I])...}}; }
  static INGOT_INLINE F neg(F a) { return {{V::neg(a.v[I])...}}; }
  static INGOT_INLINE F bit_and(F a, F b) { return {{V::bit_and(a.v[I], b.v[I])...}}; }
  static INGOT_INLINE F bit_or(F a, F b) { return {{V::bit_or(a.v[I], b.v[I])...}}; }
  static INGOT_INLINE Whole as_int(F a) { return {{V::as_int(a.v[I])...}}; }
  static INGOT_INLINE F as_float(Whole a) { return {{V::as_float(a.v[I])...}}; }
  static INGOT_INLINE Whole iadd(Whole a, Whole b) { return {{V::iadd(a.v[I], b.v[I])...}}; }
  static INGOT_INLINE Whole isub(Whole a, Whole b) { return {{V::isub(a.v[I], b.v[I])...}}; }
  template <int n>
  static INGOT_INLINE Whole ishl(Whole a) {
    return {{V::template ishl<n>(a.v[I])...}};
  }
  /// Vectors from p and to there: `columns` that follow each other, of rows a stride apart.
  template <int columns>
  static INGOT_INLINE F load(const float* p, int64_t stride) {
    return {{V::load(p + I / columns * stride + I % columns * V::kLanes)...}};
  }
  template <int columns>
  static INGOT_INLINE void store(float* p, int64_t stride, F a) {
    (V::store(p + I / columns * stride + I % columns * V::kLanes, a.v[I]), ...);
  }
};

/// The spellings of struct V, as far as Math takes them.
template <class V, int count>
struct Lockstep : LockstepOf<V, typename MakeIndices<count>::Type> {
  using I = typename LockstepOf<V, typename MakeIndices<count>::Type>::Whole;
  using M = bool;  // nothing that Lockstep is for compares
};

}  // namespace
}  // namespace ingot::cpu
