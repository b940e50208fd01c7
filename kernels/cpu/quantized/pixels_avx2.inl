// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/pixels_avx2.inl - products of bytes for AVX2 without VNNI: 32 pixels in the
// lanes of four vectors, weights broadcast.
//
// vpmaddubsw multiplies four bytes by four weights and saturates the sums of two. The largest byte
// of a tile and what the weights of a panel sum up to, found once for all pixels of a call, say
// whether the sums of two, four or eight products fit 16 bits. Where not even those of two do,
// bytes become signed and weights unsigned, whose sums always do: the same integers as everywhere.
#pragma once
#include "kernels/cpu/quantized/tile_shape.inl"

namespace ingot::cpu {
namespace {

constexpr int kLanePixels = 32;        // of a tile
constexpr int64_t kLaneBytes = 128;    // of each pixel that a tile packs at a time: 32 groups
constexpr int64_t kLaneChunks = 48;    // of a panel: more are left to the other tiles
constexpr int64_t kFewestPixels = 12;  // fewer are not worth the search
constexpr int64_t kLaneBand = 256;     // pixels of a band that nothing is copied to
constexpr int kLanePanels = 4;         // that share what a tile has packed

/// Of the weights of one panel, chunk by chunk: the most that those of one sign sum up to in pairs
/// of one group, of two and of four groups that follow each other; and what products by signed
/// bytes lack.
struct WeightBounds {
  int16_t most[kLaneChunks][3];
  alignas(32) int32_t lacking[kLaneChunks][kPanel];
};

inline int64_t lane_bytes(const Int8TileShape& x) { return x.segment_count * x.segment_length; }

/// True where tiles of this kind compute `pixels` pixels.
inline bool takes_lanes(const Int8TileShape& x, int64_t pixels) {
  return pixels >= kFewestPixels && x.plane == 0 && lane_bytes(x) <= kLaneChunks * kLaneBytes;
}

INGOT_INLINE int16_t largest_word(__m256i v) {
  __m128i x = _mm_max_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  x = _mm_xor_si128(x, _mm_set1_epi16(0x7fff));  // none is negative: the least is what was largest
  return int16_t(_mm_extract_epi16(_mm_minpos_epu16(x), 0) ^ 0x7fff);
}

/// Sums of the pairs of eight outputs' weights: positive, negative.
struct BothSigns {
  __m256i up, down;
};
/// What kGroups <= 4 groups sum up to, as far as tiles add them without a step between; `all` of
/// eight outputs each grows by them.
template <int kGroups>
INGOT_INLINE void bound_groups(const int8_t* w, __m256i (&largest)[3], BothSigns (&all)[2]) {
  const auto larger = [&](int which, const BothSigns& of) {
    largest[which] = _mm256_max_epi16(largest[which], _mm256_max_epi16(of.up, of.down));
  };
  const auto sum = [](const BothSigns& a, const BothSigns& b) {
    return BothSigns{_mm256_add_epi16(a.up, b.up), _mm256_add_epi16(a.down, b.down)};
  };
  INGOT_UNROLL for (int h = 0; h < 2; h++) {
    BothSigns of[kGroups];
    INGOT_UNROLL for (int g = 0; g < kGroups; g++) {
      const __m256i one = _mm256_set1_epi8(1),
                    v = _mm256_loadu_si256(
                        reinterpret_cast<const __m256i*>(w + g * 4 * kPanel + 32 * h));
      of[g].up = _mm256_maddubs_epi16(one, _mm256_max_epi8(v, _mm256_setzero_si256()));
      of[g].down = _mm256_sub_epi16(of[g].up, _mm256_maddubs_epi16(one, v));
      larger(0, of[g]);
    }
    INGOT_UNROLL for (int level = 1, n = kGroups / 2; n > 0; level++, n /= 2)
        INGOT_UNROLL for (int i = 0; i < n; i++) {
      of[i] = sum(of[2 * i], of[2 * i + 1]);
      larger(level, of[i]);
    }
    all[h] = sum(all[h], of[0]);
  }
}

INGOT_INLINE void bound_chunk(const int8_t* w, int64_t groups, int16_t (&most)[3],
                              int32_t* lacking) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i largest[3] = {zero, zero, zero};
  BothSigns all[2] = {{zero, zero}, {zero, zero}};
  const int8_t *const end = w + groups * 4 * kPanel, *const fours = end - groups % 4 * 4 * kPanel;
  for (; w != fours; w += 16 * kPanel) bound_groups<4>(w, largest, all);
  if (groups % 4 >= 2) bound_groups<2>(w, largest, all), w += 8 * kPanel;
  if (groups % 2) bound_groups<1>(w, largest, all);
  for (int i = 0; i < 3; i++) most[i] = largest_word(largest[i]);
  // sums of w * (x - 128), and of w * (x - 127) where w is negative
  INGOT_UNROLL for (int h = 0; h < 2; h++) {
    const __m256i up = _mm256_madd_epi16(all[h].up, _mm256_set1_epi16(128)),
                  down = _mm256_madd_epi16(all[h].down, _mm256_set1_epi16(127));
    _mm256_store_si256(reinterpret_cast<__m256i*>(lacking + 8 * h), _mm256_sub_epi32(up, down));
  }
}

inline void bound_weights(const Int8TileShape& x, const int8_t* w, WeightBounds* bounds) {
  const int64_t bytes = lane_bytes(x);
  for (int64_t c = 0; c * kLaneBytes < bytes; c++)
    bound_chunk(w + c * kLaneBytes * kPanel, min_of(kLaneBytes, bytes - c * kLaneBytes) / 4,
                bounds->most[c], bounds->lacking[c]);
}

/// Vectors of eight numbers, rows to columns.
INGOT_INLINE void transpose_eight(__m256i (&v)[8]) {
  __m256i a[8], b[8];
  INGOT_UNROLL for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_epi32(v[i], v[i + 1]);
    a[i + 1] = _mm256_unpackhi_epi32(v[i], v[i + 1]);
  }
  INGOT_UNROLL for (int i = 0; i < 8; i += 4) INGOT_UNROLL for (int k = 0; k < 2; k++) {
    b[i + 2 * k] = _mm256_unpacklo_epi64(a[i + k], a[i + k + 2]);
    b[i + 2 * k + 1] = _mm256_unpackhi_epi64(a[i + k], a[i + k + 2]);
  }
  INGOT_UNROLL for (int i = 0; i < 4; i++) {
    v[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
    v[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
  }
}

/// n bytes of eight pixels, by groups of four, kVectors apart. @return the largest of them and of
/// `largest`, lane by lane
template <int kVectors>
INGOT_INLINE __m256i pack_pixels(const uint8_t* const* at, int64_t from, int64_t n, __m256i* to,
                                 __m256i largest) {
  for (const int64_t end = from + n; from < end; from += 32, to += 8 * kVectors) {
    __m256i v[8];
    const int64_t left = (end - from) / 4;
    if (left >= 8) {
      INGOT_UNROLL for (int i = 0; i < 8; i++) v[i] =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at[i] + from));
    } else {
      const __m256i keep = _mm256_cmpgt_epi32(_mm256_set1_epi32(int32_t(left)),
                                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
      INGOT_UNROLL for (int i = 0; i < 8; i++) v[i] =
          _mm256_maskload_epi32(reinterpret_cast<const int*>(at[i] + from), keep);
    }
    transpose_eight(v);
    INGOT_UNROLL for (int i = 0; i < 8; i++) {
      to[i * kVectors] = v[i];
      largest = _mm256_max_epu8(largest, v[i]);
    }
  }
  return largest;
}
INGOT_INLINE int largest_byte(__m256i v) {
  const __m256i even = _mm256_and_si256(v, _mm256_set1_epi16(0xff));
  return largest_word(_mm256_max_epi16(even, _mm256_srli_epi16(v, 8)));
}

INGOT_INLINE __m256i broadcast_group(const int8_t* w) {
  int32_t four;
  std::memcpy(&four, w, 4);
  return _mm256_set1_epi32(four);
}

/// Signs and sizes of weights, which products by signed bytes take.
struct SignedWeights {
  alignas(64) int8_t sizes[kLaneBytes * kPanel], flips[kLaneBytes * kPanel];
};
INGOT_INLINE void split_weights(const int8_t* w, int64_t groups, SignedWeights* to) {
  for (int64_t i = 0; i < groups * 4 * kPanel; i += 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + i));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to->sizes + i), _mm256_abs_epi8(v));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to->flips + i),
                       _mm256_cmpgt_epi8(_mm256_setzero_si256(), v));
  }
}

/// Products of kGroups groups. No groups: those of one, of bytes less 128 and SignedWeights.
template <int kVectors, int kGroups>
INGOT_INLINE void add_products(const __m256i* p, const int8_t* w,
                               __m256i (&acc)[8 / kVectors][kVectors]) {
  constexpr int kOutputs = 8 / kVectors, kRead = kGroups ? kGroups : 1;
  INGOT_UNROLL for (int i = 0; i < kOutputs; i++) {
    __m256i weights[kRead];
    INGOT_UNROLL for (int g = 0; g < kRead; g++) weights[g] =
        broadcast_group(w + (g * kPanel + i) * 4);
    __m256i flips = weights[0];
    if constexpr (kGroups == 0) flips = broadcast_group(w + kLaneBytes * kPanel + i * 4);
    INGOT_UNROLL for (int v = 0; v < kVectors; v++) {
      __m256i words = kGroups ? _mm256_maddubs_epi16(p[v], weights[0])
                              : _mm256_maddubs_epi16(weights[0], _mm256_xor_si256(p[v], flips));
      INGOT_UNROLL for (int g = 1; g < kGroups; g++) words =
          _mm256_add_epi16(words, _mm256_maddubs_epi16(p[g * kVectors + v], weights[g]));
      const __m256i products = _mm256_madd_epi16(words, _mm256_set1_epi16(1));
      // one by one: GCC would compute all products first, and keep sums on the stack
      asm("vpaddd %1, %0, %0" : "+x"(acc[i][v]) : "x"(products));
    }
  }
}

/// `groups` groups of packed pixels times those of `outputs` outputs, added to
/// sums[output][vector], kGroups at a time; without groups `lacking` of each output too. A
/// function, so that sums are in registers.
template <int kVectors, int kGroups>
__attribute__((noinline)) void add_pixels(const __m256i* x, int64_t groups, const int8_t* w,
                                          int outputs, const int32_t* lacking, __m256i* sums) {
  constexpr int kOutputs = 8 / kVectors, kStep = kGroups ? kGroups : 1;
  for (int o = 0; o < outputs; o += kOutputs, sums += kOutputs * kVectors) {
    __m256i acc[kOutputs][kVectors];
    INGOT_UNROLL for (int i = 0; i < kOutputs; i++) INGOT_UNROLL for (int v = 0; v < kVectors; v++)
        acc[i][v] =
            kGroups ? sums[i * kVectors + v]
                    : _mm256_add_epi32(sums[i * kVectors + v], _mm256_set1_epi32(lacking[o + i]));
    const int8_t* at = w + 4 * o;
    const __m256i *p = x, *const end = x + groups * kVectors,
                  *const steps = end - groups % kStep * kVectors;
    for (; p != steps; p += kStep * kVectors, at += kStep * 4 * kPanel)
      add_products<kVectors, kGroups>(p, at, acc);
    if constexpr (kStep > 1)
      for (; p != end; p += kVectors, at += 4 * kPanel) add_products<kVectors, 1>(p, at, acc);
    INGOT_UNROLL for (int i = 0; i < kOutputs; i++) INGOT_UNROLL for (int v = 0; v < kVectors; v++)
        sums[i * kVectors + v] = acc[i][v];
  }
}

/// What a tile of 32 pixels or 16 has: where they are read and written, the last one again in lanes
/// left over; the sums of each panel's outputs.
struct LaneTile {
  int vectors = 0;
  const uint8_t* at[kLanePixels];
  uint8_t* out[kLanePixels];
  alignas(64) __m256i sums[kLanePanels * kPanel * kLanePixels / 8];
};

inline void find_pixels(const Int8TileShape& x, const Int8TileAt& t, const PixelRows& rows,
                        Range pixels, LaneTile* tile) {
  const int64_t row = pixels.begin / rows.row;
  int64_t column = pixels.begin % rows.row;
  const uint8_t* at = t.a + row * rows.down + column * x.pixel_stride;
  uint8_t* out = t.out + row * rows.out_down + column * x.out_stride;
  for (int i = 0; i < tile->vectors * 8; i++) {
    tile->at[i] = at, tile->out[i] = out;
    if (pixels.begin + i + 1 >= pixels.end) continue;
    at += x.pixel_stride, out += x.out_stride;
    if (++column < rows.row) continue;
    column = 0;
    at += rows.down - rows.row * x.pixel_stride, out += rows.out_down - rows.row * x.out_stride;
  }
}

/// Sums of the tile's `pixels`, weights' zero point taken into account.
template <int kVectors>
__attribute__((noinline)) void multiply_pixels(const Int8TileShape& x, const Int8TileAt& t,
                                               Range pixels, LaneTile* tile) {
  // eight groups are packed at a time
  constexpr int kPacked = (kLaneBytes / 4 + 8) * kVectors, kSums = kPanel * kVectors;
  alignas(64) __m256i packed[kPacked], less[kPacked];
  SignedWeights split;
  const int panels = int(ceil_div(t.cols, kPanel));
  const int32_t* const starts = x.requantization->starts(t.output);
  alignas(32) int32_t zeros[kVectors * 8] = {};  // what each pixel lacks
  if (x.requantization->w_zero != 0)
    for (int64_t i = 0; i < pixels.count(); i++)
      zeros[i] = int32_t(uint32_t(t.sums[pixels.begin + i]) * uint32_t(x.requantization->w_zero));
  for (int o = 0; o < panels * kPanel; o++)
    INGOT_UNROLL for (int v = 0; v < kVectors; v++) tile->sums[o * kVectors + v] =
        _mm256_sub_epi32(_mm256_set1_epi32(starts[o]),
                         _mm256_load_si256(reinterpret_cast<const __m256i*>(zeros) + v));
  const int64_t bytes = lane_bytes(x);
  const Segment* segment = x.segments;
  int64_t from = 0;  // of the segment
  for (int64_t read = 0, n; read < bytes; read += n) {
    n = min_of(kLaneBytes, bytes - read);
    __m256i largest = _mm256_setzero_si256();
    for (int64_t k = 0, part; k < n; k += part) {
      part = min_of(n - k, x.segment_length - from);
      for (int v = 0; v < kVectors; v++)
        largest = pack_pixels<kVectors>(tile->at + v * 8, segment->a + from, part,
                                        packed + k / 4 * kVectors + v, largest);
      from += part;
      if (from == x.segment_length) from = 0, segment++;
    }
    const int64_t chunk = read / kLaneBytes;
    const int most = 32767 / max_of(1, largest_byte(largest));
    bool has_less = false;
    for (int p = 0; p < panels; p++) {
      const WeightBounds& bounds = x.bounds[p];
      const int16_t(&sum)[3] = bounds.most[chunk];
      const int8_t* const w = t.b + p * x.panel_stride + read * kPanel;
      const int outputs = int(min_of(t.cols - p * kPanel, kPanel));
      __m256i* const to = tile->sums + p * kSums;
      if (sum[0] <= most) {
        (sum[2] <= most   ? add_pixels<kVectors, 4>
         : sum[1] <= most ? add_pixels<kVectors, 2>
                          : add_pixels<kVectors, 1>)(packed, n / 4, w, outputs, nullptr, to);
        continue;
      }
      for (int64_t i = 0; i < n / 4 * kVectors && !has_less; i++)
        less[i] = _mm256_xor_si256(packed[i], _mm256_set1_epi8(-128));
      has_less = true;
      split_weights(w, n / 4, &split);
      add_pixels<kVectors, 0>(less, n / 4, split.sizes, outputs, bounds.lacking[chunk], to);
    }
  }
}

/// Eight words of a lane of v[i], rows to columns.
INGOT_INLINE void transpose_words(__m256i (&v)[8]) {
  __m256i a[8];
  INGOT_UNROLL for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_epi16(v[i], v[i + 1]);
    a[i + 1] = _mm256_unpackhi_epi16(v[i], v[i + 1]);
  }
  INGOT_UNROLL for (int i = 0; i < 8; i += 4) INGOT_UNROLL for (int k = 0; k < 2; k++) {
    v[i + 2 * k] = _mm256_unpacklo_epi32(a[i + k], a[i + k + 2]);
    v[i + 2 * k + 1] = _mm256_unpackhi_epi32(a[i + k], a[i + k + 2]);
  }
  INGOT_UNROLL for (int i = 0; i < 4; i++) {
    a[2 * i] = _mm256_unpacklo_epi64(v[i], v[i + 4]);
    a[2 * i + 1] = _mm256_unpackhi_epi64(v[i], v[i + 4]);
  }
  INGOT_UNROLL for (int i = 0; i < 8; i++) v[i] = a[i];
}

/// Sums of one output and sixteen pixels -> steps from the zero point, 0 .. 3, 8 .. 11 and
/// 4 .. 7, 12 .. 15.
INGOT_INLINE __m256i lane_steps(const __m256i* sums, float multiplier, __m256 high) {
  __m256i steps[2];
  INGOT_UNROLL for (int v = 0; v < 2; v++) {
    const __m256 step = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[v]), _mm256_set1_ps(multiplier));
    steps[v] = _mm256_cvtps_epi32(_mm256_min_ps(step, high));
  }
  return _mm256_packs_epi32(steps[0], steps[1]);
}

/// The bytes of `n` pixels, as Dot::finish_bytes() would make them: lanes become bytes before they
/// become pixels.
__attribute__((noinline)) inline void store_lane_bytes(const Requantization& r, const Int8TileAt& t,
                                                       const LaneTile& tile, int64_t n) {
  const __m256 high = _mm256_set1_ps(float(r.high - r.zero));
  const __m256i zero = _mm256_set1_epi16(int16_t(r.zero)), low = _mm256_set1_epi8(int8_t(r.low));
  const __m256i pairs = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
  const float* const multipliers = r.floats(1) + t.output;
  const int64_t cols = t.cols;
  for (int64_t o = 0; o < cols; o += kPanel)
    for (int v = 0; 8 * v < n; v += 2) {
      __m256i both[8];
      INGOT_UNROLL for (int i = 0; i < 8; i++) {
        const int64_t first = o + 2 * i;
        const __m256i* const sums = tile.sums + first * tile.vectors + v;
        const __m256i a = lane_steps(sums, multipliers[first], high),
                      b = lane_steps(sums + tile.vectors, multipliers[first + 1], high);
        both[i] = _mm256_shuffle_epi8(
            _mm256_packus_epi16(_mm256_adds_epi16(a, zero), _mm256_adds_epi16(b, zero)), pairs);
      }
      transpose_words(both);
      // pixels 0 and 4, 1 and 5, .. 8 and 12, ..
      const auto pixel_of = [&](int i) { return 8 * v + i / 4 * 8 + i % 4; };
      INGOT_UNROLL for (int i = 0; i < 8; i++) both[i] = _mm256_max_epu8(both[i], low);
      if (8 * v + 16 <= n && o + kPanel <= cols) {
        INGOT_UNROLL for (int i = 0; i < 8; i++) {
          uint8_t* const* const to = tile.out + pixel_of(i);
          _mm_storeu_si128(reinterpret_cast<__m128i*>(to[0] + o), _mm256_castsi256_si128(both[i]));
          _mm_storeu_si128(reinterpret_cast<__m128i*>(to[4] + o),
                           _mm256_extracti128_si256(both[i], 1));
        }
        continue;
      }
      for (int i = 0; i < 16; i++) {
        const int pixel = pixel_of(i / 2) + i % 2 * 4;
        if (pixel < n)
          Dot::store_bytes(tile.out[pixel] + o, reinterpret_cast<const __m128i*>(both)[i],
                           cols - o);
      }
    }
}

/// Sums as rows of the panels' outputs.
inline void sums_of_pixels(const LaneTile& tile, int panels, int32_t* out) {
  for (int o = 0; o < panels * 2; o++)
    for (int v = 0; v < tile.vectors; v++) {
      __m256i block[8];
      INGOT_UNROLL for (int i = 0; i < 8; i++) block[i] = tile.sums[(8 * o + i) * tile.vectors + v];
      transpose_eight(block);
      INGOT_UNROLL for (int i = 0; i < 8; i++) _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(out + (8 * v + i) * panels * kPanel + 8 * o), block[i]);
    }
}

}  // namespace
}  // namespace ingot::cpu
