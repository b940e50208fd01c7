// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/depthwise.inl - one filter a channel: R pixels of one row by one vector of
// channels in registers.
// Order  acc = bias; over rows inside the image, over all columns of the window with zero
//        outside: acc = fma(x, w,
// acc).
#pragma once
#include "kernels/cpu/conv2d/direct.inl"
#if defined(INGOT_SIMD_NEON)
#include "kernels/cpu/conv2d/depthwise3_neon.inl"
#endif

namespace ingot::cpu {
namespace {

constexpr int64_t kMaxFastTaps = 5;
// of an input that is gone through once for every sixteen channels
#if defined(INGOT_SIMD_AVX2) || defined(INGOT_SIMD_AVX512)
constexpr int64_t kHeldBytes = 4 << 20;
#else
constexpr int64_t kHeldBytes = 768 << 10;
#endif

struct DepthwiseLine {
  const float* const* in;  // by ky: column 0 of the input row under that tap
  int ky_begin, ky_end;
  int64_t w, pixel_stride, pad;
  const float* taps;  // of these channels; tap_stride between taps
  int64_t tap_stride;
  const Epilogue* epilogue;
  float* out;
  int64_t out_w, out_stride;
  const float* residual;
  int64_t lanes;  // channels left, may exceed a vector
  int64_t first_channel;
};

template <class V, bool whole>
INGOT_INLINE typename V::F load_lanes(const float* p, int64_t n) {
  if constexpr (whole)
    return V::load(p);
  else
    return V::load_partial(p, n);
}

template <class V, int R, bool whole>
INGOT_INLINE void depthwise_store(const DepthwiseLine& l, typename V::F (&acc)[R], int64_t x) {
  const Epilogue& e = *l.epilogue;
  float* out = l.out + x * l.out_stride;
  if (V::kLanes > 1 && whole && !l.residual && is_hard_swish(e.activation.kind)) {
    hard_swish_sums<V, R>(e.activation, acc);
  } else if (!e.in_registers || l.residual) {
    alignas(64) float tile[R][V::kLanes];
    INGOT_UNROLL for (int i = 0; i < R; i++) V::store(tile[i], acc[i]);
    finish_tile<V>(e, tile[0], V::kLanes, R, whole ? V::kLanes : l.lanes, out, l.out_stride,
                   l.residual ? l.residual + x * e.residual_stride : nullptr);
    return;
  }
  if (e.clamps) {
    const typename V::F low = V::splat(e.low), high = V::splat(e.high);
    INGOT_UNROLL for (int i = 0; i < R; i++) acc[i] = V::min(high, V::max(low, acc[i]));
  }
  INGOT_UNROLL for (int i = 0; i < R; i++) {
    if constexpr (whole)
      V::store(out, acc[i]);
    else
      V::store_partial(out, acc[i], l.lanes);
    out += l.out_stride;
    asm("" : "+r"(out));
  }
}

/// R output pixels from column x. At most K / 2 columns at either end leave the image: those are
/// read from zeros.
template <class V, int K, int S, int R, bool whole>
INGOT_INLINE void depthwise_pixels(const DepthwiseLine& l, typename V::F bias, int64_t x) {
  using F = typename V::F;
  constexpr int kPad = K / 2, kColumns = (R - 1) * S + K;
  const int64_t stride = l.pixel_stride, first = x * S - l.pad;
  bool left[kPad], right[kPad];  // inside
  for (int i = 0; i < kPad; i++)
    left[i] = first + i >= 0, right[i] = first + kColumns - kPad + i < l.w;
  F acc[R];
  INGOT_UNROLL for (int i = 0; i < R; i++) acc[i] = bias;
  for (int ky = l.ky_begin; ky < l.ky_end; ky++) {
    F tap[K];
    INGOT_UNROLL for (int k = 0; k < K; k++) tap[k] = V::load(l.taps + (ky * K + k) * l.tap_stride);
    const float* q = l.in[ky] + first * stride;
    INGOT_UNROLL for (int i = 0; i < kColumns; i++) {
      if (i && i % 4 == 0) {
        q += 4 * stride;
        asm("" : "+r"(q));  // one pointer that moves, not one address a column
      }
      const float* p = q + (i % 4) * stride;
      if (i < kPad) p = left[i] ? p : kZeros;
      if (i >= kColumns - kPad) p = right[i - (kColumns - kPad)] ? p : kZeros;
      F v = load_lanes<V, whole>(p, l.lanes);
      // load a line once: several memory operands on a line that misses L1 cost as many times
      V::keep(v);
      INGOT_UNROLL for (int k = 0; k < K; k++) if (i >= k && (i - k) % S == 0 && (i - k) / S < R)
          acc[(i - k) / S] = V::fma(v, tap[k], acc[(i - k) / S]);
    }
  }
  depthwise_store<V, R, whole>(l, acc, x);
}

/// Columns from x on, R at a time, while `least` are left: the last R overlap what is done, since
/// that costs less than fewer at a time. Returns the first column that is left.
template <class V, int K, int S, int R, bool whole>
INGOT_INLINE int64_t depthwise_columns(const DepthwiseLine& l, typename V::F bias, int64_t x,
                                       int64_t least) {
  if (l.out_w >= R)
    for (; x + least <= l.out_w; x += R) {
      x = min_of(x, l.out_w - R);
      depthwise_pixels<V, K, S, R, whole>(l, bias, x);
    }
  return x;
}

/// One output row of one vector of channels. A residual may be the output: no column is done twice.
template <class V, int K, int S, bool whole>
void depthwise_line(const DepthwiseLine& l, const float* bias) {
  // long where there are 32 registers
  constexpr int kLong = V::kLanes == 16 || has_lane_products<V>(0) ? 14 : 7;
  const typename V::F b = V::load(bias);
  const bool once = V::kLanes == 1 || l.residual;
  int64_t x = depthwise_columns<V, K, S, kLong, whole>(l, b, 0, once ? kLong : kLong / 2 + 2);
  if constexpr (kLong > 7) x = depthwise_columns<V, K, S, 7, whole>(l, b, x, once ? 7 : 5);
  x = depthwise_columns<V, K, S, 4, whole>(l, b, x, once ? 4 : 2);
  depthwise_columns<V, K, S, 1, whole>(l, b, x, 1);
}

using DepthwiseKernel = void (*)(const DepthwiseLine&, const float* bias);

/// The fast line for 3x3 and 5x5 windows that leave the image by at most half; null for others.
/// It knows the horizontal stride alone: rows are chosen by the caller, and a dilated row is as
/// many lines of every d-th column.
template <class V>
DepthwiseKernel depthwise_kernel(const Conv2dAttributes& t, bool whole) {
  constexpr bool kTail = V::kLanes == 1;  // one lane has no tails: no code for them
  static constexpr DepthwiseKernel kKernels[2][2][2] = {
      {{depthwise_line<V, 3, 1, kTail>, depthwise_line<V, 3, 1, true>},
       {depthwise_line<V, 3, 2, kTail>, depthwise_line<V, 3, 2, true>}},
      {{depthwise_line<V, 5, 1, kTail>, depthwise_line<V, 5, 1, true>},
       {depthwise_line<V, 5, 2, kTail>, depthwise_line<V, 5, 2, true>}}};
  const uint32_t k = t.kernel_h, reach = k / 2 * t.dilation_w;
  if (t.kernel_w != k || (k != 3 && k != 5) || t.stride_w > 2 ||
      (t.dilation_w > 1 && t.stride_w > 1) || t.pad_left > reach || t.pad_right > reach)
    return nullptr;
  return kKernels[k == 5][t.stride_w == 2][whole];
}

/// R output pixels from column x of any window, `count` of which there are. Columns outside of the
/// image read zeros; `inside`: there are none, and all pixels.
template <class V, int R, bool whole, bool inside>
void depthwise_window(const ConvJob& j, const DepthwiseLine& l, int64_t y, typename V::F bias,
                      int64_t x, int64_t count) {
  using F = typename V::F;
  const Conv2dAttributes& t = *j.t;
  const int64_t step = t.stride_w * l.pixel_stride, top = y * t.stride_h - t.pad_top;
  F acc[R];
  INGOT_UNROLL for (int i = 0; i < R; i++) acc[i] = bias;
  for (int64_t ky = 0; ky < t.kernel_h; ky++) {
    const int64_t iy = top + ky * t.dilation_h;
    if (iy < 0 || iy >= j.in.h) continue;
    const float* const row = j.in.row(iy) + l.first_channel;
    const float* tap = l.taps + ky * t.kernel_w * l.tap_stride;
    int64_t column = x * t.stride_w - l.pad;
    for (int64_t kx = 0; kx < t.kernel_w; kx++, column += t.dilation_w, tap += l.tap_stride) {
      const F w = V::load(tap);
      const float* const p = row + column * l.pixel_stride;
      INGOT_UNROLL for (int i = 0; i < R; i++) {
        const bool is_in = inside || uint64_t(column + i * t.stride_w) < uint64_t(l.w);
        acc[i] = V::fma(load_lanes<V, whole>(is_in ? p + i * step : kZeros, l.lanes), w, acc[i]);
      }
    }
  }
  if constexpr (inside) return depthwise_store<V, R, whole>(l, acc, x);
  alignas(64) float tile[R][V::kLanes];
  INGOT_UNROLL for (int i = 0; i < R; i++) V::store(tile[i], acc[i]);
  finish_tile<V>(*l.epilogue, tile[0], V::kLanes, count, whole ? V::kLanes : l.lanes,
                 l.out + x * l.out_stride, l.out_stride,
                 l.residual ? l.residual + x * l.epilogue->residual_stride : nullptr);
}

/// One output row of one vector of channels for any window.
template <class V, bool whole>
void depthwise_any(const ConvJob& j, const DepthwiseLine& l, int64_t y, const float* bias) {
  constexpr int R = V::kLanes == 1 ? 4 : 8;  // hides the latency of the chains
  const Conv2dAttributes& t = *j.t;
  const int64_t reach = (R - 1) * t.stride_w + int64_t(t.kernel_w - 1) * t.dilation_w;
  constexpr bool kKnowsInside = V::kLanes > 1 && whole;  // else one loop serves all
  const typename V::F b = V::load(bias);
  for (int64_t x = 0; x < l.out_w; x += R) {
    const int64_t first = x * t.stride_w - l.pad;
    if (kKnowsInside && x + R <= l.out_w && first >= 0 && first + reach < l.w)
      depthwise_window<V, R, whole, kKnowsInside>(j, l, y, b, x, R);
    else
      depthwise_window<V, R, whole, false>(j, l, y, b, x, min_of(R, l.out_w - x));
  }
}

/// Output columns r, r + d, r + 2d, .. of a row with dilation d read the columns of one remainder
/// modulo d only: a line without dilation, for every r.
inline void depthwise_dilated(DepthwiseKernel kernel, const DepthwiseLine& row, const float* bias,
                              int64_t d) {
  const float* lines[kMaxFastTaps];
  for (int64_t r = 0; r < min_of(d, row.out_w); r++) {
    const int64_t column = (r - row.pad % d + d) % d;
    DepthwiseLine l = row;
    l.in = lines, l.pad = (row.pad + column - r) / d;
    for (int k = l.ky_begin; k < l.ky_end; k++) lines[k] = row.in[k] + column * row.pixel_stride;
    l.w = ceil_div(row.w - column, d), l.pixel_stride = row.pixel_stride * d;
    l.out = row.out + r * row.out_stride, l.out_w = ceil_div(row.out_w - r, d),
    l.out_stride = row.out_stride * d;
    kernel(l, bias);
  }
}

template <class V>
void depthwise_row(const ConvJob& j, int64_t y, int64_t channel) {
  const Conv2dAttributes& t = *j.t;
  const int64_t channels = min_of(j.in.c, j.out.c);
  const bool whole = channel + V::kLanes <= channels;
  DepthwiseLine l;
  l.w = j.in.w, l.pixel_stride = j.in.pixel_stride, l.pad = t.pad_left,
  l.taps = j.weights + channel, l.tap_stride = round_up(j.out.c, kPanel);
  l.epilogue = j.epilogue, l.out = j.out.row(y) + channel, l.out_w = j.out.w,
  l.out_stride = j.out.pixel_stride;
  l.residual =
      j.residual ? j.residual + y * j.out.w * j.epilogue->residual_stride + channel : nullptr;
  l.lanes = channels - channel, l.first_channel = channel;
  const float* const bias = j.bias ? j.bias + channel : kZeros;
  const DepthwiseKernel kernel = depthwise_kernel<V>(t, whole);
  if (!kernel || (t.dilation_w > 1 && j.residual))
    return whole ? depthwise_any<V, true>(j, l, y, bias)
                 : depthwise_any<V, V::kLanes == 1>(j, l, y, bias);
  const float* lines[kMaxFastTaps];
  const int64_t top = y * t.stride_h - t.pad_top, down = t.dilation_h;
  const auto taps_of = [&](int64_t height) { return down == 1 ? height : ceil_div(height, down); };
  l.in = lines, l.ky_begin = int(max_of(0, min_of(t.kernel_h, taps_of(-top)))),
  l.ky_end = int(max_of(l.ky_begin, min_of(t.kernel_h, taps_of(j.in.h - top))));
  for (int k = l.ky_begin; k < l.ky_end; k++) lines[k] = j.in.row(top + k * down) + channel;
  if (t.dilation_w == 1) return kernel(l, bias);
  depthwise_dilated(kernel, l, bias, t.dilation_w);
}

/// Rows x groups of 16 channels. Channels outermost while the input stays in L2, or in L3 where
/// there is one, else rows outermost.
template <class V>
void depthwise_rows(const ConvJob& j, Range rows, Range groups) {
  const int64_t first = groups.begin * kPanel,
                last = min_of(groups.end * kPanel, min_of(j.in.c, j.out.c));
  const int64_t held = (j.in.ring ? j.in.ring : j.in.h) * j.in.row_stride;
  int64_t wide = first;  // channels before it are taken sixteen at a time
#if defined(INGOT_SIMD_NEON)
  if (depthwise_window_takes(j)) wide = first + (last - first) / kPanel * kPanel;
#endif
  const auto row = [&](int64_t y, int64_t ch) {
#if defined(INGOT_SIMD_NEON)
    if (ch < wide) return depthwise3_row_neon(j, y, ch);
#endif
    depthwise_row<V>(j, y, ch);
  };
  const auto step = [&](int64_t ch) { return ch < wide ? kPanel : V::kLanes; };
  if (held <= kHeldBytes / 4) {
    for (int64_t panel = first; panel < last; panel += kPanel)  // a line of the cache
      for (int64_t y = rows.begin; y < rows.end; y++)
        for (int64_t ch = panel; ch < min_of(last, panel + kPanel); ch += step(ch)) row(y, ch);
  } else {
    for (int64_t y = rows.begin; y < rows.end; y++)
      for (int64_t ch = first; ch < last; ch += step(ch)) row(y, ch);
  }
}

}  // namespace
}  // namespace ingot::cpu
