// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/tile_avx2.inl - products of bytes in 256 bits: four rows times 16
// outputs, sums of floats in L1. With AVX-VNNI by its dot products. Without, maddubs adds two
// products of u8 and i8 in 16 bits, which hold the sums of several groups: activations are -127 ..
// 127, so after n groups of four k a sum is at most 2n * largest code * 127, and for
//   2 to 4 bits   3810 n  <= 32767 for n <= 8, all of 32 k
//   5 bits, 24    7874 n  <= 32767 for n <= 4
//   6 bits        16002 n <= 32767 for n <= 2
//   larger codes  |w|, at most 128, by x with w's sign: 2 * 128 * 127 = 32512
// and maddubs never saturates. A file can hold -128 as an activation only in a row that it computes
// itself, which BlockQuantize never gives.
#pragma once
#include "kernels/cpu/block_linear/job.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

constexpr int kTileRows = 4, kFileTileRows = 4, kFileRows = 8;
#if defined(INGOT_SIMD_VNNI)
constexpr bool kDots = true;
#else
constexpr bool kDots = false;
#endif

/// Codes are multiplied with their sign.
constexpr bool is_signed(const BlockFormat& f) { return f.largest() > 127 && !kDots; }
/// Groups whose products are summed in 16 bits.
constexpr int groups_in_16_bits(const BlockFormat& f) {
  const int groups = f.largest() < 16 ? 8 : f.largest() < 32 ? 4 : f.largest() < 64 ? 2 : 1;
  return groups < f.sub / 4 ? groups : f.sub / 4;
}
constexpr bool expands_alike(const BlockFormat& a, const BlockFormat& b) {
  return sums_alike(a, b) && is_signed(a) == is_signed(b) &&
         (kDots || groups_in_16_bits(a) == groups_in_16_bits(b));
}

INGOT_INLINE __m256i vector_at(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
INGOT_INLINE __m256 halves_at(const uint8_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
INGOT_INLINE __m256i bytes_at(const uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

/// Two bits of group g, at bit `to` of bytes.
template <int g, int to>
INGOT_INLINE __m256i crumbs_at(const uint8_t* p) {
  constexpr int kShift = g % 4 * 2 - to;
  __m256i v = vector_at(p + g / 4 * 128);
  if constexpr (kShift > 0) v = _mm256_srli_epi16(v, kShift);
  if constexpr (kShift < 0) v = _mm256_slli_epi16(v, -kShift);
  return _mm256_and_si256(v, _mm256_set1_epi8(3 << to));
}

/// Outputs [8h, 8h + 8) of group g of the codes of 32 k at `c`; their highest bits, of an odd
/// number, at `bits_at`, 4 bytes for 32. Both may be of a later output than the panel's first.
template <BlockType t, int g, int h>
INGOT_INLINE __m256i codes_of(const uint8_t* c, const uint8_t* bits_at) {
  constexpr BlockFormat f = block_format(t);
  if constexpr (f.bits == 8) {
    const __m256i v = vector_at(c + g * 128 + h * 32);
    return kDots ? _mm256_xor_si256(v, _mm256_set1_epi8(-128)) : v;
  }
  constexpr int kLow = f.bits % 2 ? 128 : 0;
  __m256i v;
  if constexpr (f.bits < 4) {
    v = crumbs_at<g, 0>(c + kLow + h * 32);
  } else {
    v = vector_at(c + kLow + g % 4 * 128 + h * 32);
    if constexpr (g >= 4) v = _mm256_srli_epi16(v, 4);
    v = _mm256_and_si256(v, _mm256_set1_epi8(15));
  }
  if constexpr (f.bits % 2 == 1) {  // a bit a byte: 32 bits to all lanes, its byte, its bit
    int32_t bits;
    std::memcpy(&bits, bits_at + g * 16 + h * 4, 4);
    const __m256i byte =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x(int64_t(0x8040201008040201));
    const __m256i own = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(bits), byte), bit);
    v = _mm256_or_si256(
        v, _mm256_and_si256(_mm256_cmpeq_epi8(own, bit), _mm256_set1_epi8(1 << (f.bits - 1))));
  }
  if constexpr (f.bits == 6) v = _mm256_or_si256(v, crumbs_at<g, 4>(c + 512 + h * 32));
  if constexpr (f.levels != BlockLevels::kEven) {
    constexpr int kZero = is_signed(f) ? 0 : f.zero;
    const __m128i levels =
        _mm_load_si128(reinterpret_cast<const __m128i*>(kLevelBytes<t, kZero>.at));
    v = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(levels), v);
  }
  return v;
}

/// Six bits of sub-block j of 2 * half, of 32 outputs.
INGOT_INLINE __m256i six_bits(const uint8_t* low, const uint8_t* high, int j, int half) {
  const __m256i l =
      _mm256_srl_epi16(vector_at(low + j % half * 32), _mm_cvtsi32_si128(j / half * 4));
  const __m256i h = _mm256_srl_epi16(vector_at(high + j / 4 * 32), _mm_cvtsi32_si128(j % 4 * 2));
  return _mm256_or_si256(_mm256_and_si256(l, _mm256_set1_epi8(15)),
                         _mm256_slli_epi16(_mm256_and_si256(h, _mm256_set1_epi8(3)), 4));
}
/// 2^(e - 128) of eight outputs, as a product of two powers that are not subnormal.
INGOT_INLINE __m256 exponents_at(const uint8_t* p) {
  const __m256i e = bytes_at(p), a = _mm256_srli_epi32(e, 1), b = _mm256_sub_epi32(e, a),
                bias = _mm256_set1_epi32(63);
  return _mm256_mul_ps((__m256)_mm256_slli_epi32(_mm256_add_epi32(a, bias), 23),
                       (__m256)_mm256_slli_epi32(_mm256_add_epi32(b, bias), 23));
}

/// Bytes of 32 outputs, with a sign, times their factors.
INGOT_INLINE void multiply_bytes(__m256i bytes, const __m256 (&factors)[4], float* to) {
  alignas(32) int8_t at[32];  // lanes would have to change their halves
  _mm256_store_si256(reinterpret_cast<__m256i*>(at), bytes);
  INGOT_UNROLL for (int h = 0; h < 4; h++) {
    const __m256i words =
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + h * 8)));
    _mm256_storeu_ps(to + h * 8, _mm256_mul_ps(factors[h], _mm256_cvtepi32_ps(words)));
  }
}

/// Scales and minima of a panel's block of 256: [sub][32]. Its code is there once.
template <BlockType t>
__attribute__((noinline)) void super_scales(const uint8_t* p, float* scales, float* minima) {
  constexpr BlockFormat f = block_format(t);
  constexpr block_weights::BlockHeader kHeader = block_weights::block_header(f);
  constexpr int kHalf = f.subs() / 2;
  const uint8_t *const low = p + kHeader.scales, *const high = p + kHeader.high;
  __m256 d[4], m[4];
  INGOT_UNROLL for (int h = 0; h < 4; h++) {
    d[h] = halves_at(p + h * 16);
    if constexpr (f.has_min)
      m[h] = _mm256_xor_ps(_mm256_set1_ps(-0.0f), halves_at(p + 64 + h * 16));
  }
  for (int j = 0; j < f.subs(); j++) {
    __m256i s, least;
    if constexpr (f.scales == BlockScales::kBytes) {
      s = vector_at(low + j * 32);
    } else if constexpr (f.scales == BlockScales::kNibbles) {
      const __m256i both = vector_at(low + j * 32), nibble = _mm256_set1_epi8(15);
      s = _mm256_and_si256(both, nibble);
      least = _mm256_and_si256(_mm256_srli_epi16(both, 4), nibble);
    } else {
      s = six_bits(low, high, j, kHalf);
      if constexpr (f.has_min)
        least = six_bits(low + kHeader.minima_apart, high + kHeader.high_minima_apart, j, kHalf);
      else
        s = _mm256_sub_epi8(s, _mm256_set1_epi8(32));
    }
    multiply_bytes(s, d, scales + j * 32);
    if constexpr (f.has_min) multiply_bytes(least, m, minima + j * 32);
  }
}
/// Of a panel's block of any type.
template <BlockType t>
INGOT_INLINE void scales_of(const uint8_t* p, float* scales, float* minima) {
  constexpr BlockFormat f = block_format(t);
  if constexpr (f.is_super()) return super_scales<t>(p, scales, minima);
  INGOT_UNROLL for (int h = 0; h < 4; h++) {
    _mm256_storeu_ps(scales + h * 8, f.scales == BlockScales::kExponent ? exponents_at(p + h * 8)
                                                                        : halves_at(p + h * 16));
    if constexpr (f.has_min) _mm256_storeu_ps(minima + h * 8, halves_at(p + 64 + h * 16));
  }
}

template <BlockType t, int g = 0>
INGOT_INLINE void expand_codes(const uint8_t* c, uint8_t* to) {
  const auto store = [&](int h, __m256i v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + g * 128 + h * 32), v);
  };
  store(0, codes_of<t, g, 0>(c, c)), store(1, codes_of<t, g, 1>(c, c));
  store(2, codes_of<t, g, 2>(c, c)), store(3, codes_of<t, g, 3>(c, c));
  if constexpr (g < 7) expand_codes<t, g + 1>(c, to);
}
template <BlockType t>
void expand_block(const uint8_t* panel, const Expanded& e, int64_t unit) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs();
  scales_of<t>(panel, e.scales + unit * kSubs * kOutputs, e.minima + unit * kSubs * kOutputs);
  uint8_t* const to = e.codes + unit * f.unit * kOutputs;
  for (int i = 0; i < f.unit / 32; i++)
    expand_codes<t>(panel + f.header_bytes() + i * f.code_bytes(), to + i * 1024);
}

/// sum (16 bits) = or += pairs of products. Statements, since GCC 12 moves all products before the
/// sums and keeps the tile on the stack.
INGOT_INLINE void start_pairs(__m256i& sum, __m256i w, __m256i x) {
  asm("vpmaddubsw %2, %1, %0" : "=x"(sum) : "x"(w), "x"(x));
}
INGOT_INLINE void add_pairs(__m256i& sum, __m256i w, __m256i x) {
  __m256i t;
  asm("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(sum), "=&x"(t) : "x"(w), "x"(x));
}
/// sum (32 bits) += four products of bytes with signs; w_abs = |w|.
INGOT_INLINE void add_signed(__m256i& sum, __m256i w, __m256i w_abs, __m256i x, __m256i ones) {
  __m256i t;
  asm("vpsignb %2, %4, %1\n\tvpmaddubsw %1, %3, %1\n\tvpmaddwd %5, %1, %1\n\tvpaddd %1, %0, %0"
      : "+x"(sum), "=&x"(t)
      : "x"(w), "x"(w_abs), "x"(x), "x"(ones));
}
#if defined(INGOT_SIMD_VNNI)
INGOT_INLINE void dot(__m256i& sum, __m256i codes, __m256i x) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(codes), "x"(x));
}
#else
INGOT_INLINE void dot(__m256i&, __m256i, __m256i) {}
#endif

/// Units of R rows times 16 outputs: half of a panel.
template <BlockType t, int R>
void half_tile(const Expanded& e, const BlockRows& x, int64_t row, int64_t first, int64_t units,
               int half, float* sums) {
  constexpr BlockFormat f = block_format(t);
  constexpr bool kSigned = is_signed(f);
  constexpr int kSubs = f.subs(), kGroups = f.sub / 4,
                kFlush = kDots || kSigned ? kGroups : groups_in_16_bits(f),
                kSteps = kFlush < kGroups ? kFlush : kGroups;
  const int64_t stride = x.stride;
  const int8_t* q = x.codes(row) + first * f.unit;
  const uint8_t* const scales = x.scales(row) + 4 * first;
  const uint8_t* words = x.words(row) + 4 * first * kSubs;
  const uint8_t* w = e.codes + half * 64;
  const float *own = e.scales + half * 16, *minima = e.minima + half * 16;
  const __m256i ones = _mm256_set1_epi16(1);
  sums += half * 16;
  alignas(64) float inner[R][16];
  alignas(64) int32_t part[R][16];
  for (int64_t unit = 0; unit < units; unit++) {
    if constexpr (f.is_super()) std::memset(inner, 0, sizeof inner);
    for (int j = 0; j < kSubs; j++, words += 4, own += kOutputs, minima += kOutputs) {
      INGOT_UNROLL for (int g0 = 0; g0 < kGroups; g0 += kSteps) {
        // sums of floats stay in memory: GCC 12 would keep them in the registers of the weights
        asm volatile("" ::: "memory");
        __m256i c[R][2];
        INGOT_UNROLL for (int r = 0; r < R; r++) {
          if constexpr (kDots || kSigned)
            c[r][0] = c[r][1] = kSigned || f.has_min
                                    ? _mm256_setzero_si256()
                                    : _mm256_set1_epi32(integer_at(words + r * stride, 0));
        }
        INGOT_UNROLL for (int g = g0; g < g0 + kSteps; g++, w += 128) {
          const __m256i w0 = vector_at(w), w1 = vector_at(w + 32);
          const __m256i a0 = kSigned ? _mm256_abs_epi8(w0) : w0,
                        a1 = kSigned ? _mm256_abs_epi8(w1) : w1;
          INGOT_UNROLL for (int r = 0; r < R; r++) {
            const __m256i v = _mm256_set1_epi32(quad(q + r * stride + g * 4));
            if constexpr (kDots)
              dot(c[r][0], w0, v), dot(c[r][1], w1, v);
            else if constexpr (kSigned)
              add_signed(c[r][0], w0, a0, v, ones), add_signed(c[r][1], w1, a1, v, ones);
            else if (g == g0)
              start_pairs(c[r][0], w0, v), start_pairs(c[r][1], w1, v);
            else
              add_pairs(c[r][0], w0, v), add_pairs(c[r][1], w1, v);
          }
        }
        if constexpr (!kDots && !kSigned) {
          INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int i = 0; i < 2; i++) {
            __m256i* const kept = reinterpret_cast<__m256i*>(part[r] + i * 8);
            c[r][i] = _mm256_madd_epi16(c[r][i], ones);
            if (g0 > 0)
              c[r][i] = _mm256_add_epi32(c[r][i], *kept);
            else if (f.zero)
              c[r][i] =
                  _mm256_add_epi32(c[r][i], _mm256_set1_epi32(integer_at(words + r * stride, 0)));
            if (g0 + kSteps < kGroups) *kept = c[r][i];
          }
          if (g0 + kSteps < kGroups) continue;
        }
        // read once for all rows: the compiler takes a store for one to them
        __m256 factors[2], least[2];
        INGOT_UNROLL for (int i = 0; i < 2; i++) {
          factors[i] = _mm256_loadu_ps(own + i * 8);
          if constexpr (f.has_min) least[i] = _mm256_loadu_ps(minima + i * 8);
        }
        INGOT_UNROLL for (int r = 0; r < R; r++) {
          float* const to = f.is_super() ? inner[r] : sums + r * kOutputs;
          const __m256 scale =
                           _mm256_set1_ps(f.is_super() ? 1 : float_at(scales + r * stride, unit)),
                       word = _mm256_set1_ps(f.has_min ? float_at(words + r * stride, 0) : 0);
          __m256 y[2];
          INGOT_UNROLL for (int i = 0; i < 2; i++) {
            const __m256 s = f.is_super() ? factors[i] : _mm256_mul_ps(factors[i], scale);
            y[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(c[r][i]), s, _mm256_loadu_ps(to + i * 8));
            if constexpr (f.has_min) y[i] = _mm256_fmadd_ps(least[i], word, y[i]);
          }
          INGOT_UNROLL for (int i = 0; i < 2; i++) _mm256_storeu_ps(to + i * 8, y[i]);
        }
      }
      q += f.sub;
    }
    if constexpr (f.is_super())
      INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int i = 0; i < 2; i++) {
        float* const to = sums + r * kOutputs + i * 8;
        _mm256_storeu_ps(to, _mm256_fmadd_ps(_mm256_load_ps(inner[r] + i * 8),
                                             _mm256_set1_ps(float_at(scales + r * stride, unit)),
                                             _mm256_loadu_ps(to)));
      }
  }
}
template <class, BlockType t, int R>
void tile(const Expanded& e, const BlockRows& x, int64_t row, int64_t first, int64_t units,
          float* sums) {
  for (int half = 0; half < 2; half++) half_tile<t, R>(e, x, row, first, units, half, sums);
}

/// Groups [g, last) of 16 outputs, with codes at c, times those of R rows. Pairs are in 16 bits.
template <BlockType t, int g, int last, int R>
INGOT_INLINE void add_groups(const uint8_t* c, const uint8_t* bits, const int8_t* q, int64_t stride,
                             __m256i (&sums)[R][2], __m256i (&pairs)[R][2]) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kFlush = groups_in_16_bits(f);
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i w[2] = {codes_of<t, g, 0>(c, bits), codes_of<t, g, 1>(c, bits)};
  INGOT_UNROLL for (int r = 0; r < R; r++) {
    const __m256i v = _mm256_set1_epi32(quad(q + r * stride + g * 4));
    INGOT_UNROLL for (int i = 0; i < 2; i++) {
      if constexpr (kDots) {
        dot(sums[r][i], w[i], v);
      } else if constexpr (is_signed(f)) {
        add_signed(sums[r][i], w[i], _mm256_abs_epi8(w[i]), v, ones);
      } else {
        if constexpr (g % kFlush == 0)
          start_pairs(pairs[r][i], w[i], v);
        else
          add_pairs(pairs[r][i], w[i], v);
        if constexpr ((g + 1) % kFlush == 0 || g + 1 == last)
          sums[r][i] = _mm256_add_epi32(sums[r][i], _mm256_madd_epi16(pairs[r][i], ones));
      }
    }
  }
  if constexpr (g + 1 < last) add_groups<t, g + 1, last, R>(c, bits, q, stride, sums, pairs);
}

/// Sub-block j of the 32 k at c -> sums of floats of half a panel.
template <BlockType t, int R>
INGOT_INLINE void add_half(const uint8_t* c, int half, const int8_t* q, const uint8_t* words,
                           int64_t stride, int j, const float* own, const float* minima,
                           const __m256 (&scales)[R], __m256 (&to)[R][4]) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kMiddle = f.sub == 32 ? 8 : 4;
  __m256i sums[R][2], pairs[R][2];
  INGOT_UNROLL for (int r = 0; r < R; r++) {
    sums[r][0] = sums[r][1] = f.has_min || is_signed(f)
                                  ? _mm256_setzero_si256()
                                  : _mm256_set1_epi32(integer_at(words + r * stride, 0));
    pairs[r][0] = pairs[r][1] = sums[r][0];
  }
  const uint8_t *const codes = c + half * 64, *const bits = c + half * 8;
  if (j == 0)
    add_groups<t, 0, kMiddle, R>(codes, bits, q, stride, sums, pairs);
  else
    add_groups<t, 8 - kMiddle, 8, R>(codes, bits, q, stride, sums, pairs);
  INGOT_UNROLL for (int i = 0; i < 2; i++) {
    const __m256 s = _mm256_load_ps(own + half * 16 + i * 8);
    INGOT_UNROLL for (int r = 0; r < R; r++) {
      __m256& sum = to[r][half * 2 + i];
      sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r][i]),
                            f.is_super() ? s : _mm256_mul_ps(s, scales[r]), sum);
      if constexpr (f.has_min)
        sum = _mm256_fmadd_ps(_mm256_load_ps(minima + half * 16 + i * 8),
                              _mm256_set1_ps(float_at(words + r * stride, 0)), sum);
    }
  }
}

/// R rows times a panel as it lies in the file. Of one row, sums of floats are in registers.
template <class, BlockType t, int R>
void rows_times_panel(const uint8_t* p, const BlockRows& x, int64_t row, float* sums) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs(), kBytes = kOutputs * f.bytes, kIn32 = 32 / f.sub;
  constexpr int64_t kAhead = 4096;
  const int64_t stride = x.stride;
  const int8_t* q = x.codes(row);
  const uint8_t* const scales = x.scales(row);
  const uint8_t* words = x.words(row);
  alignas(64) float own[kSubs * kOutputs], minima[kSubs * kOutputs];
  __m256 acc[R][4] = {};
  for (int64_t unit = 0; unit < x.units; unit++, p += kBytes) {
    scales_of<t>(p, own, minima);
    __m256 scale[R], inner[R][4] = {};
    INGOT_UNROLL for (int r = 0; r < R; r++) scale[r] =
        _mm256_set1_ps(float_at(scales + r * stride, unit));
    for (int i = 0; i < f.unit / 32; i++, q += 32) {
      const uint8_t* const c = p + f.header_bytes() + i * f.code_bytes();
      constexpr int kRead = f.is_super() ? f.code_bytes() : kBytes;
      INGOT_UNROLL for (int at = 0; at < kRead; at += 64) V::prefetch(c + kAhead + at);
      INGOT_UNROLL for (int j = 0; j < kIn32; j++, words += 4) {
        const int64_t at = (i * kIn32 + j) * kOutputs;
        __m256(&to)[R][4] = f.is_super() ? inner : acc;
        if constexpr (R == 1) {
          add_half<t, R>(c, 0, q, words, stride, j, own + at, minima + at, scale, to);
          add_half<t, R>(c, 1, q, words, stride, j, own + at, minima + at, scale, to);
        } else {
          for (int half = 0; half < 2; half++) {
            // GCC 12 would keep what both halves broadcast of the rows on the stack.
            asm volatile("" ::: "memory");
            add_half<t, R>(c, half, q, words, stride, j, own + at, minima + at, scale, to);
          }
        }
      }
    }
    if constexpr (f.is_super())
      INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int h = 0; h < 4; h++) acc[r][h] =
          _mm256_fmadd_ps(inner[r][h], scale[r], acc[r][h]);
  }
  INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int h = 0; h < 4; h++)
      _mm256_storeu_ps(sums + r * kOutputs + h * 8, acc[r][h]);
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
