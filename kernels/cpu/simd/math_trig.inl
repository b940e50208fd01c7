// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/math_trig.inl - circular and hyperbolic functions and their inverses; same rules
// as math.inl.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/cpu/simd/math.inl"

namespace ingot::cpu {
namespace {

/// x modulo pi/2 for |x| >= 2^15 by whole numbers: the quadrant, and the rest in [-pi/4, pi/4]. The
/// product of the mantissa with a window of 2/pi, of which the multiples of four turns are left
/// out.
INGOT_INLINE float reduce_large_angle(float x, int32_t* quadrant) {
  const uint32_t kTwoOverPi[8] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                  0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const uint32_t exponent = bits >> 23 & 0xff;
  if (exponent == 0xff) {  // infinity, NaN
    *quadrant = 0;
    return x - x;
  }
  const uint64_t mantissa = (bits & 0x7fffff) | 0x800000;
  // |x| = mantissa * 2^(exponent - 150); two bits of whole quadrants stay
  const uint32_t skip = exponent - 152;
  // @pre exponent >= 152 for the window; below it the window starts before the table, in zeros.
  uint32_t window[3];
  for (int i = 0; i < 3; i++) {
    const int64_t first = int64_t(int32_t(skip)) + 32 * i;
    uint32_t word = 0;
    for (int b = 0; b < 32; b++) {
      const int64_t at = first + b;
      const uint32_t bit = at < 0 || at >= 256 ? 0 : kTwoOverPi[at >> 5] >> (31 - (at & 31)) & 1;
      word = word << 1 | bit;
    }
    window[i] = word;
  }
  const uint64_t turns =
      ((mantissa * window[0]) << 32) + mantissa * window[1] + (mantissa * window[2] >> 32);
  const uint64_t rounded = turns + (uint64_t{1} << 61);
  const int64_t rest = int64_t(turns << 2);  // of a quadrant, in units of 2^-64
  const float r = float(rest) * 8.51530395e-20f;
  *quadrant = int32_t(rounded >> 62);
  if (bits >> 31) {
    *quadrant = -*quadrant;
    return -r;
  }
  return r;
}

template <class V>
struct Trig : Math<V> {
  using Base = Math<V>;
  using F = typename V::F;
  using I = typename V::I;
  using M = typename V::M;
  using Base::c;
  using Base::copy_sign;
  using Base::poly;

  static INGOT_INLINE F reduce_angle(F x, I* quadrant) {
    F whole = Base::nearest(V::mul(x, c(0.636619747f)), quadrant);
    F r = Base::once(whole, c(-1.57079637f), x);
    r = Base::once(whole, c(4.37113883e-08f), r);
    r = Base::once(whole, c(1.71512451e-15f), r);
    const M large = V::mask_not(V::lt(V::abs(x), c(32768.0f)));
    if (__builtin_expect(V::any(large), 0)) {
      float xs[V::kLanes], rs[V::kLanes];
      int32_t qs[V::kLanes];
      V::store(xs, x);
      V::store(rs, r);
      V::istore(qs, *quadrant);
      for (int i = 0; i < V::kLanes; i++)
        if (!(__builtin_fabsf(xs[i]) < 32768.0f)) rs[i] = reduce_large_angle(xs[i], &qs[i]);
      r = V::load(rs);
      *quadrant = V::iload(qs);
    }
    return r;
  }
  static INGOT_INLINE F sin_core(F r) {
    const F s = V::mul(r, r);
    return V::fma(
        V::mul(poly(s, -0.166666672f, 0.00833332911f, -0.000198393114f, 2.71811405e-06f), s), r, r);
  }
  static INGOT_INLINE F cos_core(F r) {
    const F s = V::mul(r, r);
    const F p = poly(s, 0.0416666456f, -0.00138873153f, 2.44330822e-05f);
    return V::fma(V::mul(p, s), s, V::fma(s, c(-0.5f), c(1.0f)));
  }
  /// sin(r + quadrant * pi / 2).
  static INGOT_INLINE F sin_of(F r, I quadrant) {
    const M odd = V::ieq(V::iand(quadrant, V::isplat(1)), V::isplat(1));
    const F y = V::select(odd, cos_core(r), sin_core(r));
    return V::as_float(
        V::ixor(V::as_int(y), V::template ishl<30>(V::iand(quadrant, V::isplat(2)))));
  }
  static INGOT_INLINE F sin(F x) {
    I q;
    const F r = reduce_angle(x, &q);
    return V::select(V::eq(x, V::zero()), x, sin_of(r, q));
  }
  static INGOT_INLINE F cos(F x) {
    I q;
    const F r = reduce_angle(x, &q);
    return sin_of(r, V::iadd(q, V::isplat(1)));
  }
  static INGOT_INLINE F tan(F x) {
    I q;
    const F r = reduce_angle(x, &q);
    const M odd = V::ieq(V::iand(q, V::isplat(1)), V::isplat(1));
    const F s = sin_core(r), k = cos_core(r);
    const F y = V::div(V::select(odd, V::neg(k), s), V::select(odd, s, k));
    return V::select(V::eq(x, V::zero()), x, y);
  }

  static INGOT_INLINE F atan_core(F z) {  // |z| <= 1
    const F s = V::mul(z, z);
    const F p = poly(s, -0.333332986f, 0.199985489f, -0.142642409f, 0.109521851f, -0.0840344802f,
                     0.0579575449f, -0.0311777927f, 0.0109145753f, -0.00179361436f);
    return V::fma(V::mul(p, s), z, z);
  }
  static INGOT_INLINE F atan(F x) {
    const F a = V::abs(x);
    const M big = V::gt(a, c(1.0f));
    const F t = atan_core(V::select(big, V::div(c(-1.0f), a), a));
    return copy_sign(V::select(big, V::add(V::add(t, c(-4.37113883e-08f)), c(1.57079637f)), t), x);
  }
  /// The angle of the point (x, y), as C has it, the infinities included.
  static INGOT_INLINE F atan2(F y, F x) {
    const F ax = V::abs(x), ay = V::abs(y);
    const F inf = c(__builtin_inff());
    const M steep = V::gt(ay, ax);
    const F low = V::select(steep, ax, ay), high = V::select(steep, ay, ax);
    F z = V::div(low, high);
    z = V::select(V::eq(low, inf), c(1.0f), z);
    z = V::select(V::eq(high, V::zero()), V::zero(), z);
    F t = atan_core(z);
    t = V::select(steep, V::add(V::sub(c(-4.37113883e-08f), t), c(1.57079637f)), t);
    const M left = V::igt(V::isplat(0), V::as_int(x));  // the sign bit: -0 is left of the origin
    t = V::select(left, V::add(V::sub(c(-8.74227766e-08f), t), c(3.14159274f)), t);
    return V::select(V::unordered(x, y), V::add(x, y), copy_sign(t, y));
  }
  /// asin(z) / z - 1, over z^2 <= 1/4.
  static INGOT_INLINE F asin_tail(F s) {
    return V::mul(poly(s, 0.166666597f, 0.0750050396f, 0.0445169546f, 0.0318077169f, 0.0144386003f,
                       0.0375164635f),
                  s);
  }
  static INGOT_INLINE F asin(F x) {
    const F a = V::abs(x);
    const F near = V::fma(asin_tail(V::mul(a, a)), a, a);
    const F half = V::mul(V::sub(c(1.0f), a), c(0.5f)), root = V::sqrt(half);
    const F far = V::fma(V::fma(asin_tail(half), root, root), c(-2.0f), c(1.57079637f));
    return copy_sign(V::select(V::lt(a, c(0.5f)), near, far), x);
  }
  static INGOT_INLINE F acos(F x) {
    const F a = V::abs(x);
    const F near =
        V::sub(c(1.57079637f), V::fma(asin_tail(V::mul(a, a)), x, V::add(x, c(4.37113883e-08f))));
    const F half = V::mul(V::sub(c(1.0f), a), c(0.5f)), root = V::sqrt(half);
    const F far = V::fma(asin_tail(half), root, root);  // acos(|x|) / 2
    const F right = V::mul(far, c(2.0f)), left = V::fma(far, c(-2.0f), c(3.14159274f));
    return V::select(V::lt(a, c(0.5f)), near, V::select(V::lt(x, V::zero()), left, right));
  }

  static INGOT_INLINE F sinh(F x) {
    const F a = V::abs(x);
    const F t = Base::expm1(V::min(c(20.0f), a));
    const F near = V::mul(c(0.5f), V::add(t, V::div(t, V::add(t, c(1.0f)))));
    return copy_sign(V::select(V::lt(a, c(20.0f)), near, Base::exp_scaled(a, -1)), x);
  }
  static INGOT_INLINE F cosh(F x) {
    const F half = Base::exp_scaled(V::abs(x), -1);  // e^|x| / 2
    return V::add(half, V::div(c(0.25f), half));
  }
  static INGOT_INLINE F asinh(F x) {
    const F a = V::abs(x);
    const F root = V::sqrt(V::fma(a, a, c(1.0f)));
    const F near = Base::log1p(V::add(a, V::div(V::mul(a, a), V::add(root, c(1.0f)))));
    const F far = V::add(Base::log(a), c(0.693147182f));
    return copy_sign(V::select(V::lt(a, c(1e9f)), near, far), x);
  }
  static INGOT_INLINE F acosh(F x) {
    const F t = V::sub(x, c(1.0f));
    const F near = Base::log1p(V::add(t, V::sqrt(V::fma(t, t, V::mul(t, c(2.0f))))));
    const F far = V::add(Base::log(x), c(0.693147182f));
    return V::select(V::lt(x, c(1.0f)), c(__builtin_nanf("")),
                     V::select(V::gt(x, c(1e9f)), far, near));
  }
  static INGOT_INLINE F atanh(F x) {
    const F a = V::abs(x);
    const F y = V::mul(c(0.5f), Base::log1p(V::div(V::mul(a, c(2.0f)), V::sub(c(1.0f), a))));
    return copy_sign(y, x);
  }
};

}  // namespace
}  // namespace ingot::cpu
