// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/pool2d/pool2d.inl - pooling, vectors over channels. Contract: runtime/op/pool2d.h.
#pragma once
#include "kernels/cpu/conv2d/band.inl"
#include "runtime/op/pool2d.h"

namespace ingot::cpu {
namespace {

/// Taps of one output pixel that lie in the image, and how many an average divides by.
struct PoolWindow {
  int64_t ky_begin, ky_end, kx_begin, kx_end, top, left;
  float divisor;
};

/// Taps [begin, end) of `kernel` with first + k * dilation in [low, high).
inline Range taps_inside(int64_t first, int64_t dilation, int64_t kernel, int64_t low,
                         int64_t high) {
  if (first >= low && first + (kernel - 1) * dilation < high) return {0, kernel};  // no divisions
  const int64_t begin = first >= low ? 0 : ceil_div(low - first, dilation);
  const int64_t end = first >= high ? 0 : ceil_div(high - first, dilation);
  return {min_of(begin, kernel), max_of(min_of(begin, kernel), min_of(end, kernel))};
}

inline PoolWindow pool_window(const Pool2dAttributes& t, int64_t h, int64_t w, int64_t oy,
                              int64_t ox) {
  PoolWindow p;
  p.top = oy * t.stride_h - t.pad_top, p.left = ox * t.stride_w - t.pad_left;
  const Range y = taps_inside(p.top, t.dilation_h, t.kernel_h, 0, h),
              x = taps_inside(p.left, t.dilation_w, t.kernel_w, 0, w);
  p.ky_begin = y.begin, p.ky_end = y.end, p.kx_begin = x.begin, p.kx_end = x.end;
  int64_t taps = y.count() * x.count();
  if (t.kind == PoolKind::kAverageIncludePad)
    taps = taps_inside(p.top, t.dilation_h, t.kernel_h, p.top, h + t.pad_bottom).count() *
           taps_inside(p.left, t.dilation_w, t.kernel_w, p.left, w + t.pad_right).count();
  p.divisor = float(taps > 0 ? taps : 1);
  return p;
}

/// Calls step(v, x) for vector v of the channels of each tap, in order.
template <class V, int kVecs, bool whole, class Step>
INGOT_INLINE void for_taps(const Pool2dAttributes& t, const NhwcView& in, const PoolWindow& p,
                           int64_t channel, int64_t lanes, Step step) {
  for (int64_t ky = p.ky_begin; ky < p.ky_end; ky++) {
    const float* row = in.at + (p.top + ky * t.dilation_h) * in.row_stride + channel;
    for (int64_t kx = p.kx_begin; kx < p.kx_end; kx++) {
      const float* pixel = row + (p.left + kx * t.dilation_w) * in.pixel_stride;
      INGOT_UNROLL for (int v = 0; v < kVecs; v++)
          step(v, whole ? V::load(pixel + v * V::kLanes) : V::load_partial(pixel, lanes));
    }
  }
}

/// Maxima by one instruction a tap, which forgets a NaN: whether there can be one is seen by the
/// sum.
template <class V, int kVecs, bool whole>
INGOT_INLINE bool pool_maxima(const Pool2dAttributes& t, const NhwcView& in, const PoolWindow& p,
                              int64_t channel, int64_t lanes, typename V::F (&acc)[kVecs]) {
  typename V::F sum[kVecs];
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) acc[v] = V::splat(-__builtin_inff()),
                                               sum[v] = V::zero();
  for_taps<V, kVecs, whole>(t, in, p, channel, lanes, [&](int v, typename V::F x) {
    V::keep(x);  // one load, where a line that misses L1 would cost two
    acc[v] = V::max(acc[v], x), sum[v] = V::add(sum[v], x);
  });
  INGOT_UNROLL for (int v = 1; v < kVecs; v++) sum[0] = V::add(sum[0], sum[v]);
  return !V::any(V::unordered(sum[0], sum[0]));
}

/// kVecs vectors of channels of one output pixel; the last may be partial.
template <class V, PoolKind kind, int kVecs, bool whole>
INGOT_INLINE void pool_vectors(const Pool2dAttributes& t, const NhwcView& in, const PoolWindow& p,
                               int64_t channel, int64_t lanes, float* out) {
  using F = typename V::F;
  F acc[kVecs];
  if (kind != PoolKind::kMax || V::kLanes == 1 ||
      !pool_maxima<V, kVecs, whole>(t, in, p, channel, lanes, acc)) {
    INGOT_UNROLL for (int v = 0; v < kVecs; v++) acc[v] =
        kind == PoolKind::kMax ? V::splat(-__builtin_inff()) : V::zero();
    for_taps<V, kVecs, whole>(t, in, p, channel, lanes, [&](int v, F x) {
      if (kind == PoolKind::kMax)
        acc[v] = V::select(V::unordered(acc[v], acc[v]), acc[v], V::max(acc[v], x));  // NaN stays
      else if (kind != PoolKind::kLp)
        acc[v] = V::add(acc[v], x);
      else
        acc[v] = t.p == 1 ? V::add(acc[v], V::abs(x)) : V::fma(x, x, acc[v]);
    });
  }
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) {
    F y = acc[v];
    if (kind == PoolKind::kAverage || kind == PoolKind::kAverageIncludePad)
      y = V::div(y, V::splat(p.divisor));
    if (kind == PoolKind::kLp && t.p == 2) y = V::sqrt(y);
    if (whole)
      V::store(out + v * V::kLanes, y);
    else
      V::store_partial(out, y, lanes);
  }
}

template <class V, PoolKind kind>
void pool_row(const Pool2dAttributes& t, const NhwcView& in, int64_t oy, Range cols, Range channels,
              float* out, int64_t out_stride) {
  const bool whole = channels.count() >= V::kLanes;
  for (int64_t ox = cols.begin; ox < cols.end; ox++, out += out_stride) {
    const PoolWindow p = pool_window(t, in.h, in.w, oy, ox);
    int64_t c = channels.begin;
    for (; c + 4 * V::kLanes <= channels.end; c += 4 * V::kLanes)
      pool_vectors<V, kind, 4, true>(t, in, p, c, V::kLanes, out + c);
    if (!whole) pool_vectors<V, kind, 1, false>(t, in, p, c, channels.end - c, out + c);
    for (; whole && c < channels.end; c += V::kLanes) {  // the last overlaps what is done
      c = min_of(c, channels.end - V::kLanes);
      pool_vectors<V, kind, 1, true>(t, in, p, c, V::kLanes, out + c);
    }
  }
}

template <class V>
Status pool2d_f32(const OpArguments& a, const Team& team) {
  using Row =
      void (*)(const Pool2dAttributes&, const NhwcView&, int64_t, Range, Range, float*, int64_t);
  static constexpr Row kRows[] = {pool_row<V, PoolKind::kMax>, pool_row<V, PoolKind::kAverage>,
                                  pool_row<V, PoolKind::kAverageIncludePad>,
                                  pool_row<V, PoolKind::kLp>};
  const Pool2dAttributes& t = a.as<Pool2dAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const int64_t oh = y.dims[1], ow = y.dims[2], c = y.dims[3], all = y.dims[0] * oh,
                groups = ceil_div(c, kPanel);
  Range rows{0, all}, cols{0, ow}, channels{0, c};
  if (all >= 2 * team.size) {
    rows = part(all, team.id, team.size);
  } else if (ow >= 4 * team.size) {
    cols = part(ow, team.id, team.size);
  } else {
    const Range mine = part(groups, team.id, team.size);
    channels = {min_of(c, mine.begin * kPanel), min_of(c, mine.end * kPanel)};
  }
  for (int64_t r = rows.begin; r < rows.end; r++)
    kRows[int(t.kind)](t, nhwc_view(x, false, r / oh), r % oh, cols, channels,
                       y.as<float>() + (r * ow + cols.begin) * y.row_stride, y.row_stride);
  return {};
}

}  // namespace
}  // namespace ingot::cpu
