// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/depthwise3_avx512.inl - depthwise 3x3 of bytes by dot products of four
// taps, sixty-four channels at a time.
//
// Four pixels next to each other are interleaved by two levels of unpack into vectors of 16
// channels x 4 taps; the saturating packs of the output undo the order. One such group serves two
// columns of outputs, by weights (w0 w1 w2 0) and (0 w0 w1 w2), and up to three rows. Sums do not
// depend on their order, so the bits are those of every other kernel.
#pragma once
#include "kernels/cpu/quantized/band.inl"

namespace ingot::cpu {
namespace {

/// What the 64 bytes of a vector are.
enum class DepthwisePart {
  kFull,      // 64 channels of one pixel
  kMasked,    // fewer
  kHalves,    // 32 channels of two rows
  kQuarters,  // 16 channels of four rows
  kFlat       // pixels next to each other whose channels divide 64; windows one pixel apart
};

struct DepthwiseBlock {
  const uint8_t* in = nullptr;  // the first tap of the first output
  int64_t in_row = 0, pixel = 0;
  uint8_t* out = nullptr;
  int64_t out_row = 0, out_pixel = 0;
  int64_t rows = 0, cols = 0;  // outputs; of kFlat, cols counts bytes
  const Requantization* requantization = nullptr;
  int64_t channels = 0;
  int64_t stride_h = 1;
};

/// Lane L of vector j holds channels 16 L + 4 j .. + 3, in the order that unpacking gives.
struct alignas(64) DepthwiseQuantParams {
  int32_t bias[4][16];
  float multipliers[4][16];
};
/// Weights less their zero point may need nine bits: what eight bits hold of them, and the rest.
struct alignas(64) DepthwiseTable : DepthwiseQuantParams {
  int8_t weights[3][2][4][64];  // kernel row, column, vector
  int8_t rest[3][2][4][64];
  bool has_rest;
};

INGOT_INLINE void interleave_taps(const __m512i (&p)[4], __m512i (&q)[4]) {
  const __m512i a = _mm512_unpacklo_epi8(p[0], p[1]), b = _mm512_unpackhi_epi8(p[0], p[1]),
                c = _mm512_unpacklo_epi8(p[2], p[3]), d = _mm512_unpackhi_epi8(p[2], p[3]);
  q[0] = _mm512_unpacklo_epi16(a, c), q[1] = _mm512_unpackhi_epi16(a, c);
  q[2] = _mm512_unpacklo_epi16(b, d), q[3] = _mm512_unpackhi_epi16(b, d);
}

/// The taps of up to 64 channels, again and again where they are `period` < 64, a power of two.
INGOT_INLINE __m512i repeated_taps(const int8_t* from, int64_t channels, int64_t period) {
  if (period == 64) return _mm512_maskz_loadu_epi8(~0ull >> (64 - channels), from);
  alignas(64) int8_t taps[64];
  std::memcpy(taps, from, size_t(period));
  for (int64_t n = period; n < 64; n *= 2) std::memcpy(taps + n, taps, size_t(n));
  return _mm512_load_si512(taps);
}

/// Of n channels: those that divide 64 repeat, for pixels that lie together in a vector.
inline int64_t depthwise_period(int64_t n) { return n >= 4 && 64 % n == 0 ? n : 64; }

inline void store_taps(const __m512i (&taps)[4], int8_t (&to)[4][64]) {
  __m512i q[4];
  interleave_taps(taps, q);
  for (int j = 0; j < 4; j++) _mm512_storeu_si512(to[j], q[j]);
}

/// Of n <= 64 channels.
inline void fill_depthwise_steps(const Requantization& r, int64_t n, DepthwiseQuantParams* t) {
  const int64_t period = depthwise_period(n);
  const float* const multipliers = r.floats(1);
  const int64_t padded = round_up(n, kPanel);  // as they are stored
  for (int64_t j = 0; j < 4; j++)
    for (int64_t lane = 0; lane < 4; lane++) {
      int64_t c = (16 * lane + 4 * j) & (period - 1);
      if (c >= padded) c = 0;  // is not stored
      std::memcpy(t->bias[j] + 4 * lane, r.bias() + c, 16);
      std::memcpy(t->multipliers[j] + 4 * lane, multipliers + c, 16);
    }
}

/// Of n <= 64 channels.
inline void fill_depthwise_table(const int8_t* weights, int64_t weight_row, const Requantization& r,
                                 int64_t n, DepthwiseTable* t) {
  const int64_t period = depthwise_period(n);
  const __m512i none = _mm512_setzero_si512(), zero = _mm512_set1_epi8(int8_t(r.w_zero));
  t->has_rest = r.w_zero != 0;
  for (int ky = 0; ky < 3; ky++) {
    __m512i w[3], rest[3];
    for (int kx = 0; kx < 3; kx++) {
      const __m512i tap = repeated_taps(weights + (ky * 3 + kx) * weight_row, n, period);
      w[kx] = _mm512_subs_epi8(tap, zero);
      rest[kx] = _mm512_sub_epi8(_mm512_sub_epi8(tap, zero), w[kx]);
    }
    store_taps({w[0], w[1], w[2], none}, t->weights[ky][0]);
    store_taps({none, w[0], w[1], w[2]}, t->weights[ky][1]);
    if (!t->has_rest) continue;
    store_taps({rest[0], rest[1], rest[2], none}, t->rest[ky][0]);
    store_taps({none, rest[0], rest[1], rest[2]}, t->rest[ky][1]);
  }
  fill_depthwise_steps(r, n, t);
}

template <DepthwisePart P>
struct DepthwiseLanes {
  int64_t in_next = 0, out_next = 0;  // kHalves, kQuarters: from one row to the next
  __mmask64 keep = 0;
  static INGOT_INLINE __m128i quarter(const uint8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static INGOT_INLINE void store_quarter(uint8_t* p, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  INGOT_INLINE __m512i load(const uint8_t* p) const {
    if constexpr (P == DepthwisePart::kMasked) return _mm512_maskz_loadu_epi8(keep, p);
    if constexpr (P == DepthwisePart::kHalves)
      return _mm512_inserti64x4(
          _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + in_next)), 1);
    if constexpr (P == DepthwisePart::kQuarters) {
      __m512i v = _mm512_castsi128_si512(quarter(p));
      v = _mm512_inserti32x4(v, quarter(p + in_next), 1);
      v = _mm512_inserti32x4(v, quarter(p + 2 * in_next), 2);
      return _mm512_inserti32x4(v, quarter(p + 3 * in_next), 3);
    }
    return _mm512_loadu_si512(p);
  }
  INGOT_INLINE void store(uint8_t* p, __m512i v) const {
    if constexpr (P == DepthwisePart::kMasked) return _mm512_mask_storeu_epi8(p, keep, v);
    if constexpr (P == DepthwisePart::kHalves) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(v));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + out_next),
                          _mm512_extracti64x4_epi64(v, 1));
      return;
    }
    if constexpr (P == DepthwisePart::kQuarters) {
      store_quarter(p, _mm512_castsi512_si128(v));
      store_quarter(p + out_next, _mm512_extracti32x4_epi32(v, 1));
      store_quarter(p + 2 * out_next, _mm512_extracti32x4_epi32(v, 2));
      store_quarter(p + 3 * out_next, _mm512_extracti32x4_epi32(v, 3));
      return;
    }
    _mm512_storeu_si512(p, v);
  }
};

INGOT_INLINE void dot_taps(__m512i& sum, __m512i bytes, const int8_t* weights) {
  asm("vpdpbusd %2, %1, %0"
      : "+v"(sum)
      : "v"(bytes), "m"(*reinterpret_cast<const int8_t(*)[64]>(weights)));
}

/// Four vectors of interleaved pixels times the taps of a kernel row, at one of its two places.
INGOT_INLINE void dot_row(__m512i (&sums)[4], const __m512i (&q)[4], const DepthwiseTable& t, int y,
                          int x) {
  INGOT_UNROLL for (int j = 0; j < 4; j++) dot_taps(sums[j], q[j], t.weights[y][x][j]);
  if (__builtin_expect(!t.has_rest, 1)) return;
  INGOT_UNROLL for (int j = 0; j < 4; j++) dot_taps(sums[j], q[j], t.rest[y][x][j]);
}

INGOT_INLINE __m512i finish_depthwise(const __m512i (&sums)[4], const DepthwiseQuantParams& t,
                                      const Requantization& r) {
  const __m512 high = _mm512_set1_ps(float(r.high - r.zero));
  __m512i v[4];
  INGOT_UNROLL for (int j = 0; j < 4; j++) {
    const __m512 step =
        _mm512_mul_ps(_mm512_cvtepi32_ps(sums[j]), _mm512_load_ps(t.multipliers[j]));
    v[j] = _mm512_cvtps_epi32(_mm512_min_ps(step, high));
  }
  const __m512i zero = _mm512_set1_epi16(int16_t(r.zero));
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), zero),
                top = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), zero);
  return _mm512_max_epu8(_mm512_packus_epi16(low, top), _mm512_set1_epi8(int8_t(r.low)));
}

/// Input row y of a block of stride 1, and every one after it. A function a row: GCC keeps sums in
/// memory where a loop over rows is unrolled after arrays became registers.
template <int y, int kRows, int kCols, DepthwisePart P>
INGOT_INLINE void add_rows(const uint8_t* in, const DepthwiseBlock& b,
                           const DepthwiseLanes<P>& lanes, const DepthwiseTable& t,
                           __m512i (&sums)[kRows][kCols][4]) {
  __m512i taps[4], q[4];
  INGOT_UNROLL for (int k = 0; k < 3; k++) taps[k] = lanes.load(in + k * b.pixel);
  taps[3] = kCols == 2 ? lanes.load(in + 3 * b.pixel) : _mm512_setzero_si512();
  interleave_taps(taps, q);
  INGOT_UNROLL for (int r = 0; r < kRows; r++) {
    if (y - r >= 0 && y - r < 3) {
      INGOT_UNROLL for (int x = 0; x < kCols; x++) dot_row(sums[r][x], q, t, y - r, x);
    }
  }
  if constexpr (y + 1 < kRows + 2)
    add_rows<y + 1, kRows, kCols, P>(in + b.in_row, b, lanes, t, sums);
}

/// Stride 1: kRows rows by two columns (one where pixels are flat).
template <int kRows, DepthwisePart P>
INGOT_INLINE void depthwise_stride1(const uint8_t* in, uint8_t* out, const DepthwiseBlock& b,
                                    const DepthwiseLanes<P>& lanes, const DepthwiseTable& t) {
  constexpr int kCols = P == DepthwisePart::kFlat ? 1 : 2;
  __m512i sums[kRows][kCols][4];
  INGOT_UNROLL for (int j = 0; j < 4; j++) {
    const __m512i bias = _mm512_load_si512(t.bias[j]);
    INGOT_UNROLL for (int r = 0; r < kRows; r++) {
      INGOT_UNROLL for (int x = 0; x < kCols; x++) sums[r][x][j] = bias;
    }
  }
  add_rows<0, kRows, kCols, P>(in, b, lanes, t, sums);
  INGOT_UNROLL for (int r = 0; r < kRows; r++) {
    INGOT_UNROLL for (int x = 0; x < kCols; x++) lanes.store(
        out + r * b.out_row + x * b.out_pixel, finish_depthwise(sums[r][x], t, *b.requantization));
  }
}

/// Stride 2: one row by two columns, pixels 0 .. 2 and 2 .. 4.
template <DepthwisePart P>
INGOT_INLINE void depthwise_stride2(const uint8_t* in, uint8_t* out, const DepthwiseBlock& b,
                                    const DepthwiseLanes<P>& lanes, const DepthwiseTable& t) {
  __m512i sums[2][4];
  INGOT_UNROLL for (int x = 0; x < 2; x++) INGOT_UNROLL for (int j = 0; j < 4; j++) sums[x][j] =
      _mm512_load_si512(t.bias[j]);
  const __m512i none = _mm512_setzero_si512();
  INGOT_UNROLL for (int y = 0; y < 3; y++) {
    __m512i p[5], q[4];
    INGOT_UNROLL for (int k = 0; k < 5; k++) p[k] = lanes.load(in + y * b.in_row + k * b.pixel);
    interleave_taps({p[0], p[1], p[2], none}, q);
    dot_row(sums[0], q, t, y, 0);
    interleave_taps({p[2], p[3], p[4], none}, q);
    dot_row(sums[1], q, t, y, 0);
  }
  INGOT_UNROLL for (int x = 0; x < 2; x++)
      lanes.store(out + x * b.out_pixel, finish_depthwise(sums[x], t, *b.requantization));
}

/// kRows rows of outputs, of all columns. A function of its own, so that nothing but the block
/// wants registers.
template <int kStride, int kRows, DepthwisePart P>
__attribute__((noinline)) void depthwise_rows3(const uint8_t* in, uint8_t* out,
                                               const DepthwiseBlock& b,
                                               const DepthwiseLanes<P>& lanes,
                                               const DepthwiseTable& t) {
  constexpr bool kFlat = P == DepthwisePart::kFlat;
  const int64_t step = kFlat ? 64 : 2, in_step = kFlat ? 1 : kStride * b.pixel,
                out_step = kFlat ? 1 : b.out_pixel, cols = b.cols;
  for (int64_t x = 0; x < cols; x += step) {
    const int64_t at = x + step <= cols ? x : cols - step;  // the last may overlap
    const uint8_t* const from = in + at * in_step;
    uint8_t* const to = out + at * out_step;
    if constexpr (kStride == 1)
      depthwise_stride1<kRows, P>(from, to, b, lanes, t);
    else
      depthwise_stride2<P>(from, to, b, lanes, t);
    asm volatile("" ::: "memory");  // keeps the table in memory, where dot products read it
  }
}

template <int kStride, DepthwisePart P>
void depthwise_part(DepthwiseBlock b, const DepthwiseTable& table) {
  DepthwiseLanes<P> lanes;
  if constexpr (P == DepthwisePart::kMasked) lanes.keep = ~0ull >> (64 - b.channels);
  // each takes its share of the rows
  constexpr int kShares = P == DepthwisePart::kHalves ? 2 : P == DepthwisePart::kQuarters ? 4 : 1;
  if (kShares > 1 && b.rows % kShares) {  // the last rows alone, some of them a second time
    DepthwiseBlock end = b;
    const int64_t first = b.rows - kShares;
    end.in += first * b.stride_h * b.in_row, end.out += first * b.out_row, end.rows = kShares;
    depthwise_part<kStride, P>(end, table);
    b.rows -= b.rows % kShares;
  }
  b.rows /= kShares;
  lanes.in_next = b.rows * b.stride_h * b.in_row, lanes.out_next = b.rows * b.out_row;
  const int64_t down = b.stride_h * b.in_row;
  if (kStride == 1 && b.stride_h == 1 && b.rows > 1) {
    for (int64_t i = 0; i < b.rows; i += 2) {
      const int64_t y = i + 2 <= b.rows ? i : b.rows - 2;
      depthwise_rows3<1, 2, P>(b.in + y * down, b.out + y * b.out_row, b, lanes, table);
    }
    return;
  }
  for (int64_t y = 0; y < b.rows; y++)
    depthwise_rows3<kStride, 1, P>(b.in + y * down, b.out + y * b.out_row, b, lanes, table);
}

/// Pixels whose channels divide 64 and lie together, 64 bytes of them or more in a row.
inline bool is_flat(const DepthwiseBlock& b) {
  return b.pixel == b.channels && b.out_pixel == b.channels && depthwise_period(b.channels) < 64 &&
         b.cols * b.channels >= 64;
}

template <int kStride>
void depthwise_channels(DepthwiseBlock b, const DepthwiseTable& table) {
  const int64_t n = b.channels;
  if (n == 64) return depthwise_part<kStride, DepthwisePart::kFull>(b, table);
  if (kStride == 1 && is_flat(b)) {
    b.cols *= n;
    return depthwise_part<kStride, DepthwisePart::kFlat>(b, table);
  }
  if (n == 32 && b.rows >= 2) return depthwise_part<kStride, DepthwisePart::kHalves>(b, table);
  if (n == 16 && b.rows >= 4) return depthwise_part<kStride, DepthwisePart::kQuarters>(b, table);
  depthwise_part<kStride, DepthwisePart::kMasked>(b, table);
}

inline bool is_depthwise3(const QuantizedConv2dAttributes& t, int64_t cols, int64_t) {
  return t.kernel_h == 3 && t.kernel_w == 3 && t.dilation_h == 1 && t.dilation_w == 1 &&
         t.stride_w <= 2 && t.w_zero > -128 && t.w_zero < 128 &&
         t.requant == RequantMode::kFloatEven && cols >= 2;
}

/// One band of at most 64 channels.
inline DepthwiseBlock depthwise_block(const Int8ConvJob& j, const Int8Band& band, Range rows,
                                      Range cols) {
  DepthwiseBlock b;
  b.in = band.at, b.in_row = band.row_stride, b.pixel = band.pixel_stride;
  b.out = j.out.row(rows.begin) + cols.begin * j.out.pixel_stride;
  b.out_row = j.out.row_stride, b.out_pixel = j.out.pixel_stride;
  b.rows = rows.count(), b.cols = cols.count(), b.requantization = j.requantization;
  b.channels = j.in.c, b.stride_h = j.t->stride_h;
  return b;
}

template <class V>
void depthwise3_band(const Int8ConvJob& j, const Int8Band& band, Range rows, Range cols,
                     const DepthwiseTable& table) {
  const DepthwiseBlock b = depthwise_block(j, band, rows, cols);
  if (j.t->stride_w == 1)
    depthwise_channels<1>(b, table);
  else
    depthwise_channels<2>(b, table);
}

}  // namespace
}  // namespace ingot::cpu
