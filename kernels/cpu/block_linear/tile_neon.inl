// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/tile_neon.inl - products of bytes by the dot products of 64-bit Arm, of
// signed bytes (FEAT_DotProd) or of unsigned by signed ones (FEAT_I8MM): four rows times 16
// outputs, four groups of a row in a register, sums of floats in L1.
#pragma once
#include "kernels/cpu/block_linear/job.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

constexpr int kTileRows = 4, kFileTileRows = 4, kFileRows = 4;

#if defined(INGOT_SIMD_I8MM)
constexpr bool kSignedCodes = false;
using Codes = uint8x16_t;
INGOT_INLINE Codes load_codes(const uint8_t* p) { return vld1q_u8(p); }
INGOT_INLINE Codes codes_from(uint8x16_t bytes) { return bytes; }
template <int lane>
INGOT_INLINE void dot(int32x4_t& sum, Codes w, int8x16_t x) {
  sum = vusdotq_laneq_s32(sum, w, x, lane);
}
#else
constexpr bool kSignedCodes = true;
using Codes = int8x16_t;
INGOT_INLINE Codes load_codes(const uint8_t* p) { return vreinterpretq_s8_u8(vld1q_u8(p)); }
INGOT_INLINE Codes codes_from(uint8x16_t bytes) { return vreinterpretq_s8_u8(bytes); }
template <int lane>
INGOT_INLINE void dot(int32x4_t& sum, Codes w, int8x16_t x) {
  sum = vdotq_laneq_s32(sum, w, x, lane);
}
#endif
/// Codes are multiplied with their sign: words, of their zeros, are not wanted.
constexpr bool is_signed(const BlockFormat& f) { return f.largest() > 127 && kSignedCodes; }
constexpr bool expands_alike(const BlockFormat& a, const BlockFormat& b) {
  return sums_alike(a, b) && is_signed(a) == is_signed(b);
}

INGOT_INLINE float32x4_t halves_at(const uint8_t* p) {
  uint16_t bits[4];
  std::memcpy(bits, p, 8);
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(bits)));
}
INGOT_INLINE int32x4_t start_of(const BlockFormat& f, const uint8_t* words) {
  return vdupq_n_s32(f.has_min || is_signed(f) ? 0 : integer_at(words, 0));
}

/// Two bits of group g, at bit `to` of bytes.
template <int g, int to>
INGOT_INLINE uint8x16_t crumbs_at(const uint8_t* p) {
  constexpr int kShift = g % 4 * 2 - to;
  uint8x16_t v = vld1q_u8(p + g / 4 * 128);
  if constexpr (kShift > 0) v = vshrq_n_u8(v, kShift);
  if constexpr (kShift < 0) v = vshlq_n_u8(v, -kShift);
  return vandq_u8(v, vdupq_n_u8(3 << to));
}

/// Four outputs (eighth v of the panel) of group g of the codes of 32 k at `c`.
template <BlockType t, int g>
INGOT_INLINE Codes codes_of(const uint8_t* c, int v) {
  constexpr BlockFormat f = block_format(t);
  const int h = v / 4, at = v % 4 * 16;
  if constexpr (f.bits == 8) {
    const uint8x16_t bytes = vld1q_u8(c + (g * 2 + h) * 64 + at);
    return codes_from(kSignedCodes ? bytes : veorq_u8(bytes, vdupq_n_u8(128)));
  }
  constexpr int kLow = f.bits % 2 ? 128 : 0;
  uint8x16_t codes;
  if constexpr (f.bits < 4) {
    codes = crumbs_at<g, 0>(c + kLow + h * 64 + at);
  } else {
    codes = vld1q_u8(c + kLow + (g % 4 * 2 + h) * 64 + at);
    codes = g >= 4 ? vshrq_n_u8(codes, 4) : vandq_u8(codes, vdupq_n_u8(15));
  }
  if constexpr (f.bits % 2 == 1) {  // a bit a byte: its own byte of those of four vectors, its bit
    const uint8x16_t four = vld1q_u8(c + (g * 2 + h) * 8);  // codes are behind the last ones
    const uint8x16_t byte = vcombine_u8(vdup_n_u8(uint8_t(at / 8)), vdup_n_u8(uint8_t(at / 8 + 1)));
    const uint8x8_t bit = vcreate_u8(0x8040201008040201);
    const uint8x16_t set = vtstq_u8(vqtbl1q_u8(four, byte), vcombine_u8(bit, bit));
    codes = vbslq_u8(vdupq_n_u8(1 << (f.bits - 1)), set, codes);
  }
  if constexpr (f.bits == 6) codes = vorrq_u8(codes, crumbs_at<g, 4>(c + 512 + h * 64 + at));
  if constexpr (f.levels != BlockLevels::kEven) {
    constexpr int kZero = is_signed(f) ? 0 : f.zero;
    codes = vqtbl1q_u8(vld1q_u8(kLevelBytes<t, kZero>.at), codes);
  }
  return codes_from(codes);
}

/// 2^(e - 128) of four outputs, as a product of two powers that are not subnormal.
INGOT_INLINE float32x4_t exponents_at(const uint8_t* p) {
  const uint32_t four[4] = {p[0], p[1], p[2], p[3]};
  const uint32x4_t e = vld1q_u32(four), a = vshrq_n_u32(e, 1), b = vsubq_u32(e, a),
                   bias = vdupq_n_u32(63);
  return vmulq_f32(vreinterpretq_f32_u32(vshlq_n_u32(vaddq_u32(a, bias), 23)),
                   vreinterpretq_f32_u32(vshlq_n_u32(vaddq_u32(b, bias), 23)));
}
/// Numbers of six bits of sub-block j of 2 * half, of 16 outputs.
INGOT_INLINE uint8x16_t six_bits(const uint8_t* low, const uint8_t* high, int j, int half) {
  const uint8x16_t l = vshlq_u8(vld1q_u8(low + j % half * 32), vdupq_n_s8(int8_t(j / half * -4))),
                   h = vshlq_u8(vld1q_u8(high + j / 4 * 32), vdupq_n_s8(int8_t(4 - j % 4 * 2)));
  return vorrq_u8(vandq_u8(l, vdupq_n_u8(15)), vandq_u8(h, vdupq_n_u8(48)));
}
/// to = d * codes of 16 outputs.
INGOT_INLINE void scale_codes(const float32x4_t* d, int8x16_t codes, float* to) {
  const int16x8_t low = vmovl_s8(vget_low_s8(codes)), high = vmovl_high_s8(codes);
  vst1q_f32(to, vmulq_f32(d[0], vcvtq_f32_s32(vmovl_s16(vget_low_s16(low)))));
  vst1q_f32(to + 4, vmulq_f32(d[1], vcvtq_f32_s32(vmovl_high_s16(low))));
  vst1q_f32(to + 8, vmulq_f32(d[2], vcvtq_f32_s32(vmovl_s16(vget_low_s16(high)))));
  vst1q_f32(to + 12, vmulq_f32(d[3], vcvtq_f32_s32(vmovl_high_s16(high))));
}

/// Scales and minima of a panel's block: [sub][32].
template <BlockType t>
void scales_of(const uint8_t* p, float* scales, float* minima) {
  constexpr BlockFormat f = block_format(t);
  constexpr block_weights::BlockHeader kHeader = block_weights::block_header(f);
  for (int h = 0; h < 32; h += 16) {
    float32x4_t d[4], m[4];
    INGOT_UNROLL for (int v = 0; v < 4; v++) {
      d[v] = f.scales == BlockScales::kExponent ? exponents_at(p + h + v * 4)
                                                : halves_at(p + h * 2 + v * 8);
      if constexpr (f.has_min) m[v] = halves_at(p + 64 + h * 2 + v * 8);
      if constexpr (f.has_min && f.is_super()) m[v] = vnegq_f32(m[v]);
      if constexpr (!f.is_super()) {
        vst1q_f32(scales + h + v * 4, d[v]);
        if constexpr (f.has_min) vst1q_f32(minima + h + v * 4, m[v]);
      }
    }
    if constexpr (f.is_super())
      for (int j = 0; j < f.subs(); j++) {
        float* const to = scales + j * 32 + h;
        const uint8_t *const low = p + kHeader.scales + h, *const high = p + kHeader.high + h;
        uint8x16_t s, least = vdupq_n_u8(0);
        if constexpr (f.scales == BlockScales::kBytes) {
          s = vld1q_u8(low + j * 32);
        } else if constexpr (f.scales == BlockScales::kNibbles) {
          const uint8x16_t both = vld1q_u8(low + j * 32);
          s = vandq_u8(both, vdupq_n_u8(15)), least = vshrq_n_u8(both, 4);
        } else if constexpr (f.scales == BlockScales::kSixBits) {
          s = six_bits(low, high, j, f.subs() / 2);
          if constexpr (f.has_min)
            least = six_bits(low + kHeader.minima_apart, high + kHeader.high_minima_apart, j,
                             f.subs() / 2);
          else
            s = vsubq_u8(s, vdupq_n_u8(32));
        }
        scale_codes(d, vreinterpretq_s8_u8(s), to);
        if constexpr (f.has_min) scale_codes(m, vreinterpretq_s8_u8(least), minima + j * 32 + h);
      }
  }
}

template <BlockType t, int g = 0>
INGOT_INLINE void expand_codes(const uint8_t* c, uint8_t* to) {
  for (int v = 0; v < 8; v++) {
    const Codes codes = codes_of<t, g>(c, v);
    std::memcpy(to + g * 128 + v * 16, &codes, 16);
  }
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

/// Products of a sub-block, 4 V outputs of R rows, as floats: added to rows `apart` floats apart.
template <BlockType t, int R, int V>
INGOT_INLINE void add_products(const int32x4_t (&products)[R][V], const float* own,
                               const float* minima, const uint8_t* scales, const uint8_t* words,
                               int64_t stride, int64_t unit, float* to, int64_t apart) {
  constexpr BlockFormat f = block_format(t);
  INGOT_UNROLL for (int r = 0; r < R; r++) {
    const float32x4_t scale = vdupq_n_f32(float_at(scales + r * stride, unit)),
                      word = vdupq_n_f32(f.has_min ? float_at(words + r * stride, 0) : 0);
    float* const y = to + r * apart;
    INGOT_UNROLL for (int v = 0; v < V; v++) {
      float32x4_t s = vld1q_f32(own + v * 4);
      if constexpr (!f.is_super()) s = vmulq_f32(s, scale);
      float32x4_t sum = vfmaq_f32(vld1q_f32(y + v * 4), vcvtq_f32_s32(products[r][v]), s);
      if constexpr (f.has_min) sum = vfmaq_f32(sum, vld1q_f32(minima + v * 4), word);
      vst1q_f32(y + v * 4, sum);
    }
  }
}

/// Group `lane` of the 16 bytes in x of each row.
template <int lane, int R>
INGOT_INLINE void add_group(const uint8_t* w, const int8x16_t (&x)[R], int32x4_t (&sums)[R][4]) {
  INGOT_UNROLL for (int v = 0; v < 4; v++) {
    const Codes codes = load_codes(w + v * 16);
    INGOT_UNROLL for (int r = 0; r < R; r++) dot<lane>(sums[r][v], codes, x[r]);
  }
}

/// Units of R rows times 16 outputs: half of a panel.
template <BlockType t, int R>
void half_tile(const Expanded& e, const BlockRows& x, int64_t row, int64_t first, int64_t units,
               int half, float* sums) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs();
  const int64_t stride = x.stride;
  const int8_t* q = x.codes(row) + first * f.unit;
  const uint8_t* const scales = x.scales(row) + 4 * first;
  const uint8_t* words = x.words(row) + 4 * first * kSubs;
  const uint8_t* w = e.codes + half * 64;
  const float *own = e.scales + half * 16, *minima = e.minima + half * 16;
  sums += half * 16;
  float inner[R][16];
  for (int64_t unit = 0; unit < units; unit++) {
    if constexpr (f.is_super()) std::memset(inner, 0, sizeof inner);
    for (int j = 0; j < kSubs; j++, words += 4, own += kOutputs, minima += kOutputs) {
      int32x4_t c[R][4];
      INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int v = 0; v < 4; v++) c[r][v] =
          start_of(f, words + r * stride);
      for (int k = 0; k < f.sub; k += 16, w += 512) {
        int8x16_t four[R];
        INGOT_UNROLL for (int r = 0; r < R; r++) four[r] = vld1q_s8(q + r * stride + k);
        add_group<0>(w, four, c), add_group<1>(w + 128, four, c);
        add_group<2>(w + 256, four, c), add_group<3>(w + 384, four, c);
      }
      q += f.sub;
      add_products<t>(c, own, minima, scales, words, stride, unit, f.is_super() ? inner[0] : sums,
                      f.is_super() ? 16 : kOutputs);
    }
    if constexpr (f.is_super())
      for (int r = 0; r < R; r++)
        for (int v = 0; v < 4; v++) {
          float* const to = sums + r * kOutputs + v * 4;
          vst1q_f32(to, vfmaq_f32(vld1q_f32(to), vld1q_f32(inner[r] + v * 4),
                                  vdupq_n_f32(float_at(scales + r * stride, unit))));
        }
  }
}
template <class, BlockType t, int R>
void tile(const Expanded& e, const BlockRows& x, int64_t row, int64_t first, int64_t units,
          float* sums) {
  for (int half = 0; half < 2; half++) half_tile<t, R>(e, x, row, first, units, half, sums);
}

/// Group g of the codes at c, of which x has four groups a row, for outputs from 4 * first on.
template <BlockType t, int g, int R, int V>
INGOT_INLINE void add_codes(const uint8_t* c, int first, const int8x16_t (&x)[R],
                            int32x4_t (&sums)[R][V]) {
  INGOT_UNROLL for (int v = 0; v < V; v++) {
    const Codes codes = codes_of<t, g>(c, first + v);
    INGOT_UNROLL for (int r = 0; r < R; r++) dot<g % 4>(sums[r][v], codes, x[r]);
  }
}
/// Four groups from g on: bytes [4 g, 4 g + 16) of 32 of each row.
template <BlockType t, int g, int R, int V>
INGOT_INLINE void add_quarters(const uint8_t* c, int first, const int8_t* q, int64_t stride,
                               int32x4_t (&sums)[R][V]) {
  int8x16_t x[R];
  INGOT_UNROLL for (int r = 0; r < R; r++) x[r] = vld1q_s8(q + r * stride + g * 4);
  add_codes<t, g>(c, first, x, sums), add_codes<t, g + 1>(c, first, x, sums);
  add_codes<t, g + 2>(c, first, x, sums), add_codes<t, g + 3>(c, first, x, sums);
}

/// R rows times a panel as it lies in the file: one row all 32 outputs at once, several 16.
template <class, BlockType t, int R>
void rows_times_panel(const uint8_t* p, const BlockRows& x, int64_t row, float* sums) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs(), kBytes = kOutputs * f.bytes, kIn32 = 32 / f.sub;
  constexpr int kVectors = R == 1 ? 8 : 4;
  constexpr int64_t kAhead = 2048;
  const int64_t stride = x.stride;
  const int8_t* q = x.codes(row);
  const uint8_t* const scales = x.scales(row);
  const uint8_t* words = x.words(row);
  float own[kSubs * kOutputs], minima[kSubs * kOutputs], inner[R * kOutputs];
  std::memset(sums, 0, R * kOutputs * sizeof(float));
  for (int64_t unit = 0; unit < x.units; unit++, p += kBytes) {
    scales_of<t>(p, own, minima);
    std::memset(inner, 0, sizeof inner);
    for (int i = 0; i < f.unit / 32; i++, q += 32) {
      const uint8_t* const c = p + f.header_bytes() + i * f.code_bytes();
      constexpr int kRead = f.is_super() ? f.code_bytes() : kBytes;
      for (int at = 0; at < kRead; at += 64) V::prefetch(c + kAhead + at);
      for (int j = 0; j < kIn32; j++, words += 4)
        for (int first = 0; first < 8; first += kVectors) {
          int32x4_t products[R][kVectors];
          INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int v = 0; v < kVectors; v++)
              products[r][v] = start_of(f, words + r * stride);
          if (j == 0) add_quarters<t, 0>(c, first, q, stride, products);
          if (j == kIn32 - 1) add_quarters<t, 4>(c, first, q, stride, products);
          const int at = (i * kIn32 + j) * kOutputs + first * 4;
          add_products<t>(products, own + at, minima + at, scales, words, stride, unit,
                          (f.is_super() ? inner : sums) + first * 4, kOutputs);
        }
    }
    if constexpr (f.is_super())
      for (int r = 0; r < R; r++) {
        const float32x4_t scale = vdupq_n_f32(float_at(scales + r * stride, unit));
        for (int v = r * kOutputs; v < (r + 1) * kOutputs; v += 4)
          vst1q_f32(sums + v, vfmaq_f32(vld1q_f32(sums + v), vld1q_f32(inner + v), scale));
      }
  }
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
