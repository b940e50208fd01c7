// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/resize/grid_taps.inl - which elements of x a place of the grid reads, and with which
// weights: a vector of places at a time. Contract: runtime/op/grid_sample.h. Device code as well.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/grid_sample.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// One dimension of x.
struct GridAxis {
  float scale, shift;  // from the grid to elements
  float low, period;   // reflection: the first mirror, and twice the way to the next
  float last;          // element
};
INGOT_FN inline GridAxis grid_axis(bool align_corners, int64_t extent) {
  const float size = float(extent), last = size - 1;
  if (align_corners) return {last * 0.5f, 0, 0, 2 * last, last};
  return {size * 0.5f, -0.5f, -0.5f, 2 * size, last};
}

/// Nearest: the element. Else floor(at), and how far behind it.
template <class V>
struct GridPlace {
  typename V::F whole, fraction;
};

constexpr int kMaxGridTaps = 4;  // of one dimension
INGOT_FN constexpr int grid_taps(GridMode mode) {
  return mode == GridMode::kNearest ? 1 : mode == GridMode::kLinear ? 2 : kMaxGridTaps;
}

/// Inside x; NaN becomes 0.
template <class V>
INGOT_INLINE typename V::F grid_limited(const GridAxis& axis, typename V::F at) {
  return V::min(V::max(at, V::zero()), V::splat(axis.last));
}

template <class V>
INGOT_INLINE typename V::F grid_padded(GridPadding padding, const GridAxis& axis,
                                       typename V::F at) {
  if (padding == GridPadding::kZeros) return at;
  if (padding == GridPadding::kReflection) {
    const typename V::F period = V::splat(axis.period), low = V::splat(axis.low);
    const typename V::F far = V::abs(V::sub(at, low));
    const typename V::F within = V::sub(far, V::mul(V::trunc(V::div(far, period)), period));
    at = V::add(V::min(within, V::sub(period, within)), low);
  }
  return grid_limited<V>(axis, at);
}

template <class V>
INGOT_INLINE GridPlace<V> grid_place(const GridSampleAttributes& t, const GridAxis& axis,
                                     typename V::F grid) {
  typename V::F at =
      V::add(V::mul(V::add(grid, V::splat(1)), V::splat(axis.scale)), V::splat(axis.shift));
  if (t.mode != GridMode::kCubic) at = grid_padded<V>(t.padding, axis, at);
  if (t.mode == GridMode::kNearest) return {V::round(at), at};
  const typename V::F whole = V::floor(at);
  return {whole, V::sub(at, whole)};
}

/// Tap k of a place, an element of x; -1: it counts as zero.
template <class V>
INGOT_INLINE typename V::I grid_index(const GridSampleAttributes& t, const GridAxis& axis,
                                      const GridPlace<V>& place, int k) {
  const bool nearest = t.mode == GridMode::kNearest, cubic = t.mode == GridMode::kCubic;
  typename V::F at =
      nearest ? place.whole : V::add(place.whole, V::splat(float(cubic ? k - 1 : k)));
  if (cubic) at = grid_padded<V>(t.padding, axis, at);
  const typename V::F last = V::splat(axis.last);
  // Elsewhere NaN is kept, so that the weight makes it the result.
  const typename V::M outside =
      nearest ? V::mask_not(V::mask_and(V::ge(at, V::zero()), V::le(at, last)))
              : V::mask_or(V::lt(at, V::zero()), V::gt(at, last));
  return V::iselect(outside, V::isplat(-1), V::to_int(grid_limited<V>(axis, at)));
}

template <class V>
INGOT_INLINE typename V::F grid_weight(GridMode mode, const GridPlace<V>& place, int k) {
  const typename V::F one = V::splat(1), f = place.fraction;
  if (mode == GridMode::kNearest) return one;
  if (mode == GridMode::kLinear) return k == 0 ? V::sub(one, f) : f;
  constexpr float c = -0.75f;
  if (k == 1 || k == 2) {
    const typename V::F d = k == 1 ? f : V::sub(one, f);
    const typename V::F inner = V::sub(V::mul(V::splat(c + 2), d), V::splat(c + 3));
    return V::add(V::mul(V::mul(inner, d), d), one);
  }
  const typename V::F d = k == 0 ? V::add(f, one) : V::sub(V::splat(2), f);
  const typename V::F inner = V::sub(V::mul(V::splat(c), d), V::splat(5 * c));
  return V::sub(V::mul(V::add(V::mul(inner, d), V::splat(8 * c)), d), V::splat(4 * c));
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
