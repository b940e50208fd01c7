// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/depthwise3_avx2.inl - depthwise 3x3 of bytes by products of 16 bits,
// sixteen channels at a time. The upper two pixels of a column of the window are interleaved, the
// third is widened to 32 bits; of outputs next to each other each column is read once.
#pragma once
#include "kernels/cpu/quantized/band.inl"

namespace ingot::cpu {
namespace {

/// What weights of sixteen channels are multiplied by: of kernel columns, channels 0 .. 7 and
/// 8 .. 15, in pairs of 16 bits.
struct ThreeTaps {
  int16_t upper[3][2 * kPanel], lower[3][2 * kPanel];
};
/// Of up to 64 channels.
struct DepthwiseTable {
  ThreeTaps groups[quantized::kDepthwiseChannels / kPanel];
};

inline bool is_depthwise3(const QuantizedConv2dAttributes& t, int64_t, int64_t plane) {
  return t.kernel_h == 3 && t.kernel_w == 3 && t.dilation_h == 1 && t.dilation_w == 1 &&
         t.stride_w <= 2 && plane == 0;
}

/// Of n <= 64 channels, weights less their zero points.
inline void fill_depthwise_table(const int8_t* weights, int64_t row, const Requantization& r,
                                 int64_t n, DepthwiseTable* table) {
  const int32_t* const zeros = r.weight_zeros();
  for (int64_t c = 0; c < round_up(n, kPanel); c++) {
    ThreeTaps& taps = table->groups[c / kPanel];
    const int32_t zero = zeros ? max_of(-255, min_of(255, zeros[c])) : r.w_zero;
    for (int64_t x = 0; x < 3; x++) {
      const auto tap = [&](int64_t y) { return int16_t(weights[c + (3 * y + x) * row] - zero); };
      int16_t *const upper = taps.upper[x] + c % kPanel * 2, *const lower =
                                                                 taps.lower[x] + c % kPanel * 2;
      upper[0] = tap(0), upper[1] = tap(1), lower[0] = tap(2), lower[1] = 0;
    }
  }
}

/// Where outputs of one row are; strides in bytes.
struct DepthwiseLine3 {
  const uint8_t* in = nullptr;  // the first tap of the first output
  int64_t in_row = 0, pixel = 0;
  uint8_t* out = nullptr;
  int64_t out_pixel = 0, channels = 0, channel = 0;
};

/// Column i of the windows of kPixels outputs next to each other, and every one after it.
template <int i, int kStride, int kPixels>
INGOT_INLINE void add_columns(const DepthwiseLine3& l, const uint8_t* at, const ThreeTaps& taps,
                              __m256i (&sums)[kPixels][2]) {
  const auto load = [](const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  };
  const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)),
                second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + l.in_row)),
                third = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 2 * l.in_row));
  const __m256i upper[2] = {_mm256_cvtepu8_epi16(_mm_unpacklo_epi8(first, second)),
                            _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(first, second))},
                lower[2] = {_mm256_cvtepu8_epi32(third),
                            _mm256_cvtepu8_epi32(_mm_unpackhi_epi64(third, third))};
  INGOT_UNROLL for (int p = 0; p < kPixels; p++) {
    constexpr int kNone = 3;
    const int kx = i - p * kStride >= 0 && i - p * kStride < 3 ? i - p * kStride : kNone;
    if (kx == kNone) continue;
    INGOT_UNROLL for (int h = 0; h < 2; h++) {
      __m256i& sum = sums[p][h];
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(upper[h], load(taps.upper[kx] + h * kPanel)));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(lower[h], load(taps.lower[kx] + h * kPanel)));
    }
  }
  if constexpr (i + 1 < (kPixels - 1) * kStride + 3)
    add_columns<i + 1, kStride, kPixels>(l, at + l.pixel, taps, sums);
}

/// kPixels outputs from column x on: f(one of them, its sums).
template <class V, int kStride, int kPixels, class F>
INGOT_INLINE void depthwise_pixels3(const DepthwiseLine3& l, int64_t x, const ThreeTaps& taps,
                                    const int32_t* starts, F f) {
  __m256i sums[kPixels][2];
  INGOT_UNROLL for (int p = 0; p < kPixels; p++) INGOT_UNROLL for (int h = 0; h < 2; h++)
      sums[p][h] = V::iload(starts + h * V::kLanes);
  add_columns<0, kStride, kPixels>(l, l.in + x * kStride * l.pixel, taps, sums);
  INGOT_UNROLL for (int p = 0; p < kPixels; p++) f(l.out + (x + p) * l.out_pixel, sums[p]);
}

template <class V, int kStride, class F>
INGOT_INLINE void depthwise_line3(const DepthwiseLine3& l, int64_t cols, const ThreeTaps& taps,
                                  const int32_t* starts, F f) {
  int64_t x = 0;
  for (; x + 4 <= cols; x += 4) depthwise_pixels3<V, kStride, 4>(l, x, taps, starts, f);
  for (; x < cols; x++) depthwise_pixels3<V, kStride, 1>(l, x, taps, starts, f);
}

template <class V, int kStride>
__attribute__((noinline)) void depthwise_row3(const DepthwiseLine3& line, int64_t cols,
                                              const ThreeTaps& taps, const Requantization& r,
                                              const RowQuantParams& steps) {
  const DepthwiseLine3 l = line;
  const int32_t* const starts = r.starts(l.channel);
  if (r.mode == RequantMode::kFloatEven) {
    const Dot::Finish finish = finish_of<Dot>(r, l.channel);
    return depthwise_line3<V, kStride>(
        l, cols, taps, starts, [&](uint8_t* out, const __m256i(&sums)[2]) {
          Dot::store_bytes(out, Dot::finish_bytes(sums, finish), l.channels);
        });
  }
  depthwise_line3<V, kStride>(l, cols, taps, starts, [&](uint8_t* out, __m256i(&sums)[2]) {
    requantize<V>(r, steps, sums, l.channel, out, l.channels);
  });
}

/// One band of at most 64 channels.
template <class V>
void depthwise3_band(const Int8ConvJob& j, const Int8Band& band, Range rows, Range cols,
                     const DepthwiseTable& table) {
  DepthwiseLine3 l;
  l.in_row = band.row_stride, l.pixel = band.pixel_stride, l.out_pixel = j.out.pixel_stride;
  for (int64_t c = 0; c < j.in.c; c += kPanel)
    for (int64_t y = 0; y < rows.count(); y++) {
      l.in = band.at + y * j.t->stride_h * band.row_stride + c;
      l.out = j.out.row(rows.begin + y) + cols.begin * j.out.pixel_stride + c * j.out.element;
      l.channels = j.in.c - c, l.channel = c;
      (j.t->stride_w == 1 ? depthwise_row3<V, 1>
                          : depthwise_row3<V, 2>)(l, cols.count(), table.groups[c / kPanel],
                                                  *j.requantization, j.steps);
    }
}

}  // namespace
}  // namespace ingot::cpu
