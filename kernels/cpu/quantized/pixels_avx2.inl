// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/pixels_avx2.inl - products of bytes for AVX2 without VNNI: sixteen pixels
// in the lanes of two vectors, weights broadcast.
//
// vpmaddubsw multiplies four bytes by four weights and saturates the sums of two. A pair of weights
// of one sign whose sum leaves -128 .. 127 could saturate. Such groups of four are found once for
// all pixels of a call, and what saturation took is added afterwards: the same integers as
// everywhere. In lanes of pixels a group is one output's; in lanes of outputs nearly every step of
// sixteen would have one.
#pragma once
#include "kernels/cpu/quantized/tile_shape.inl"

namespace ingot::cpu {
namespace {

constexpr int kLanePixels = 16;        // of a tile
constexpr int64_t kLaneBytes = 128;    // of each pixel that a tile packs at a time: 32 groups
constexpr int64_t kLaneChunks = 64;    // of a panel: more are left to the other tiles
constexpr int64_t kFewestPixels = 32;  // fewer are not worth the search
constexpr int64_t kDenseUnsafe = 40;   // a group in ten
constexpr int kLanePanels = 2;         // that share what a tile has packed

constexpr int kMaxUnsafe = 1024;  // groups of a panel

/// Groups of one panel that could saturate, as 16 * group + output of their chunk, and how many
/// there are up to the end of each chunk. Of level 0 those with bytes above 128; of level 1 those
/// with bytes above 192 alone, which in most chunks there are none of.
struct UnsafeGroups {
  uint16_t groups[2][kMaxUnsafe], ends[2][kLaneChunks];
};
constexpr int16_t kSafeSum = 128, kNearlySafeSum = 170;  // times 255, times 192: they fit 16 bits

/// True where tiles of this kind compute `pixels` pixels.
inline bool takes_lanes(const Int8TileShape& x, int64_t pixels) {
  return pixels >= kFewestPixels && x.plane == 0 &&
         x.segment_count * ceil_div(x.segment_length, kLaneBytes) <= kLaneChunks;
}

/// Calls f(segment, first byte, bytes) for what a tile packs at a time.
template <class F>
INGOT_INLINE void for_lane_chunks(const Int8TileShape& x, F f) {
  for (const Segment* s = x.segments; s != x.segments + x.segment_count; s++)
    for (int64_t from = 0; from < x.segment_length; from += kLaneBytes)
      f(*s, from, min_of(kLaneBytes, x.segment_length - from));
}

/// A bit for each of eight outputs whose group holds a pair with |w0 + w1| > most.
INGOT_INLINE uint32_t outputs_above(int16_t most, const int8_t* w) {
  const __m256i weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
  const __m256i sums = _mm256_maddubs_epi16(_mm256_set1_epi8(1), weights);
  const __m256i above = _mm256_cmpgt_epi16(_mm256_abs_epi16(sums), _mm256_set1_epi16(most));
  const __m256i none = _mm256_cmpeq_epi32(above, _mm256_setzero_si256());
  return uint32_t(_mm256_movemask_ps(_mm256_castsi256_ps(none))) ^ 0xff;
}

/// False where there are so many of them that other tiles are faster.
inline bool find_unsafe(const Int8TileShape& x, const int8_t* w, UnsafeGroups* found) {
  const int64_t most = min_of(kMaxUnsafe, x.panel_stride / kDenseUnsafe);
  int64_t counts[2] = {}, chunk = 0;
  const auto put = [&](int level, int64_t g, uint32_t outputs) {
    for (; outputs; outputs &= outputs - 1)
      if (counts[level]++ < most)
        found->groups[level][counts[level] - 1] = uint16_t(g * kPanel + __builtin_ctz(outputs));
  };
  for_lane_chunks(x, [&](const Segment&, int64_t, int64_t n) {
    for (int64_t g = 0; g < n / 4 && counts[0] + counts[1] <= most; g++, w += 4 * kPanel) {
      const uint32_t all = outputs_above(kSafeSum, w) | outputs_above(kSafeSum, w + 32) << 8;
      if (!all) continue;
      const uint32_t far = outputs_above(kNearlySafeSum, w) | outputs_above(kNearlySafeSum, w + 32)
                                                                  << 8;
      put(0, g, far), put(1, g, all & ~far);
    }
    for (int level = 0; level < 2; level++)
      found->ends[level][chunk] = uint16_t(min_of(counts[level], most));
    chunk++;
  });
  return counts[0] + counts[1] <= most;
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

/// n bytes of eight pixels, by groups of four: those of group g to to[g * vectors]. @return the
/// largest of them and of `largest`, lane by lane
INGOT_INLINE __m256i pack_pixels(const uint8_t* const (&at)[kLanePixels], int first, int64_t from,
                                 int64_t n, int vectors, __m256i* to, __m256i largest) {
  for (int64_t k = 0; k < n; k += 32) {
    __m256i v[8];
    const int64_t left = (n - k) / 4;
    if (left >= 8) {
      INGOT_UNROLL for (int i = 0; i < 8; i++) v[i] =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at[first + i] + from + k));
    } else {
      const __m256i keep = _mm256_cmpgt_epi32(_mm256_set1_epi32(int32_t(left)),
                                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
      INGOT_UNROLL for (int i = 0; i < 8; i++) v[i] =
          _mm256_maskload_epi32(reinterpret_cast<const int*>(at[first + i] + from + k), keep);
    }
    transpose_eight(v);
    INGOT_UNROLL for (int i = 0; i < 8; i++) {
      to[(k / 4 + i) * vectors] = v[i];
      largest = _mm256_max_epu8(largest, v[i]);
    }
  }
  return largest;
}
INGOT_INLINE bool any_above(__m256i bytes, int most) {
  const __m256i above = _mm256_subs_epu8(bytes, _mm256_set1_epi8(int8_t(most)));
  return !_mm256_testz_si256(above, above);
}

INGOT_INLINE __m256i broadcast_group(const int8_t* w) {
  int32_t four;
  std::memcpy(&four, w, 4);
  return _mm256_set1_epi32(four);
}

/// `groups` groups of packed pixels times those of `outputs` outputs, added to
/// sums[output][vector]. A function, so that sums are in registers.
template <int kVectors>
__attribute__((noinline)) void add_pixels(const __m256i* x, int64_t groups, const int8_t* w,
                                          int outputs, __m256i* sums) {
  constexpr int kOutputs = 8 / kVectors;
  const __m256i one = _mm256_set1_epi16(1);
  for (int o = 0; o < outputs; o += kOutputs, sums += kOutputs * kVectors) {
    __m256i acc[kOutputs][kVectors];
    INGOT_UNROLL for (int i = 0; i < kOutputs; i++) INGOT_UNROLL for (int v = 0; v < kVectors; v++)
        acc[i][v] = sums[i * kVectors + v];
    const int8_t* at = w + 4 * o;
    for (const __m256i *p = x, *const end = x + groups * kVectors; p != end;
         p += kVectors, at += 4 * kPanel) {
      INGOT_UNROLL for (int i = 0; i < kOutputs; i++) {
        const __m256i weights = broadcast_group(at + 4 * i);
        INGOT_UNROLL for (int v = 0; v < kVectors; v++) {
          const __m256i products = _mm256_madd_epi16(_mm256_maddubs_epi16(p[v], weights), one);
          // one by one: GCC would compute all products first, and keep sums on the stack
          asm("vpaddd %1, %0, %0" : "+x"(acc[i][v]) : "x"(products));
        }
      }
    }
    INGOT_UNROLL for (int i = 0; i < kOutputs; i++) INGOT_UNROLL for (int v = 0; v < kVectors; v++)
        sums[i * kVectors + v] = acc[i][v];
  }
}

/// What vpmaddubsw has lost of these groups' products. Each product alone fits 16 bits, and so does
/// what a sum of two lost, whatever wraps on the way.
template <int kVectors>
INGOT_INLINE void add_lost(const __m256i* x, const int8_t* w, const uint16_t* groups,
                           const uint16_t* end, __m256i* sums) {
  const __m256i even = _mm256_set1_epi16(0xff);
  for (; groups != end; groups++) {
    const __m256i both = broadcast_group(w + 4 * *groups);
    const __m256i first = _mm256_and_si256(both, even), second = _mm256_andnot_si256(even, both);
    const __m256i* const p = x + *groups / kPanel * kVectors;
    __m256i* const sum = sums + *groups % kPanel * kVectors;
    INGOT_UNROLL for (int v = 0; v < kVectors; v++) {
      const __m256i exact =
          _mm256_add_epi16(_mm256_maddubs_epi16(p[v], first), _mm256_maddubs_epi16(p[v], second));
      const __m256i lost = _mm256_sub_epi16(exact, _mm256_maddubs_epi16(p[v], both));
      sum[v] = _mm256_add_epi32(sum[v], _mm256_madd_epi16(lost, _mm256_set1_epi16(1)));
    }
  }
}

/// Where the pixels of a call are: rows of `row` of them.
struct PixelRows {
  int64_t row = 0, down = 0, out_down = 0;  // strides of rows in bytes
};

/// Sums of pixels [begin, end) of the call: rows of their panels' outputs.
template <int kVectors>
INGOT_INLINE void multiply_pixels(const Int8TileShape& x, const Int8TileAt& t,
                                  const PixelRows& rows, Range pixels, int32_t* out) {
  constexpr int kSums = kPanel * kVectors;
  alignas(64) __m256i packed[kLaneBytes / 4 * kVectors], sums[kLanePanels * kSums];
  const int panels = int(ceil_div(t.cols, kPanel));
  const uint8_t* at[kLanePixels];
  for (int64_t i = 0; i < kVectors * 8; i++) {
    const int64_t pixel = min_of(pixels.begin + i, pixels.end - 1);  // a lane that is left over
    at[i] = t.a + pixel / rows.row * rows.down + pixel % rows.row * x.pixel_stride;
  }
  for (int i = 0; i < panels * kSums; i++) sums[i] = _mm256_setzero_si256();
  int64_t chunk = 0, read = 0;
  for_lane_chunks(x, [&](const Segment& s, int64_t from, int64_t n) {
    __m256i largest = _mm256_setzero_si256();
    for (int v = 0; v < kVectors; v++)
      largest = pack_pixels(at, v * 8, s.a + from, n, kVectors, packed + v, largest);
    const int levels = any_above(largest, 192) ? 2 : any_above(largest, 128) ? 1 : 0;
    for (int p = 0; p < panels; p++) {
      const int8_t* const w = t.b + p * x.panel_stride + read;
      add_pixels<kVectors>(packed, n / 4, w, int(min_of(t.cols - p * kPanel, kPanel)),
                           sums + p * kSums);
      for (int level = 0; level < levels; level++) {
        const uint16_t *const groups = x.unsafe[p].groups[level], *const ends =
                                                                      x.unsafe[p].ends[level];
        add_lost<kVectors>(packed, w, groups + (chunk ? ends[chunk - 1] : 0), groups + ends[chunk],
                           sums + p * kSums);
      }
    }
    read += n * kPanel, chunk++;
  });
  const int32_t* const bias = x.requantization->starts(t.output);
  for (int o = 0; o < panels * 2; o++) INGOT_UNROLL for (int v = 0; v < kVectors; v++) {
      const __m256i start = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bias + 8 * o));
      __m256i block[8];
      INGOT_UNROLL for (int i = 0; i < 8; i++) block[i] = sums[(8 * o + i) * kVectors + v];
      transpose_eight(block);
      INGOT_UNROLL for (int i = 0; i < 8; i++) _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(out + (8 * v + i) * panels * kPanel + 8 * o),
          _mm256_add_epi32(block[i], start));
    }
}

}  // namespace
}  // namespace ingot::cpu
