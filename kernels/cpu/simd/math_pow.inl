// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/math_pow.inl - x^y and the remainders; same rules as math.inl.
#pragma once
#include "kernels/cpu/simd/math.inl"

namespace ingot::cpu {
namespace {

template <class V>
struct Power : Math<V> {
  using Base = Math<V>;
  using F = typename V::F;
  using I = typename V::I;
  using M = typename V::M;
  using Base::c;

  /// e^(y ln|x|) with the logarithm as a sum of two floats, so that large exponents keep their
  /// digits; special cases as in C.
  static INGOT_INLINE F pow(F x, F y) {
    const F one = c(1.0f), zero = V::zero(), inf = c(__builtin_inff()), nan = c(__builtin_nanf(""));
    const F a = V::abs(x);
    const M small = V::lt(a, c(1.17549435e-38f));
    const I bits = V::as_int(V::select(small, V::mul(a, c(8388608.0f)), a));
    const I e = V::template isar<23>(V::isub(bits, V::isplat(0x3f3504f3)));
    const F m = V::as_float(V::isub(bits, V::template ishl<23>(e)));
    const F k = V::sub(V::to_float(e), V::select(small, c(23.0f), zero));
    // ln(m) = 2 atanh(s), s = (m - 1) / (m + 1) = s + s_low
    const F f = V::sub(m, one), d = V::add(m, one), d_low = V::sub(m, V::sub(d, one));
    const F s = V::div(f, d);
    const F s_low = V::div(V::fma(V::neg(s), d_low, Base::once(V::neg(s), d, f)), d);
    const F s2 = V::mul(s, s);
    const F q = V::mul(
        V::mul(Base::poly(s2, 0.333333313f, 0.200001687f, 0.142685801f, 0.117926128f), s2), s);
    const F log_high = V::add(s, s), log_low = V::mul(c(2.0f), V::add(s_low, q));
    // + k ln(2), then the product with y, both with their rounding errors kept
    const F kh = V::mul(k, c(0.693145752f));  // exact: 13 bits times 9
    const F sum = V::add(kh, log_high);
    const F rest = V::add(V::select(V::eq(k, zero), zero, V::sub(log_high, V::sub(sum, kh))),
                          V::fma(k, c(1.42860677e-6f), log_low));
    const F high = V::add(sum, rest), low = V::sub(rest, V::sub(high, sum));
    const F p = V::mul(y, high);
    const F p_low = V::fma(y, low, Base::once(y, high, V::neg(p)));
    const F raw = Base::exp(p);
    F result = V::select(V::lt(raw, inf), V::fma(raw, p_low, raw), raw);
    // where the logarithm is infinite or the product has no rest
    const M grows = V::mask_xor(V::gt(a, one), V::lt(y, zero));
    const M extreme = V::mask_or(V::mask_or(V::eq(a, zero), V::eq(a, inf)),
                                 V::mask_or(V::eq(V::abs(y), inf), V::gt(V::abs(p), c(200.0f))));
    result = V::select(extreme, V::select(grows, inf, zero), result);
    result = V::select(V::eq(a, one), one, result);
    // the sign of a negative base
    const F y_half = V::mul(y, c(0.5f));
    const M integer = V::eq(V::trunc(y), y), even = V::eq(V::trunc(y_half), y_half);
    const M negative = V::igt(V::isplat(0), V::as_int(x));
    result = V::select(V::mask_and(negative, V::mask_and(integer, V::mask_not(even))),
                       V::neg(result), result);
    const M no_root = V::mask_and(V::mask_and(V::lt(x, zero), V::lt(a, inf)), V::mask_not(integer));
    result = V::select(no_root, nan, result);
    result = V::select(V::unordered(x, y), nan, result);
    return V::select(V::mask_or(V::eq(y, zero), V::eq(x, one)), one, result);
  }

  /// The remainder with the sign of the dividend, exact for every pair.
  static INGOT_INLINE F fmod(F x, F y) {
    float xs[V::kLanes], ys[V::kLanes];
    V::store(xs, x);
    V::store(ys, y);
    for (int i = 0; i < V::kLanes; i++) xs[i] = __builtin_fmodf(xs[i], ys[i]);
    return V::load(xs);
  }
  /// The remainder with the sign of the divisor.
  static INGOT_INLINE F mod(F x, F y) {
    const F r = fmod(x, y);
    const M other_side = V::mask_and(V::mask_not(V::eq(r, V::zero())),
                                     V::mask_xor(V::lt(r, V::zero()), V::lt(y, V::zero())));
    return V::select(other_side, V::add(r, y), r);
  }
};

}  // namespace
}  // namespace ingot::cpu
