// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/depthwise3_neon.inl - depthwise 3x3 of bytes by dot products of the three
// taps of a column, sixteen channels at a time.
//
// The three pixels of a column of the window are interleaved by two levels of zip into vectors of
// four channels x 4 taps, the last times zero. A column serves every output that has it: of R
// outputs next to each other each column is read once. Sums do not depend on their order, so the
// bits are those of every other kernel.
#pragma once
#include "kernels/cpu/quantized/band.inl"

namespace ingot::cpu {
namespace {

/// Weights and beginnings of the sums of sixteen channels.
struct ThreeTaps {
  int8_t weights[3][4 * kPanel];  // kernel column, channel, kernel row
  int32_t starts[kPanel];
};
/// Of up to 64 channels.
struct DepthwiseTable {
  ThreeTaps groups[quantized::kDepthwiseChannels / kPanel];
};

inline bool is_depthwise3(const QuantizedConv2dAttributes& t, int64_t, int64_t plane) {
  return t.kernel_h == 3 && t.kernel_w == 3 && t.dilation_h == 1 && t.dilation_w == 1 &&
         t.stride_w <= 2 && t.w_zero == 0 && plane == 0 && t.requant == RequantMode::kFloatEven;
}

/// Of n <= 64 channels.
inline void fill_depthwise_table(const int8_t* weights, int64_t weight_row, const Requantization& r,
                                 int64_t n, DepthwiseTable* table) {
  for (int64_t c = 0; c < n; c++) {
    ThreeTaps& taps = table->groups[c / kPanel];
    const int64_t i = c % kPanel;
    int32_t sum = 0;
    for (int64_t kx = 0; kx < 3; kx++) {
      for (int64_t ky = 0; ky < 3; ky++) {
        const int8_t w = weights[c + (ky * 3 + kx) * weight_row];
        taps.weights[kx][4 * i + ky] = w, sum += w;
      }
      taps.weights[kx][4 * i + 3] = 0;
    }
    const uint32_t less = Dot::kSigned ? 128 * uint32_t(sum) : 0;
    taps.starts[i] = int32_t(uint32_t(r.bias()[c]) + less);
  }
}

/// Where outputs of one row are; strides in bytes.
struct DepthwiseLine3 {
  const uint8_t* in = nullptr;  // the first tap of the first output
  int64_t in_row = 0, pixel = 0;
  uint8_t* out = nullptr;
  int64_t out_pixel = 0, channels = 0;
};

/// Sixteen channels of the pixel at p and of those in the two rows below, interleaved.
INGOT_INLINE void load_column(const uint8_t* p, int64_t row, uint8x16_t (&fours)[4]) {
  uint8x16_t x[3];
  INGOT_UNROLL for (int i = 0; i < 3; i++) {
    x[i] = vld1q_u8(p + i * row);
    if constexpr (Dot::kSigned) x[i] = veorq_u8(x[i], vdupq_n_u8(0x80));
  }
  const auto words = [](uint8x16_t v) { return vreinterpretq_u16_u8(v); };
  const uint16x8_t a = words(vzip1q_u8(x[0], x[1])), b = words(vzip1q_u8(x[2], x[2])),
                   c = words(vzip2q_u8(x[0], x[1])), d = words(vzip2q_u8(x[2], x[2]));
  fours[0] = vreinterpretq_u8_u16(vzip1q_u16(a, b));
  fours[1] = vreinterpretq_u8_u16(vzip2q_u16(a, b));
  fours[2] = vreinterpretq_u8_u16(vzip1q_u16(c, d));
  fours[3] = vreinterpretq_u8_u16(vzip2q_u16(c, d));
}

/// Column i of the windows of kPixels outputs next to each other, and every one after it.
template <int i, int kStride, int kPixels>
INGOT_INLINE void add_columns(const DepthwiseLine3& l, const uint8_t* at,
                              const int8x16_t (&weights)[3][4], int32x4_t (&sums)[kPixels][4]) {
  uint8x16_t fours[4];
  load_column(at, l.in_row, fours);
  INGOT_UNROLL for (int p = 0; p < kPixels; p++) {
    constexpr int kNone = 3;
    const int kx = i - p * kStride >= 0 && i - p * kStride < 3 ? i - p * kStride : kNone;
    if (kx == kNone) continue;
    INGOT_UNROLL for (int j = 0; j < 4; j++) sums[p][j] =
        Dot::dot_fours(sums[p][j], fours[j], weights[kx][j]);
  }
  if constexpr (i + 1 < (kPixels - 1) * kStride + 3)
    add_columns<i + 1, kStride, kPixels>(l, at + l.pixel, weights, sums);
}

/// kPixels outputs from column x on.
template <int kStride, int kPixels>
INGOT_INLINE void depthwise_pixels3(const DepthwiseLine3& l, int64_t x, const ThreeTaps& taps,
                                    const int8x16_t (&weights)[3][4], const Dot::Finish& finish) {
  int32x4_t sums[kPixels][4];
  INGOT_UNROLL for (int p = 0; p < kPixels; p++) INGOT_UNROLL for (int j = 0; j < 4; j++)
      sums[p][j] = vld1q_s32(taps.starts + 4 * j);
  add_columns<0, kStride, kPixels>(l, l.in + x * kStride * l.pixel, weights, sums);
  INGOT_UNROLL for (int p = 0; p < kPixels; p++) Dot::store_bytes(
      l.out + (x + p) * l.out_pixel, Dot::finish_bytes(sums[p], finish), l.channels);
}

template <int kStride>
void depthwise_line3(const DepthwiseLine3& l, int64_t cols, const ThreeTaps& taps,
                     const Requantization& r, int64_t c) {
  int8x16_t weights[3][4];
  INGOT_UNROLL for (int x = 0; x < 3; x++) INGOT_UNROLL for (int j = 0; j < 4; j++) weights[x][j] =
      vld1q_s8(taps.weights[x] + 16 * j);
  const Dot::Finish finish = finish_of<Dot>(r, c);
  int64_t x = 0;
  for (; x + 3 <= cols; x += 3) depthwise_pixels3<kStride, 3>(l, x, taps, weights, finish);
  for (; x < cols; x++) depthwise_pixels3<kStride, 1>(l, x, taps, weights, finish);
}

/// One band of at most 64 channels.
template <class V>
void depthwise3_band(const Int8ConvJob& j, const Int8Band& band, Range rows, Range cols,
                     const DepthwiseTable& table) {
  for (int64_t c = 0; c < j.in.c; c += kPanel)
    for (int64_t y = 0; y < rows.count(); y++) {
      DepthwiseLine3 l;
      l.in = band.at + y * j.t->stride_h * band.row_stride + c;
      l.in_row = band.row_stride, l.pixel = band.pixel_stride;
      l.out = j.out.row(rows.begin + y) + cols.begin * j.out.pixel_stride + c;
      l.out_pixel = j.out.pixel_stride, l.channels = j.in.c - c;
      (j.t->stride_w == 1 ? depthwise_line3<1> : depthwise_line3<2>)(l, cols.count(),
                                                                     table.groups[c / kPanel],
                                                                     *j.requantization, c);
    }
}

}  // namespace
}  // namespace ingot::cpu
