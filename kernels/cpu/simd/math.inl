// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/math.inl - Ingot's own elementary functions over struct V: only add, mul, fma,
// div, sqrt, compares and bit operations, each exact or correctly rounded everywhere, so that every
// instruction set gives the same bits.
// Errors  a few ulp over the whole range, by function in tests/kernels/math_test.cpp. Special
//         values as in C, NaN stays
// NaN. Polynomials are our own weighted minimax fits (kernels/cpu/simd/fit.py), lowest power first.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd/inline.h"

// Of e^r - 1 = r + r^2 p(r), and of log2 of gelu's tail, p(|x|); also read by exp_neon.inl.
#define INGOT_EXPM1_COEFFICIENTS \
  0.49999994f, 0.166665196f, 0.0416684039f, 0.00836889911f, 0.00138142216f
#define INGOT_GELU_COEFFICIENTS                                                                 \
  -0.999999881f, -1.15111291f, -0.459142447f, -0.0526971854f, 0.00734483032f, -0.000332735857f, \
      -0.000120977718f, 3.23493332e-05f, -3.93212349e-06f, 2.68299544e-07f, -9.86968107e-09f,   \
      1.52449164e-10f

namespace ingot::cpu {
namespace {

template <class V>
struct Math {
  using F = typename V::F;
  using I = typename V::I;
  using M = typename V::M;

  static INGOT_INLINE F c(float x) { return V::splat(x); }

  template <class... Rest>
  static INGOT_INLINE F poly(F x, float lowest, Rest... rest) {
    if constexpr (sizeof...(rest) == 0) {
      (void)x;
      return c(lowest);
    } else {
      return V::fma(poly(x, rest...), x, c(lowest));
    }
  }

  /// a * b + c where what is left of a product counts: rounded once, on sse2 too (in double).
  static INGOT_INLINE F once(F a, F b, F c) {
#if defined(INGOT_UNFUSED)
    return V::fma_once(a, b, c);
#else
    return V::fma(a, b, c);
#endif
  }

  /// a limited to [low, high], neither of them zero; NaN stays.
  static INGOT_INLINE F clamp(F a, float low, float high) {
#if defined(INGOT_SIMD_NEON)
    return V::limit(c(low), c(high), a);
#else
    return V::max(c(low), V::min(c(high), a));
#endif
  }
  static INGOT_INLINE F copy_sign(F magnitude, F sign) {
    const F bit = c(-0.0f);
    return V::bit_or(V::abs(magnitude), V::bit_and(sign, bit));
  }
  /// 2^n for -127 <= n <= 128, the ends being 0 and infinity.
  static INGOT_INLINE F power_of_two(I n) {
    return V::as_float(V::template ishl<23>(V::iadd(n, V::isplat(127))));
  }
  /// The integer nearest to x, |x| < 2^22, as float and as int.
  static INGOT_INLINE F nearest(F x, I* n) {
    // 1.5 * 2^23: adding it leaves the integer in the low bits
    constexpr float kMagic = 12582912.0f;
    const F shifted = V::add(x, c(kMagic));
    *n = V::isub(V::as_int(shifted), V::as_int(c(kMagic)));
    return V::sub(shifted, c(kMagic));
  }
  /// e^r - 1 for |r| <= ln(2) / 2.
  static INGOT_INLINE F expm1_core(F r) {
    const F q = poly(r, INGOT_EXPM1_COEFFICIENTS);
    return V::fma(V::mul(q, r), r, r);
  }
  /// x = n ln(2) + r.
  static INGOT_INLINE F reduce_exp(F x, I* n) {
    const F whole = nearest(V::mul(x, c(1.44269504f)), n);
    return once(whole, c(1.90465430e-9f), once(whole, c(-0.693147182f), x));
  }

  /// e^x 2^shift, with infinities and subnormals as they should be.
  static INGOT_INLINE F exp_scaled(F x, int shift) {
    I n;
    const F r = reduce_exp(clamp(x, -105.0f, 90.0f), &n);
    n = V::iadd(n, V::isplat(shift));
    const I half = V::template isar<1>(n);
    const F e = V::add(expm1_core(r), c(1.0f));
    return V::mul(V::mul(e, power_of_two(half)), power_of_two(V::isub(n, half)));
  }
  static INGOT_INLINE F exp(F x) { return exp_scaled(x, 0); }
  /// e^x where results below 2^-126.5 are zero and above 2^127.5 infinite: softmax, sigmoid.
  static INGOT_INLINE F exp_flush(F x) {
#if defined(INGOT_SIMD_AVX512)  // scales by itself: no limits, what leaves them is masked
    const F whole = V::round(V::mul(x, c(1.44269504f)));
    const F r = V::fma(whole, c(1.90465430e-9f), V::fma(whole, c(-0.693147182f), x));
    return V::template scale<true>(V::add(expm1_core(r), c(1.0f)), whole);
#else
    I n;
    const F r = reduce_exp(clamp(x, -88.0f, 89.0f), &n);
    return V::mul(V::add(expm1_core(r), c(1.0f)), power_of_two(n));
#endif
  }
  /// 2^x for -127 <= x <= 127, flushed below.
  static INGOT_INLINE F exp2_flush(F x) {
#if defined(INGOT_SIMD_AVX512)
    const F whole = V::round(x), r = V::mul(V::sub(x, whole), c(0.693147182f));
    return V::template scale<false>(V::add(expm1_core(r), c(1.0f)), whole);
#else
    I n;
    const F whole = nearest(x, &n);
    const F r = V::mul(V::sub(x, whole), c(0.693147182f));
    return V::mul(V::add(expm1_core(r), c(1.0f)), power_of_two(n));
#endif
  }
  static INGOT_INLINE F expm1(F x) {
    I n;
    const F r = reduce_exp(clamp(x, -40.0f, 88.0f), &n);
    const F s = power_of_two(n);
    const F near = V::fma(expm1_core(r), s, V::sub(s, c(1.0f)));
    return V::select(V::gt(x, c(87.0f)), exp(x), V::select(V::eq(x, V::zero()), x, near));
  }

  /// ln(x).
  static INGOT_INLINE F log(F x) {
    const M small = V::lt(x, c(1.17549435e-38f));
    const F normal = V::select(small, V::mul(x, c(8388608.0f)), x);
    const I bits = V::as_int(normal);
    const I e = V::template isar<23>(V::isub(bits, V::isplat(0x3f3504f3)));
    const F f = V::sub(V::as_float(V::isub(bits, V::template ishl<23>(e))), c(1.0f));
    const F k = V::sub(V::to_float(e), V::select(small, c(23.0f), V::zero()));
    const F p = poly(f, 0.333333135f, -0.250000089f, 0.200021327f, -0.166680276f, 0.142192528f,
                     -0.124047779f, 0.118897103f, -0.11681623f, 0.0675051883f);
    F tail = V::mul(V::mul(f, f), V::fma(p, f, c(-0.5f)));
    tail = V::fma(k, c(-1.90465430e-9f), tail);
    F y = once(k, c(0.693147182f), V::add(f, tail));
    y = V::select(V::lt(x, c(__builtin_inff())), y, x);  // infinity and NaN
    y = V::select(V::lt(x, V::zero()), c(__builtin_nanf("")), y);
    return V::select(V::eq(x, V::zero()), c(-__builtin_inff()), y);
  }
  /// ln(1 + x): the logarithm of the rounded sum, corrected for the rounding.
  static INGOT_INLINE F log1p(F x) {
    const F u = V::add(x, c(1.0f));
    const F d = V::sub(u, c(1.0f));
    const F y = V::mul(log(u), V::div(x, d));
    return V::select(V::eq(d, V::zero()), x, V::select(V::lt(u, c(__builtin_inff())), y, log(u)));
  }

  static INGOT_INLINE F reciprocal(F x) { return V::div(c(1.0f), x); }
  static INGOT_INLINE F sigmoid(F x) { return reciprocal(V::add(exp_flush(V::neg(x)), c(1.0f))); }
  static INGOT_INLINE F silu(F x) { return V::div(x, V::add(exp_flush(V::neg(x)), c(1.0f))); }
  /// t / (t + 2) with t = e^(2|x|) - 1.
  static INGOT_INLINE F tanh(F x) {
    const F doubled = V::min(c(20.0f), V::mul(V::abs(x), c(2.0f)));
    I n;
    const F r = reduce_exp(doubled, &n);
    const F s = power_of_two(n);
    const F t = V::fma(expm1_core(r), s, V::sub(s, c(1.0f)));
    return copy_sign(V::div(t, V::add(t, c(2.0f))), x);
  }
  /// Near zero a polynomial, beyond 1 - 2^p(|x|).
  static INGOT_INLINE F erf(F x) {
    const F a = V::abs(x), s = V::mul(x, x);
    const F near = V::fma(poly(s, 0.128379166f, -0.376126319f, 0.112836875f, -0.0268589426f,
                               0.00519990968f, -0.00081300392f, 8.31686775e-05f),
                          x, x);
    const F t = V::min(c(4.1f), a);
    const F p = poly(t, 0.000252014783f, -1.62954557f, -0.913726449f, -0.156215131f, 0.0362396613f,
                     -0.00601756712f, 0.000626795983f, -3.04336281e-05f);
    const F far = copy_sign(V::sub(c(1.0f), exp2_flush(p)), x);
    return V::select(V::lt(a, c(0.925f)), near, far);
  }
  /// x Phi(x) = max(x, 0) - |x| 2^p(|x|), p fitted to log2 of the tail: no division. Absolute error
  /// 2e-7.
  static INGOT_INLINE F gelu(F x) {
    const F t = V::min(c(13.3f), V::abs(x));
    const F p = poly(t, INGOT_GELU_COEFFICIENTS);
    return V::fma(V::neg(t), exp2_flush(V::max(c(-127.0f), p)), V::max(V::zero(), x));
  }
  /// x / (1 + e^(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
  static INGOT_INLINE F gelu_tanh(F x) {
    const F cubic = V::fma(V::mul(x, x), c(-0.0713548127f), c(-1.59576917f));
    return V::div(x, V::add(exp_flush(V::mul(cubic, x)), c(1.0f)));
  }
  static INGOT_INLINE F softplus(F x) {
    return V::add(V::max(V::zero(), x), log1p(exp_flush(V::neg(V::abs(x)))));
  }
  /// x tanh(softplus(x)) = x n / (n + 2), n = e^x (e^x + 2).
  static INGOT_INLINE F mish(F x) {
    const F e = exp_flush(V::min(c(20.0f), x));
    const F n = V::mul(e, V::add(e, c(2.0f)));
    return V::mul(x, V::div(n, V::add(n, c(2.0f))));
  }
  static INGOT_INLINE F relu(F x) { return V::max(V::zero(), x); }
  /// The first operand is the limit, so that NaN stays.
  static INGOT_INLINE F clip(F x, F low, F high) { return V::min(high, V::max(low, x)); }
  static INGOT_INLINE F hard_sigmoid(F x, F alpha, F beta) {
    return clip(V::fma(x, alpha, beta), V::zero(), c(1.0f));
  }
  static INGOT_INLINE F hard_swish(F x) {
    return V::mul(x, hard_sigmoid(x, c(0.166666672f), c(0.5f)));
  }
  static INGOT_INLINE F leaky_relu(F x, F alpha) {
    return V::select(V::lt(x, V::zero()), V::mul(x, alpha), x);
  }
  static INGOT_INLINE F elu(F x, F alpha) {
    return V::select(V::lt(x, V::zero()), V::mul(alpha, expm1(x)), x);
  }

  /// Recurrent state: what is smaller than the smallest normal number becomes zero, whatever the
  /// CPU's mode.
  static INGOT_INLINE F flush(F x) {
    return V::select(V::lt(V::abs(x), c(1.17549435e-38f)), V::zero(), x);
  }
};

}  // namespace
}  // namespace ingot::cpu
