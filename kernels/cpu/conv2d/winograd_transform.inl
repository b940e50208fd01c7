// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/winograd_transform.inl - the transforms of F(4x4, 3x3), one dimension at a
// time; device code of kernels/cuda as well.
#pragma once
#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {

/// v = B^T d.
template <class V>
INGOT_INLINE void input_transform(const typename V::F* d, typename V::F* v) {
  using F = typename V::F;
  const F m4 = V::splat(-4.0f), m5 = V::splat(-5.0f), p4 = V::splat(4.0f);
  v[0] = V::fma(p4, d[0], V::fma(m5, d[2], d[4]));
  const F a = V::fma(m4, d[2], d[4]), b = V::fma(m4, d[1], d[3]);
  v[1] = V::add(a, b), v[2] = V::sub(a, b);
  const F c = V::sub(d[4], d[2]), f = V::mul(V::splat(2.0f), V::sub(d[3], d[1]));
  v[3] = V::add(c, f), v[4] = V::sub(c, f);
  v[5] = V::fma(p4, d[1], V::fma(m5, d[3], d[5]));
}

/// y = A^T m.
template <class V>
INGOT_INLINE void output_transform(const typename V::F* m, typename V::F* y) {
  using F = typename V::F;
  const F p = V::add(m[1], m[2]), q = V::sub(m[1], m[2]), r = V::add(m[3], m[4]),
          s = V::sub(m[3], m[4]);
  y[0] = V::add(m[0], V::add(p, r));
  y[1] = V::fma(V::splat(2.0f), s, q);
  y[2] = V::fma(V::splat(4.0f), r, p);
  y[3] = V::add(V::fma(V::splat(8.0f), s, q), m[5]);
}

}  // namespace
}  // namespace ingot::cpu
