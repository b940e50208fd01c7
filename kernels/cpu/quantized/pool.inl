// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/pool.inl - pooling of bytes and of 16-bit numbers, vectors over channels.
// Contract: runtime/op/quantized_pool2d.h.
#pragma once
#include "kernels/cpu/pool2d/pool2d.inl"
#include "kernels/cpu/quantized/band.inl"
#include "runtime/op/quantized_pool2d.h"

namespace ingot::cpu {
namespace {

/// The taps of one output pixel that lie in the image.
struct Int8PoolWindow {
  const uint8_t* at;                 // the first; null where there is none
  int64_t rows, cols, down, across;  // steps in bytes
};

inline Int8PoolWindow int8_pool_window(const QuantizedPool2dAttributes& t, const Int8Image& in,
                                       int64_t oy, int64_t ox) {
  const int64_t top = oy * t.stride_h - t.pad_top, left = ox * t.stride_w - t.pad_left;
  const Range y = taps_inside(top, t.dilation_h, t.kernel_h, 0, in.h),
              x = taps_inside(left, t.dilation_w, t.kernel_w, 0, in.w);
  Int8PoolWindow w{nullptr, y.count(), x.count(), t.dilation_h * in.row_stride,
                   t.dilation_w * in.pixel_stride};
  if (w.rows == 0 || w.cols == 0)
    w.rows = w.cols = 0;
  else
    w.at = in.row(top + y.begin * t.dilation_h) + (left + x.begin * t.dilation_w) * in.pixel_stride;
  return w;
}

/// kVecs vectors of bytes of one output pixel; the last may be partial.
template <class V, int kVecs, bool whole>
INGOT_INLINE void int8_maxima(const Int8PoolWindow& w, int64_t channel, int64_t n,
                              typename V::B low, typename V::B high, uint8_t* out) {
  typename V::B most[kVecs];
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) most[v] = V::bsplat(0);
  for (int64_t y = 0; y < w.rows; y++) {
    const uint8_t* p = w.at + y * w.down + channel;
    for (int64_t x = 0; x < w.cols; x++, p += w.across)
      INGOT_UNROLL for (int v = 0; v < kVecs; v++) most[v] =
          V::bmax(most[v], whole ? V::bload(p + v * V::kBytes) : V::bload_partial(p, n));
  }
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) {
    const typename V::B y = V::bmax(V::bmin(most[v], high), low);
    if (whole)
      V::bstore(out + v * V::kBytes, y);
    else
      V::bstore_partial(out, y, n);
  }
}

/// How the sums of one window become averages.
template <class V>
struct Int8Means {
  typename V::I less, half, minus_half, offset, low, high;
  typename V::F divisor;
  int32_t taps;
  Int8Means(const QuantizedPool2dAttributes& t, int64_t all) {
    taps = all > 0 ? int32_t(all) : 1;
    less = V::isplat(int32_t(all * t.offset)), offset = V::isplat(int32_t(t.offset));
    half = V::isplat(taps / 2), minus_half = V::isplat(-(taps / 2));
    low = V::isplat(int32_t(t.low)), high = V::isplat(int32_t(t.high));
    divisor = V::splat(float(taps));
  }
  /// A quotient of whole numbers below 2^24 is never rounded up to a whole number in f32: the next
  /// one is at least 1 / taps away.
  INGOT_INLINE typename V::I operator()(typename V::I sum) const {
    typename V::I s = V::isub(sum, less);
    s = V::iadd(s, V::iselect(V::igt(s, V::isplat(0)), half, minus_half));
    if (taps <= kMaxFloatTaps) {
      s = V::to_int(V::div(V::to_float(s), divisor));
    } else {
      alignas(64) int32_t each[V::kLanes];
      V::istore(each, s);
      for (int32_t& one : each) one /= taps;
      s = V::iload(each);
    }
    return V::imax(V::imin(V::iadd(s, offset), high), low);
  }
  static constexpr int32_t kMaxFloatTaps = 65536;  // of 255 each, and half as many: below 2^24
};

template <class V, int kVecs, bool whole>
INGOT_INLINE void int8_means(const Int8PoolWindow& w, int64_t channel, int64_t n,
                             const Int8Means<V>& mean, uint8_t* out) {
  typename V::I sums[kVecs];
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) sums[v] = V::isplat(0);
  for (int64_t y = 0; y < w.rows; y++) {
    const uint8_t* p = w.at + y * w.down + channel;
    for (int64_t x = 0; x < w.cols; x++, p += w.across)
      INGOT_UNROLL for (int v = 0; v < kVecs; v++) sums[v] =
          V::iadd(sums[v], whole ? V::iload_u8(p + v * V::kLanes) : V::iload_u8_partial(p, n));
  }
  INGOT_UNROLL for (int v = 0; v < kVecs; v++) {
    const typename V::I y = mean(sums[v]);
    if (whole)
      V::istore_u8(out + v * V::kLanes, y);
    else
      V::istore_u8_partial(out, y, n);
  }
}

template <class V>
void int8_pool_row(const QuantizedPool2dAttributes& t, const Int8Image& in, int64_t oy, Range cols,
                   Range channels, uint8_t* out, int64_t out_stride) {
  const bool max = t.kind == PoolKind::kMax;
  const typename V::B low = V::bsplat(uint8_t(t.low)), high = V::bsplat(uint8_t(t.high));
  for (int64_t ox = cols.begin; ox < cols.end; ox++, out += out_stride) {
    const Int8PoolWindow w = int8_pool_window(t, in, oy, ox);
    int64_t c = channels.begin;
    if (max) {
      for (; c + 2 * V::kBytes <= channels.end; c += 2 * V::kBytes)
        int8_maxima<V, 2, true>(w, c, V::kBytes, low, high, out + c);
      for (; c + V::kBytes <= channels.end; c += V::kBytes)
        int8_maxima<V, 1, true>(w, c, V::kBytes, low, high, out + c);
      if (c < channels.end) int8_maxima<V, 1, false>(w, c, channels.end - c, low, high, out + c);
      continue;
    }
    const Int8Means<V> mean(t, w.rows * w.cols);
    for (; c + 4 * V::kLanes <= channels.end; c += 4 * V::kLanes)
      int8_means<V, 4, true>(w, c, V::kLanes, mean, out + c);
    for (; c + V::kLanes <= channels.end; c += V::kLanes)
      int8_means<V, 1, true>(w, c, V::kLanes, mean, out + c);
    if (c < channels.end) int8_means<V, 1, false>(w, c, channels.end - c, mean, out + c);
  }
}

/// n <= kInt16Channels channels of one output pixel.
constexpr int64_t kInt16Channels = 64;
inline void int16_pool_pixel(const QuantizedPool2dAttributes& t, const Int8PoolWindow& w,
                             int64_t channel, int64_t n, int16_t* out) {
  const bool max = t.kind == PoolKind::kMax;
  int32_t kept[kInt16Channels] = {};
  for (int64_t y = 0; y < w.rows; y++)
    for (int64_t x = 0; x < w.cols; x++) {
      int16_t words[kInt16Channels] = {};
      std::memcpy(words, w.at + y * w.down + x * w.across + channel * 2, size_t(n) * 2);
      if (max)
        for (int64_t i = 0; i < kInt16Channels; i++)
          kept[i] = kept[i] > words[i] + 32768 ? kept[i] : words[i] + 32768;
      else
        for (int64_t i = 0; i < kInt16Channels; i++) kept[i] += words[i] + 32768;
    }
  const int32_t all = int32_t(w.rows * w.cols), taps = all > 0 ? all : 1,
                offset = int32_t(t.offset), low = int32_t(t.low), high = int32_t(t.high);
  for (int64_t i = 0; i < n; i++) {
    int32_t y = kept[i];
    if (!max) {
      const int32_t s = y - all * offset;
      y = (s > 0 ? s + taps / 2 : s - taps / 2) / taps + offset;
    }
    out[i] = int16_t((y < low ? low : y > high ? high : y) - 32768);
  }
}
inline void int16_pool_row(const QuantizedPool2dAttributes& t, const Int8Image& in, int64_t oy,
                           Range cols, Range channels, int16_t* out, int64_t out_stride) {
  for (int64_t ox = cols.begin; ox < cols.end; ox++, out += out_stride) {
    const Int8PoolWindow w = int8_pool_window(t, in, oy, ox);
    for (int64_t c = channels.begin; c < channels.end; c += kInt16Channels)
      int16_pool_pixel(t, w, c, min_of(kInt16Channels, channels.end - c), out + c);
  }
}

namespace tensors {

template <class V>
Status quantized_pool2d(const OpArguments& a, const Team& team) {
  const QuantizedPool2dAttributes& t = a.as<QuantizedPool2dAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const int64_t oh = y.dims[1], ow = y.dims[2], c = y.dims[3], all = y.dims[0] * oh;
  Range rows{0, all}, cols{0, ow}, channels{0, c};
  if (all >= 2 * team.size) {
    rows = part(all, team.id, team.size);
  } else if (ow >= 4 * team.size) {
    cols = part(ow, team.id, team.size);
  } else {
    const Range mine = part(ceil_div(c, 64), team.id, team.size);  // whole lines of memory
    channels = {min_of(c, mine.begin * 64), min_of(c, mine.end * 64)};
  }
  for (int64_t r = rows.begin; r < rows.end; r++) {
    const Int8Image image = int8_image(x, r / oh);
    const int64_t at = (r * ow + cols.begin) * y.row_stride;
    if (y.dtype == DType::kI16)
      int16_pool_row(t, image, r % oh, cols, channels, y.as<int16_t>() + at, y.row_stride);
    else
      int8_pool_row<V>(t, image, r % oh, cols, channels, y.as<uint8_t>() + at, y.row_stride);
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
