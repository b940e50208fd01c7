// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/tile_neon.inl - products of bytes of 64-bit Arm: tiles of four rows and
// 16 outputs, by dot products of four k (FEAT_DotProd), or by matrices of two rows, two outputs and
// eight k (FEAT_I8MM), sums of floats in L1; few rows, and one, by dot products.
#pragma once
#include "kernels/cpu/block_linear/job.inl"
#include "kernels/cpu/block_linear/neon_instructions.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

constexpr int kTileRows = 4, kFileTileRows = 4, kFileRows = 4;

/// Tiles multiply codes with their sign; so does a row where they do not fit otherwise.
constexpr bool is_signed(const BlockFormat& f) { return f.largest() > 127; }
constexpr auto expands_alike = sums_alike;

/// Two bits of group g, at bit `to` of bytes.
template <int g, int to>
INGOT_INLINE uint8x16_t crumbs_of(uint8x16_t v) {
  constexpr int kShift = g % 4 * 2 - to;
  if constexpr (kShift > 0) v = vshrq_n_u8(v, kShift);
  if constexpr (kShift < 0) v = vshlq_n_u8(v, -kShift);
  return vandq_u8(v, vdupq_n_u8(3 << to));
}

/// Where in the codes of 32 k the 64 bytes are that have group g of the first 16 outputs, those of
/// the others behind them; groups g and g + 4 share those of 4, 5 and 6 bits.
template <BlockType t, int g>
constexpr int bytes_at() {
  constexpr BlockFormat f = block_format(t);
  return f.bits == 8 ? g * 128 : (f.bits % 2 ? 128 : 0) + (f.bits < 4 ? g / 4 : g % 4) * 128;
}

/// Four outputs (eighth v of the panel) of group g, of whose 64 `bytes` are a quarter.
template <BlockType t, int g>
INGOT_INLINE int8x16_t codes_of(uint8x16_t bytes, const uint8_t* c, int v) {
  constexpr BlockFormat f = block_format(t);
  const int h = v / 4, at = v % 4 * 16;
  if constexpr (f.bits == 8) return vreinterpretq_s8_u8(bytes);
  uint8x16_t codes;
  if constexpr (f.bits < 4)
    codes = crumbs_of<g, 0>(bytes);
  else
    codes = g >= 4 ? vshrq_n_u8(bytes, 4) : vandq_u8(bytes, vdupq_n_u8(15));
  if constexpr (f.bits % 2 == 1) {  // a bit a byte: its own byte of those of four vectors, its bit
    const uint8x16_t four = vld1q_u8(c + (g * 2 + h) * 8);  // codes are behind the last ones
    const uint8x16_t byte = vcombine_u8(vdup_n_u8(uint8_t(at / 8)), vdup_n_u8(uint8_t(at / 8 + 1)));
    const uint8x8_t bit = vcreate_u8(0x8040201008040201);
    const uint8x16_t set = vtstq_u8(vqtbl1q_u8(four, byte), vcombine_u8(bit, bit));
    codes = vbslq_u8(vdupq_n_u8(1 << (f.bits - 1)), set, codes);
  }
  if constexpr (f.bits == 6)
    codes = vorrq_u8(codes, crumbs_of<g, 4>(vld1q_u8(c + 512 + (g / 4 * 2 + h) * 64 + at)));
  if constexpr (f.levels != BlockLevels::kEven) {
    constexpr int kZero = is_signed(f) ? 0 : f.zero;
    const uint8_t* const levels = kLevelBytes<t, kZero>.at;  // Clang's vld1q_u8 is a macro
    codes = vqtbl1q_u8(vld1q_u8(levels), codes);
  }
  return vreinterpretq_s8_u8(codes);
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
    float32x4_t d[4], m[4] = {};
    INGOT_UNROLL for (int v = 0; v < 4; v += 2) {
      if constexpr (f.scales == BlockScales::kExponent)
        d[v] = exponents_at(p + h + v * 4), d[v + 1] = exponents_at(p + h + v * 4 + 4);
      else
        eight_halves(p + h * 2 + v * 8, d[v], d[v + 1]);
      if constexpr (f.has_min) eight_halves(p + 64 + h * 2 + v * 8, m[v], m[v + 1]);
    }
    if constexpr (f.has_min && f.is_super())
      INGOT_UNROLL for (int v = 0; v < 4; v++) m[v] = vnegq_f32(m[v]);
    if constexpr (!f.is_super()) store_vectors<0>(scales + h, d);
    if constexpr (!f.is_super() && f.has_min) store_vectors<0>(minima + h, m);
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

/// Group g of half of the outputs, with their sign.
template <BlockType t, int g>
INGOT_INLINE void signed_codes(const uint8_t* c, int half, int8x16_t (&to)[4]) {
  constexpr BlockFormat f = block_format(t);
  uint8x16_t bytes[4];
  load_vectors<bytes_at<t, g>()>(c + half * 64, bytes);
  INGOT_UNROLL for (int v = 0; v < 4; v++) {
    to[v] = codes_of<t, g>(bytes[v], c, half * 4 + v);
    if constexpr (!f.has_min && !is_signed(f)) to[v] = vsubq_s8(to[v], vdupq_n_s8(f.zero));
  }
}
INGOT_INLINE void store_codes(uint8_t* p, const int8x16_t (&codes)[4]) {
  INGOT_UNROLL for (int v = 0; v < 4; v++)
      vst1q_s8(reinterpret_cast<int8_t*>(p) + v * 16, codes[v]);
}
#if defined(INGOT_SIMD_I8MM)
/// Of each two groups [half][pair of outputs][output][8 k].
template <BlockType t, int g = 0>
INGOT_INLINE void expand_codes(const uint8_t* c, uint8_t* to) {
  INGOT_UNROLL for (int half = 0; half < 2; half++) {
    int8x16_t a[4], b[4], pairs[2][4];
    signed_codes<t, g>(c, half, a), signed_codes<t, g + 1>(c, half, b);
    INGOT_UNROLL for (int v = 0; v < 4; v++) {
      const int32x4_t low = vreinterpretq_s32_s8(a[v]), high = vreinterpretq_s32_s8(b[v]);
      pairs[v / 2][v % 2 * 2] = vreinterpretq_s8_s32(vzip1q_s32(low, high));
      pairs[v / 2][v % 2 * 2 + 1] = vreinterpretq_s8_s32(vzip2q_s32(low, high));
    }
    uint8_t* const at = to + (g + half) * 128;
    store_codes(at, pairs[0]), store_codes(at + 64, pairs[1]);
  }
  if constexpr (g < 6) expand_codes<t, g + 2>(c, to);
}
#else
/// Of each group [half][output][4 k].
template <BlockType t, int g = 0>
INGOT_INLINE void expand_codes(const uint8_t* c, uint8_t* to) {
  INGOT_UNROLL for (int half = 0; half < 2; half++) {
    int8x16_t codes[4];
    signed_codes<t, g>(c, half, codes);
    store_codes(to + (g * 2 + half) * 64, codes);
  }
  if constexpr (g < 7) expand_codes<t, g + 1>(c, to);
}
#endif
template <BlockType t>
void expand_block(const uint8_t* panel, const Expanded& e, int64_t unit) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs();
  scales_of<t>(panel, e.scales + unit * kSubs * kOutputs, e.minima + unit * kSubs * kOutputs);
  uint8_t* const to = e.codes + unit * f.unit * kOutputs;
  for (int i = 0; i < f.unit / 32; i++)
    expand_codes<t>(panel + f.header_bytes() + i * f.code_bytes(), to + i * 1024);
}

/// A row's products of a sub-block, of 4 V outputs, as floats, added to `sums`.
template <BlockType t, int V>
INGOT_INLINE void add_products(const int32x4_t (&products)[V], const float32x4_t (&own)[V],
                               const float32x4_t (&minima)[V], float scale, float word,
                               float32x4_t (&sums)[V]) {
  constexpr BlockFormat f = block_format(t);
  INGOT_UNROLL for (int v = 0; v < V; v++) {
    const float32x4_t s = f.is_super() ? own[v] : vmulq_n_f32(own[v], scale);
    fuse(sums[v], vcvtq_f32_s32(products[v]), s);
    if constexpr (f.has_min) fuse(sums[v], minima[v], word);
  }
}
/// The same of rows r to R and 16 outputs: added to rows `apart` floats apart.
template <BlockType t, int apart, int r = 0, int R>
INGOT_INLINE void add_rows(const int32x4_t (&products)[R][4], const float32x4_t (&own)[4],
                           const float32x4_t (&minima)[4], const uint8_t* scales,
                           const uint8_t* words, int64_t stride, float* to) {
  constexpr BlockFormat f = block_format(t);
  const float scale = f.is_super() ? 0 : float_at(scales + r * stride, 0),
              word = f.has_min ? float_at(words + r * stride, 0) : 0;
  float32x4_t sums[4];
  load_vectors<r * apart * 4>(to, sums);
  add_products<t>(products[r], own, minima, scale, word, sums);
  store_vectors<r * apart * 4>(to, sums);
  if constexpr (r + 1 < R)
    add_rows<t, apart, r + 1>(products, own, minima, scales, words, stride, to);
}
template <BlockType t, int apart, int R>
INGOT_INLINE void add_rows(const int32x4_t (&products)[R][4], const float* own, const float* minima,
                           const uint8_t* scales, const uint8_t* words, int64_t stride, float* to) {
  float32x4_t s[4], m[4] = {};
  load_vectors<0>(own, s);
  if constexpr (block_format(t).has_min) load_vectors<0>(minima, m);
  add_rows<t, apart>(products, s, m, scales, words, stride, to);
}
/// sums[r] += inner[r] times the scale of that row, of rows `apart` floats apart.
template <int apart, int r = 0, int R, int N>
INGOT_INLINE void scale_rows(const float (&inner)[R][N], const uint8_t* scales, int64_t stride,
                             float* sums) {
  const float scale = float_at(scales + r * stride, 0);
  float32x4_t some[N / 4], all[N / 4];
  load_vectors<0>(inner[r], some), load_vectors<r * apart * 4>(sums, all);
  INGOT_UNROLL for (int v = 0; v < N / 4; v++) fuse(all[v], some[v], scale);
  store_vectors<r * apart * 4>(sums, all);
  if constexpr (r + 1 < R) scale_rows<apart, r + 1>(inner, scales, stride, sums);
}

/// Products of `sub` k of R rows at q and of 16 outputs, whose codes are at w.
#if defined(INGOT_SIMD_I8MM)
constexpr int kHalfBytes = 128;
INGOT_INLINE int8x16_t low_pair(int8x16_t a, int8x16_t b) {
  return vreinterpretq_s8_s64(vzip1q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}
INGOT_INLINE int8x16_t high_pair(int8x16_t a, int8x16_t b) {
  return vreinterpretq_s8_s64(vzip2q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}
/// Products of 8 k of pairs of rows, from those at w + at on, with 16 outputs.
template <int at, int R>
INGOT_INLINE void add_squares(const uint8_t* w, const int8x16_t (&x)[R], int32x4_t (&sums)[R][8]) {
  INGOT_UNROLL for (int h = 0; h < 2; h++) {
    int8x16_t codes[4];
    if (h == 0)
      load_vectors<at>(w, codes);
    else
      load_vectors<at + 64>(w, codes);
    INGOT_UNROLL for (int v = 0; v < 4; v++) INGOT_UNROLL for (int r = 0; r < R; r++)
        add_square(sums[r][h * 4 + v], x[r], codes[v]);
  }
}
/// 16 k from `k` on.
template <int k, int sub, int R>
INGOT_INLINE void add_sixteen(const uint8_t* w, const int8_t* q, int64_t stride,
                              int32x4_t (&sums)[R][8]) {
  int8x16_t low[R], high[R];
  INGOT_UNROLL for (int r = 0; r < R; r++) {
    const int8x16_t a = vld1q_s8(q + 2 * r * stride + k),
                    b = vld1q_s8(q + (2 * r + 1) * stride + k);
    low[r] = low_pair(a, b), high[r] = high_pair(a, b);
  }
  add_squares<k * 32>(w, low, sums), add_squares<k * 32 + 256>(w, high, sums);
  if constexpr (k + 16 < sub) add_sixteen<k + 16, sub>(w, q, stride, sums);
}
template <int R, int sub>
INGOT_INLINE void multiply(const uint8_t* w, const int8_t* q, int64_t stride,
                           int32x4_t (&products)[R][4]) {
  static_assert(R % 2 == 0, "pairs of rows");
  int32x4_t squares[R / 2][8];  // of two rows and two outputs
  INGOT_UNROLL for (int r = 0; r < R / 2; r++) INGOT_UNROLL for (int v = 0; v < 8; v++)
      squares[r][v] = zero();
  add_sixteen<0, sub>(w, q, stride, squares);
  INGOT_UNROLL for (int r = 0; r < R; r += 2) INGOT_UNROLL for (int v = 0; v < 4; v++) {
    const int8x16_t a = vreinterpretq_s8_s32(squares[r / 2][2 * v]),
                    b = vreinterpretq_s8_s32(squares[r / 2][2 * v + 1]);
    products[r][v] = vreinterpretq_s32_s8(low_pair(a, b));
    products[r + 1][v] = vreinterpretq_s32_s8(high_pair(a, b));
  }
}
#else
constexpr int kHalfBytes = 64;
/// Group `lane` of the 16 bytes in x of each row, from k on.
template <int k, int lane, int R>
INGOT_INLINE void add_group(const uint8_t* w, const int8x16_t (&x)[R], int32x4_t (&sums)[R][4]) {
  int8x16_t codes[4];
  load_vectors<k * 32 + lane * 128>(w, codes);
  INGOT_UNROLL for (int v = 0; v < 4; v++) INGOT_UNROLL for (int r = 0; r < R; r++)
      dot<lane>(sums[r][v], codes[v], x[r]);
}
/// 16 k from `k` on.
template <int k, int sub, int R>
INGOT_INLINE void add_sixteen(const uint8_t* w, const int8_t* q, int64_t stride,
                              int32x4_t (&sums)[R][4]) {
  int8x16_t x[R];
  INGOT_UNROLL for (int r = 0; r < R; r++) x[r] = vld1q_s8(q + r * stride + k);
  add_group<k, 0>(w, x, sums), add_group<k, 1>(w, x, sums);
  add_group<k, 2>(w, x, sums), add_group<k, 3>(w, x, sums);
  if constexpr (k + 16 < sub) add_sixteen<k + 16, sub>(w, q, stride, sums);
}
template <int R, int sub>
INGOT_INLINE void multiply(const uint8_t* w, const int8_t* q, int64_t stride,
                           int32x4_t (&products)[R][4]) {
  INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int v = 0; v < 4; v++) products[r][v] =
      zero();
  add_sixteen<0, sub>(w, q, stride, products);
}
#endif

/// Units of R rows times 16 outputs: half of a panel.
template <BlockType t, int R>
void half_tile(const Expanded& e, const BlockRows& x, int64_t row, int64_t first, int64_t units,
               int half, float* sums) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs();
  const int64_t stride = x.stride;
  const int8_t* q = x.codes(row) + first * f.unit;
  const uint8_t *scales = x.scales(row) + 4 * first, *words = x.words(row) + 4 * first * kSubs;
  const uint8_t* w = e.codes + half * kHalfBytes;
  const float *own = e.scales + half * 16, *minima = e.minima + half * 16;
  sums += half * 16;
  for (int64_t unit = 0; unit < units; unit++, scales += 4) {
    float inner[R][16];
    if constexpr (f.is_super()) std::memset(inner, 0, sizeof inner);
    for (int j = 0; j < kSubs; j++, words += 4, own += kOutputs, minima += kOutputs) {
      int32x4_t products[R][4];
      multiply<R, f.sub>(w, q, stride, products);
      q += f.sub, w += f.sub * kOutputs;
      if constexpr (f.is_super())
        add_rows<t, 16>(products, own, minima, scales, words, stride, inner[0]);
      else
        add_rows<t, kOutputs>(products, own, minima, scales, words, stride, sums);
    }
    if constexpr (f.is_super()) scale_rows<kOutputs>(inner, scales, stride, sums);
  }
}
template <class, BlockType t, int R>
void tile(const Expanded& e, const BlockRows& x, int64_t row, int64_t first, int64_t units,
          float* sums) {
  for (int half = 0; half < 2; half++) half_tile<t, R>(e, x, row, first, units, half, sums);
}

/// Group g of half of the outputs, of whose bytes are `bytes`: sums of vectors from `to` on.
template <BlockType t, int g, int R, int V>
INGOT_INLINE void add_codes(const uint8x16_t (&bytes)[4], const uint8_t* c, int half, int to,
                            const int8x16_t (&x)[R], int32x4_t (&sums)[R][V]) {
  INGOT_UNROLL for (int v = 0; v < 4; v++) {
    const int8x16_t codes = codes_of<t, g>(bytes[v], c, half * 4 + v);
    INGOT_UNROLL for (int r = 0; r < R; r++) dot<g % 4>(sums[r][to + v], codes, x[r]);
  }
}
/// Groups from g on: low ones times a, bytes [0, 16) of each row, high ones times b, [16, 32).
template <BlockType t, bool low, bool high, int g = 0, int R, int V>
INGOT_INLINE void add_groups(const uint8_t* c, int half, int to, const int8x16_t (&a)[R],
                             const int8x16_t (&b)[R], int32x4_t (&sums)[R][V]) {
  constexpr bool kShared = bytes_at<t, g>() == bytes_at<t, g + 4>();
  uint8x16_t bytes[4];
  if constexpr (low || kShared) load_vectors<bytes_at<t, g>()>(c + half * 64, bytes);
  if constexpr (low) add_codes<t, g>(bytes, c, half, to, a, sums);
  if constexpr (high && !kShared) load_vectors<bytes_at<t, g + 4>()>(c + half * 64, bytes);
  if constexpr (high) add_codes<t, g + 4>(bytes, c, half, to, b, sums);
  if constexpr (g < 3) add_groups<t, low, high, g + 1>(c, half, to, a, b, sums);
}
/// Products of sub-block j of 32 k: of all outputs where V is 8, else of half of them.
template <BlockType t, int j, int R, int V>
INGOT_INLINE void file_products(const uint8_t* c, int half, const int8_t* q, const uint8_t* words,
                                int64_t stride, int32x4_t (&products)[R][V]) {
  constexpr BlockFormat f = block_format(t);
  constexpr bool kLow = j == 0, kHigh = j == 32 / f.sub - 1;
  int8x16_t a[R], b[R];
  INGOT_UNROLL for (int r = 0; r < R; r++) {
    const int32_t start = f.has_min || is_signed(f) ? 0 : integer_at(words + r * stride, 0);
    INGOT_UNROLL for (int v = 0; v < V; v++) products[r][v] = vdupq_n_s32(start);
    a[r] = vld1q_s8(q + r * stride), b[r] = vld1q_s8(q + r * stride + 16);
  }
  add_groups<t, kLow, kHigh>(c, half, 0, a, b, products);
  if constexpr (V == 8) add_groups<t, kLow, kHigh>(c, 1, 4, a, b, products);
}
template <BlockType t, int R, int V>
INGOT_INLINE void file_products(int j, const uint8_t* c, int half, const int8_t* q,
                                const uint8_t* words, int64_t stride, int32x4_t (&products)[R][V]) {
  if (j == 0)
    file_products<t, 0>(c, half, q, words, stride, products);
  else
    file_products<t, 32 / block_format(t).sub - 1>(c, half, q, words, stride, products);
}

/// Scales and minima, of a block that is none of 256, of 32 outputs.
template <BlockType t>
INGOT_INLINE void file_scales(const uint8_t* p, float32x4_t (&own)[8], float32x4_t (&minima)[8]) {
  constexpr BlockFormat f = block_format(t);
  INGOT_UNROLL for (int v = 0; v < 8; v += 2) {
    if constexpr (f.scales == BlockScales::kExponent)
      own[v] = exponents_at(p + v * 4), own[v + 1] = exponents_at(p + v * 4 + 4);
    else
      eight_halves(p + v * 8, own[v], own[v + 1]);
    if constexpr (f.has_min) eight_halves(p + 64 + v * 8, minima[v], minima[v + 1]);
  }
}

/// A row times a panel as it lies in the file, sums in registers.
template <class V, BlockType t>
void row_times_panel(const uint8_t* p, const BlockRows& x, int64_t row, float* sums) {
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs(), kBytes = kOutputs * f.bytes, kIn32 = 32 / f.sub;
  constexpr int64_t kAhead = 2048;
  const int8_t* q = x.codes(row);
  const uint8_t *scales = x.scales(row), *words = x.words(row);
  float own[kSubs * kOutputs], minima[kSubs * kOutputs];
  float32x4_t totals[8], inner[8];
  INGOT_UNROLL for (int v = 0; v < 8; v++) totals[v] = vdupq_n_f32(0);
  for (int64_t unit = 0; unit < x.units; unit++, p += kBytes, scales += 4) {
    if constexpr (f.is_super()) {
      scales_of<t>(p, own, minima);
      INGOT_UNROLL for (int v = 0; v < 8; v++) inner[v] = vdupq_n_f32(0);
    }
    const float scale = float_at(scales, 0);
    for (int i = 0; i < f.unit / 32; i++, q += 32) {
      const uint8_t* const c = p + f.header_bytes() + i * f.code_bytes();
      constexpr int kRead = f.is_super() ? f.code_bytes() : kBytes;
      INGOT_UNROLL for (int at = 0; at < kRead; at += 64) V::prefetch(c + kAhead + at);
      INGOT_UNROLL for (int j = 0; j < kIn32; j++, words += 4) {
        int32x4_t products[1][8];
        file_products<t>(j, c, 0, q, words, 0, products);
        const float word = f.has_min ? float_at(words, 0) : 0;
        float32x4_t s[8], m[8] = {};
        if constexpr (f.is_super()) {
          const int at = (i * kIn32 + j) * kOutputs;
          load_vectors<0>(own + at, s);
          if constexpr (f.has_min) load_vectors<0>(minima + at, m);
          add_products<t>(products[0], s, m, scale, word, inner);
        } else {
          file_scales<t>(p, s, m);
          add_products<t>(products[0], s, m, scale, word, totals);
        }
      }
    }
    if constexpr (f.is_super())
      INGOT_UNROLL for (int v = 0; v < 8; v++) fuse(totals[v], inner[v], scale);
  }
  store_vectors<0>(sums, totals);
}

/// R rows times a panel as it lies in the file: of several, 16 outputs at once.
template <class V, BlockType t, int R>
void rows_times_panel(const uint8_t* p, const BlockRows& x, int64_t row, float* sums) {
  if constexpr (R == 1) return row_times_panel<V, t>(p, x, row, sums);
  constexpr BlockFormat f = block_format(t);
  constexpr int kSubs = f.subs(), kBytes = kOutputs * f.bytes, kIn32 = 32 / f.sub;
  constexpr int64_t kAhead = 2048;
  const int64_t stride = x.stride;
  const int8_t* q = x.codes(row);
  const uint8_t *scales = x.scales(row), *words = x.words(row);
  float own[kSubs * kOutputs], minima[kSubs * kOutputs];
  std::memset(sums, 0, R * kOutputs * sizeof(float));
  for (int64_t unit = 0; unit < x.units; unit++, p += kBytes, scales += 4) {
    scales_of<t>(p, own, minima);
    float inner[R][kOutputs];
    if constexpr (f.is_super()) std::memset(inner, 0, sizeof inner);
    for (int i = 0; i < f.unit / 32; i++, q += 32) {
      const uint8_t* const c = p + f.header_bytes() + i * f.code_bytes();
      constexpr int kRead = f.is_super() ? f.code_bytes() : kBytes;
      for (int at = 0; at < kRead; at += 64) V::prefetch(c + kAhead + at);
      for (int j = 0; j < kIn32; j++, words += 4)
        for (int half = 0; half < 2; half++) {
          int32x4_t products[R][4];
          file_products<t>(j, c, half, q, words, stride, products);
          const int at = (i * kIn32 + j) * kOutputs + half * 16;
          add_rows<t, kOutputs>(products, own + at, minima + at, scales, words, stride,
                                (f.is_super() ? inner[0] : sums) + half * 16);
        }
    }
    if constexpr (f.is_super()) scale_rows<kOutputs>(inner, scales, stride, sums);
  }
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
