// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/tile_vnni.inl - the dot products of AVX-512 VNNI: six rows times 32
// outputs, 12 sums of integers and 12 of floats, two vectors of weights, one of the activations: 27
// of 32 registers.
#pragma once
#include "kernels/cpu/block_linear/job.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

constexpr int kTileRows = 6, kFileTileRows = 4, kFileRows = 8;
constexpr auto expands_alike = sums_alike;

INGOT_INLINE void dot(__m512i& sum, __m512i codes, __m512i x) {
  // the intrinsic makes GCC 12 keep the tile on the stack
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(x));
}
INGOT_INLINE __m512 halves_at(const uint8_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
INGOT_INLINE __m512i bytes_at(const uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

/// Two bits of group g, at bit `to` of bytes.
template <int g, int to>
INGOT_INLINE __m512i crumbs_at(const uint8_t* p) {
  constexpr int kShift = g % 4 * 2 - to;
  __m512i v = _mm512_loadu_si512(p + g / 4 * 128);
  if constexpr (kShift > 0) v = _mm512_srli_epi16(v, kShift);
  if constexpr (kShift < 0) v = _mm512_slli_epi16(v, -kShift);
  return _mm512_and_si512(v, _mm512_set1_epi8(3 << to));
}

/// 16 outputs (half h) of group g of the codes of 32 k at `c`.
template <BlockType t, int g, int h>
INGOT_INLINE __m512i codes_of(const uint8_t* c) {
  constexpr BlockFormat f = block_format(t);
  if constexpr (f.bits == 8)
    return _mm512_xor_si512(_mm512_loadu_si512(c + (g * 2 + h) * 64), _mm512_set1_epi8(-128));
  constexpr int kLow = f.bits % 2 ? 128 : 0;
  __m512i v;
  if constexpr (f.bits < 4) {
    v = crumbs_at<g, 0>(c + kLow + h * 64);
  } else {
    v = _mm512_loadu_si512(c + kLow + (g % 4 * 2 + h) * 64);
    if constexpr (g >= 4) v = _mm512_srli_epi16(v, 4);
    v = _mm512_and_si512(v, _mm512_set1_epi8(15));
  }
  if constexpr (f.bits % 2 == 1) {
    __mmask64 highest;
    std::memcpy(&highest, c + (g * 2 + h) * 8, 8);
    v = _mm512_mask_add_epi8(v, highest, v, _mm512_set1_epi8(1 << (f.bits - 1)));
  }
  if constexpr (f.bits == 6) v = _mm512_or_si512(v, crumbs_at<g, 4>(c + 512 + h * 64));
  if constexpr (f.levels != BlockLevels::kEven)
    v = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_load_si128(
                                reinterpret_cast<const __m128i*>(kLevelBytes<t, f.zero>.at))),
                            v);
  return v;
}

/// Six bits of sub-block j of 2 * half, of 16 outputs.
INGOT_INLINE __m512i six_bits(const uint8_t* low, const uint8_t* high, int j, int half) {
  const __m512i l =
      _mm512_srl_epi32(bytes_at(low + j % half * 32), _mm_cvtsi32_si128(j / half * 4));
  const __m512i h = _mm512_srl_epi32(bytes_at(high + j / 4 * 32), _mm_cvtsi32_si128(j % 4 * 2));
  return _mm512_or_si512(_mm512_and_si512(l, _mm512_set1_epi32(15)),
                         _mm512_slli_epi32(_mm512_and_si512(h, _mm512_set1_epi32(3)), 4));
}
/// 2^(e - 128) of 16 outputs, as a product of two powers that are not subnormal.
INGOT_INLINE __m512 exponents_at(const uint8_t* p) {
  const __m512i e = bytes_at(p), a = _mm512_srli_epi32(e, 1), b = _mm512_sub_epi32(e, a),
                bias = _mm512_set1_epi32(63);
  return _mm512_mul_ps((__m512)_mm512_slli_epi32(_mm512_add_epi32(a, bias), 23),
                       (__m512)_mm512_slli_epi32(_mm512_add_epi32(b, bias), 23));
}

/// Scales and minima of a panel's block: [sub][32].
template <BlockType t>
INGOT_INLINE void scales_of(const uint8_t* p, float* scales, float* minima) {
  constexpr BlockFormat f = block_format(t);
  constexpr block_weights::BlockHeader kHeader = block_weights::block_header(f);
  INGOT_UNROLL for (int h = 0; h < 2; h++) {
    const __m512 d =
        f.scales == BlockScales::kExponent ? exponents_at(p + h * 16) : halves_at(p + h * 32);
    __m512 m = _mm512_setzero_ps();
    if constexpr (f.has_min) m = halves_at(p + 64 + h * 32);
    if constexpr (!f.is_super()) {
      _mm512_storeu_ps(scales + h * 16, d);
      if constexpr (f.has_min) _mm512_storeu_ps(minima + h * 16, m);
      continue;
    }
    m = V::neg(m);
    const uint8_t *const low = p + kHeader.scales + h * 16, *const high = p + kHeader.high + h * 16;
    for (int j = 0; j < f.subs(); j++) {
      __m512i s, least = _mm512_setzero_si512();
      if constexpr (f.scales == BlockScales::kBytes) {
        s = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low + j * 32)));
      } else if constexpr (f.scales == BlockScales::kNibbles) {
        const __m512i both = bytes_at(low + j * 32);
        s = _mm512_and_si512(both, _mm512_set1_epi32(15)), least = _mm512_srli_epi32(both, 4);
      } else {
        s = six_bits(low, high, j, f.subs() / 2);
        if constexpr (f.has_min)
          least = six_bits(low + kHeader.minima_apart, high + kHeader.high_minima_apart, j,
                           f.subs() / 2);
        else
          s = _mm512_sub_epi32(s, _mm512_set1_epi32(32));
      }
      _mm512_storeu_ps(scales + j * 32 + h * 16, _mm512_mul_ps(d, _mm512_cvtepi32_ps(s)));
      if constexpr (f.has_min)
        _mm512_storeu_ps(minima + j * 32 + h * 16, _mm512_mul_ps(m, _mm512_cvtepi32_ps(least)));
    }
  }
}

template <BlockType t, int g = 0>
INGOT_INLINE void expand_codes(const uint8_t* c, uint8_t* to) {
  _mm512_storeu_si512(to + g * 128, codes_of<t, g, 0>(c));
  _mm512_storeu_si512(to + g * 128 + 64, codes_of<t, g, 1>(c));
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

/// Units [first, first + units) of R rows, whose expanded panel begins with the first of them,
/// added to sums [R][32].
template <class, BlockType t, int R>
void tile(const Expanded& e, const BlockRows& x, int64_t row, int64_t first, int64_t units,
          float* sums) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs(), kGroups = f.sub / 4;
  const int64_t stride = x.stride;
  const int8_t* q = x.codes(row) + first * f.unit;
  const uint8_t* const scales = x.scales(row) + 4 * first;
  const uint8_t* words = x.words(row) + 4 * first * kSubs;
  const uint8_t* w = e.codes;
  const float *own = e.scales, *minima = e.minima;
  __m512 acc[R][2];
  INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int h = 0; h < 2; h++) acc[r][h] =
      f.is_super() ? _mm512_setzero_ps() : _mm512_loadu_ps(sums + r * kOutputs + h * 16);
  for (int64_t unit = 0; unit < units; unit++) {
    for (int j = 0; j < kSubs; j++, words += 4, own += kOutputs) {
      __m512i c[R][2];
      INGOT_UNROLL for (int r = 0; r < R; r++) c[r][0] = c[r][1] =
          f.has_min ? _mm512_setzero_si512() : _mm512_set1_epi32(integer_at(words + r * stride, 0));
      INGOT_UNROLL for (int g = 0; g < kGroups; g++, w += 128) {
        const __m512i w0 = _mm512_loadu_si512(w), w1 = _mm512_loadu_si512(w + 64);
        INGOT_UNROLL for (int r = 0; r < R; r++) {
          const __m512i v = _mm512_set1_epi32(quad(q + r * stride + g * 4));
          dot(c[r][0], w0, v), dot(c[r][1], w1, v);
        }
      }
      q += f.sub;
      const __m512 s0 = _mm512_loadu_ps(own), s1 = _mm512_loadu_ps(own + 16);
      INGOT_UNROLL for (int r = 0; r < R; r++) {
        __m512 f0 = s0, f1 = s1;
        if constexpr (!f.is_super()) {
          const __m512 s = _mm512_set1_ps(float_at(scales + r * stride, unit));
          f0 = _mm512_mul_ps(s0, s), f1 = _mm512_mul_ps(s1, s);
        }
        acc[r][0] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(c[r][0]), f0, acc[r][0]);
        acc[r][1] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(c[r][1]), f1, acc[r][1]);
      }
      if constexpr (f.has_min) {
        const __m512 m0 = _mm512_loadu_ps(minima), m1 = _mm512_loadu_ps(minima + 16);
        minima += kOutputs;
        INGOT_UNROLL for (int r = 0; r < R; r++) {
          const __m512 s = _mm512_set1_ps(float_at(words + r * stride, 0));
          acc[r][0] = _mm512_fmadd_ps(m0, s, acc[r][0]);
          acc[r][1] = _mm512_fmadd_ps(m1, s, acc[r][1]);
        }
      }
    }
    if constexpr (f.is_super()) {
      INGOT_UNROLL for (int r = 0; r < R; r++) {
        const __m512 s = _mm512_set1_ps(float_at(scales + r * stride, unit));
        INGOT_UNROLL for (int h = 0; h < 2; h++) {
          float* const to = sums + r * kOutputs + h * 16;
          _mm512_storeu_ps(to, _mm512_fmadd_ps(acc[r][h], s, _mm512_loadu_ps(to)));
          acc[r][h] = _mm512_setzero_ps();
        }
      }
    }
  }
  if constexpr (!f.is_super())
    INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int h = 0; h < 2; h++)
        _mm512_storeu_ps(sums + r * kOutputs + h * 16, acc[r][h]);
}

/// Groups [g, last) of the codes at c times those of R rows.
template <BlockType t, int g, int last, int R>
INGOT_INLINE void add_groups(const uint8_t* c, const int8_t* q, int64_t stride,
                             __m512i (&sums)[R][2]) {
  const __m512i w0 = codes_of<t, g, 0>(c), w1 = codes_of<t, g, 1>(c);
  INGOT_UNROLL for (int r = 0; r < R; r++) {
    const __m512i v = _mm512_set1_epi32(quad(q + r * stride + g * 4));
    dot(sums[r][0], w0, v), dot(sums[r][1], w1, v);
  }
  if constexpr (g + 1 < last) add_groups<t, g + 1, last, R>(c, q, stride, sums);
}

/// R rows times a panel as it lies in the file: codes are taken apart once for all.
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
  __m512 acc[R][2];
  INGOT_UNROLL for (int r = 0; r < R; r++) acc[r][0] = acc[r][1] = _mm512_setzero_ps();
  for (int64_t unit = 0; unit < x.units; unit++, p += kBytes) {
    scales_of<t>(p, own, minima);
    __m512 inner[R][2];
    INGOT_UNROLL for (int r = 0; r < R; r++) inner[r][0] = inner[r][1] = _mm512_setzero_ps();
    for (int i = 0; i < f.unit / 32; i++, q += 32) {
      const uint8_t* const c = p + f.header_bytes() + i * f.code_bytes();
      constexpr int kRead = f.is_super() ? f.code_bytes() : kBytes;
      INGOT_UNROLL for (int at = 0; at < kRead; at += 64) V::prefetch(c + kAhead + at);
      INGOT_UNROLL for (int j = 0; j < kIn32; j++, words += 4) {
        __m512i products[R][2];
        INGOT_UNROLL for (int r = 0; r < R; r++) products[r][0] = products[r][1] =
            f.has_min ? _mm512_setzero_si512()
                      : _mm512_set1_epi32(integer_at(words + r * stride, 0));
        if constexpr (kIn32 == 1)
          add_groups<t, 0, 8, R>(c, q, stride, products);
        else if (j == 0)
          add_groups<t, 0, 4, R>(c, q, stride, products);
        else
          add_groups<t, 4, 8, R>(c, q, stride, products);
        const int at = (i * kIn32 + j) * kOutputs;
        INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int h = 0; h < 2; h++) {
          __m512& sum = f.is_super() ? inner[r][h] : acc[r][h];
          __m512 s = _mm512_loadu_ps(own + at + h * 16);
          if constexpr (!f.is_super())
            s = _mm512_mul_ps(s, _mm512_set1_ps(float_at(scales + r * stride, unit)));
          sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(products[r][h]), s, sum);
          if constexpr (f.has_min)
            sum = _mm512_fmadd_ps(_mm512_loadu_ps(minima + at + h * 16),
                                  _mm512_set1_ps(float_at(words + r * stride, 0)), sum);
        }
      }
    }
    if constexpr (f.is_super())
      INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int h = 0; h < 2; h++) acc[r][h] =
          _mm512_fmadd_ps(inner[r][h], _mm512_set1_ps(float_at(scales + r * stride, unit)),
                          acc[r][h]);
  }
  INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int h = 0; h < 2; h++)
      _mm512_storeu_ps(sums + r * kOutputs + h * 16, acc[r][h]);
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
