// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/fft/passes.inl - Stockham's passes over planes of complex numbers: element i of
// transform b lies at i * B + b of the plane of its part. A pass reads and writes runs of B times
// the product of the radices before it; twiddles belong to a run. Products and sums are never
// fused, so that every instruction set has the same bits.
#pragma once
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/fft.h"

namespace ingot::cpu {
namespace {
namespace fft {

/// One lane of T, where a run is short and for f64; as much of struct V as is needed here.
template <class T>
struct One {
  static constexpr int kLanes = 1;
  using F = T;
  static INGOT_INLINE F load(const T* p) { return *p; }
  static INGOT_INLINE void store(T* p, F x) { *p = x; }
  static INGOT_INLINE F load_partial(const T* p, int64_t) { return *p; }
  static INGOT_INLINE void store_partial(T* p, F x, int64_t) { *p = x; }
  static INGOT_INLINE F splat(T x) { return x; }
  static INGOT_INLINE F zero() { return 0; }
  static INGOT_INLINE F add(F a, F b) { return a + b; }
  static INGOT_INLINE F sub(F a, F b) { return a - b; }
  static INGOT_INLINE F mul(F a, F b) { return a * b; }
  static INGOT_INLINE F neg(F a) { return -a; }
};

template <class T>
struct Planes {
  T* re;
  T* im;
};

template <class L>
struct Complex {
  typename L::F re, im;
};
template <class L>
INGOT_INLINE Complex<L> plus(const Complex<L>& a, const Complex<L>& b) {
  return {L::add(a.re, b.re), L::add(a.im, b.im)};
}
template <class L>
INGOT_INLINE Complex<L> minus(const Complex<L>& a, const Complex<L>& b) {
  return {L::sub(a.re, b.re), L::sub(a.im, b.im)};
}
/// a - i b and a + i b.
template <class L>
INGOT_INLINE Complex<L> minus_turned(const Complex<L>& a, const Complex<L>& b) {
  return {L::add(a.re, b.im), L::sub(a.im, b.re)};
}
template <class L>
INGOT_INLINE Complex<L> plus_turned(const Complex<L>& a, const Complex<L>& b) {
  return {L::sub(a.re, b.im), L::add(a.im, b.re)};
}
template <class L>
INGOT_INLINE Complex<L> times(const Complex<L>& a, typename L::F by) {
  return {L::mul(a.re, by), L::mul(a.im, by)};
}
template <class L>
INGOT_INLINE Complex<L> times(const Complex<L>& a, const Complex<L>& w) {
  return {L::sub(L::mul(a.re, w.re), L::mul(a.im, w.im)),
          L::add(L::mul(a.re, w.im), L::mul(a.im, w.re))};
}
template <class L, class T>
INGOT_INLINE Complex<L> splat(const T* pair) {
  return {L::splat(pair[0]), L::splat(pair[1])};
}

/// x[k] becomes the sum of x[j] * exp(-2 pi i j k / radix).
template <class L, class T, int radix>
INGOT_INLINE void butterfly(Complex<L> (&x)[radix]) {
  if constexpr (radix == 2) {
    const Complex<L> a = x[0];
    x[0] = plus<L>(a, x[1]), x[1] = minus<L>(a, x[1]);
  } else if constexpr (radix == 3) {
    const Complex<L> sum = plus<L>(x[1], x[2]),
                     side = times<L>(minus<L>(x[1], x[2]), L::splat(T(0.86602540378443864676))),
                     middle = minus<L>(x[0], times<L>(sum, L::splat(T(0.5))));
    x[0] = plus<L>(x[0], sum);
    x[1] = minus_turned<L>(middle, side), x[2] = plus_turned<L>(middle, side);
  } else if constexpr (radix == 4) {
    const Complex<L> even = plus<L>(x[0], x[2]), odd = plus<L>(x[1], x[3]),
                     a = minus<L>(x[0], x[2]), b = minus<L>(x[1], x[3]);
    x[0] = plus<L>(even, odd), x[1] = minus_turned<L>(a, b);
    x[2] = minus<L>(even, odd), x[3] = plus_turned<L>(a, b);
  } else {
    const typename L::F cos1 = L::splat(T(0.30901699437494742410)),
                        cos2 = L::splat(T(-0.80901699437494742410)),
                        sin1 = L::splat(T(0.95105651629515357212)),
                        sin2 = L::splat(T(0.58778525229247312917));
    const Complex<L> near = plus<L>(x[1], x[4]), far = plus<L>(x[2], x[3]),
                     near_side = minus<L>(x[1], x[4]), far_side = minus<L>(x[2], x[3]);
    const Complex<L> a = plus<L>(plus<L>(x[0], times<L>(near, cos1)), times<L>(far, cos2)),
                     b = plus<L>(plus<L>(x[0], times<L>(near, cos2)), times<L>(far, cos1));
    const Complex<L> c = plus<L>(times<L>(near_side, sin1), times<L>(far_side, sin2)),
                     d = minus<L>(times<L>(near_side, sin2), times<L>(far_side, sin1));
    x[0] = plus<L>(plus<L>(x[0], near), far);
    x[1] = minus_turned<L>(a, c), x[2] = minus_turned<L>(b, d);
    x[3] = plus_turned<L>(b, d), x[4] = plus_turned<L>(a, c);
  }
}

/// One run: radix inputs `from` apart, radix outputs `run` apart. `turned`: times the twiddles w.
template <class L, class T, int radix, bool turned>
INGOT_INLINE void pass_run(const Planes<T>& x, int64_t from, const Planes<T>& y, int64_t run,
                           const T* w) {
  Complex<L> by[radix];
  if constexpr (turned)
    INGOT_UNROLL for (int k = 1; k < radix; k++) by[k] = splat<L>(w + 2 * (k - 1));
  for (int64_t q = 0; q < run; q += L::kLanes) {
    const int64_t n = tensors::least_of(run - q, L::kLanes);
    const bool whole = L::kLanes == 1 || n == L::kLanes;
    Complex<L> z[radix];
    INGOT_UNROLL for (int k = 0; k < radix; k++) {
      const T *const re = x.re + q + k * from, *const im = x.im + q + k * from;
      z[k].re = whole ? L::load(re) : L::load_partial(re, n);
      z[k].im = whole ? L::load(im) : L::load_partial(im, n);
    }
    butterfly<L, T, radix>(z);
    if constexpr (turned) INGOT_UNROLL for (int k = 1; k < radix; k++) z[k] = times<L>(z[k], by[k]);
    INGOT_UNROLL for (int k = 0; k < radix; k++) {
      T *const re = y.re + q + k * run, *const im = y.im + q + k * run;
      if (whole) {
        L::store(re, z[k].re), L::store(im, z[k].im);
      } else {
        L::store_partial(re, z[k].re, n), L::store_partial(im, z[k].im, n);
      }
    }
  }
}
/// All runs of a pass: `pieces` groups of radix runs.
template <class L, class T, int radix>
void pass(const Planes<T>& x, const Planes<T>& y, int64_t pieces, int64_t run, const T* w) {
  const int64_t from = pieces * run;
  pass_run<L, T, radix, false>(x, from, y, run, w);
  for (int64_t p = 1; p < pieces; p++)
    pass_run<L, T, radix, true>({x.re + p * run, x.im + p * run}, from,
                                {y.re + p * radix * run, y.im + p * radix * run}, run,
                                w + p * 2 * (radix - 1));
}
template <class L, class T>
void pass_of(int radix, const Planes<T>& x, const Planes<T>& y, int64_t pieces, int64_t run,
             const T* w) {
  switch (radix) {
    case 2: return pass<L, T, 2>(x, y, pieces, run, w);
    case 3: return pass<L, T, 3>(x, y, pieces, run, w);
    case 4: return pass<L, T, 4>(x, y, pieces, run, w);
    default: return pass<L, T, 5>(x, y, pieces, run, w);
  }
}

/// L::kLanes transforms of `points` side by side; W: lanes of a run. The result is in *x, *spare
/// has anything.
template <class L, class W, class T>
void transform(int64_t points, const T* twiddles, Planes<T>* x, Planes<T>* spare) {
  int64_t run = L::kLanes;
  for (int64_t n = points; n > 1;) {
    const int radix = fft_radix(n);
    n /= radix;
    if (run < 4)
      pass_of<One<T>, T>(radix, *x, *spare, n, run, twiddles);
    else
      pass_of<W, T>(radix, *x, *spare, n, run, twiddles);
    const Planes<T> made = *spare;
    *spare = *x, *x = made;
    twiddles += 2 * (radix - 1) * n;
    run *= radix;
  }
}

}  // namespace fft
}  // namespace
}  // namespace ingot::cpu
