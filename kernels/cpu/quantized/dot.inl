// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/dot.inl - struct Dot: products of four unsigned by four signed bytes,
// summed in 32 bits, for sixteen outputs at a time. It stands beside struct V of the instruction
// set. All are exact: sums are modulo 2^32, so that their order does not matter.
//
//   kRows, kPanels, kTall, kWide   register tiles: rows x panels; rows of a single panel; panels of
//                                  a single row
//   A, W, X      the sums of one panel (16 outputs) for one pixel; one group of its weights, 16
//                outputs x 4; four bytes of a pixel
//   kChunks      vectors of V that hold 16 numbers
//   start        sums that begin with `bias`, 16 numbers, or that finish() adds it to
//   finish       the sums in order of the outputs
//   dot_pair     adds a * pair[2i] + b * pair[2i + 1] for 16 bytes of a and b each
//   store        16 numbers, each 0 .. 255, as bytes, or the first n of them
//   kGroups      groups of four bytes in an X: 1, or 4, of which dot<i> takes one
//   kSigned      pixels are multiplied less 128: sums begin with signed_starts()
//   kWidens      pixels are first widened: widen() makes 16 bits of n bytes, a multiple of four, in
//                the order 0 2 1 3 of each four, and dot_wide() takes four of them
//   kFinishesBytes  finish_bytes() makes the bytes of 16 sums at once, by what finish_of() has read
//                of their channels; store_bytes() stores them or the first n
//   kPacksFour   pack_four() is there: four vectors of 16 steps, none above 255 - zero, to 64 bytes
//                max(low, step + zero), and store_part<bytes> stores `bytes` of them or the first
//                n
//   kShortWindow bytes of a window, at most, that products with weights of one add up sooner than
//                V::isum() does; 0: none (measured; not on NEON)
#pragma once
#include <cstring>

#include "runtime/op/tensor.h"

namespace ingot::cpu {
namespace {

#if defined(INGOT_SIMD_AVX512)

struct Dot {
  static constexpr int kGroups = 1;
  static constexpr bool kSigned = false;
#if defined(INGOT_SIMD_VNNI)
  static constexpr int kRows = 14, kPanels = 2, kTall = 16, kWide = 8, kChunks = 1;
#else
  static constexpr int kRows = 12, kPanels = 2, kTall = 14, kWide = 4, kChunks = 1;
#endif
  using X = __m512i;
  using A = __m512i;
  static INGOT_INLINE A start(const int32_t* bias) { return _mm512_loadu_si512(bias); }
  static INGOT_INLINE void finish(A a, const int32_t*, __m512i (&out)[1]) { out[0] = a; }
  static INGOT_INLINE int32_t quad(const void* p) {
    int32_t bytes;
    std::memcpy(&bytes, p, 4);
    return bytes;
  }
#if defined(INGOT_SIMD_VNNI)
  static constexpr bool kWidens = false;
#if defined(INGOT_SIMD_AMX)
  static constexpr int64_t kShortWindow = 0;  // no register tiles
#else
  static constexpr int64_t kShortWindow = 96;
#endif
  using W = __m512i;
  static INGOT_INLINE W weights(const int8_t* p) { return _mm512_loadu_si512(p); }
  static INGOT_INLINE X bytes(const uint8_t* p) { return _mm512_set1_epi32(quad(p)); }
  static INGOT_INLINE void dot(A& a, X x, const W& w) {
    // the intrinsic makes GCC 12 keep the tile on the stack
    asm("vpdpbusd %2, %1, %0" : "+v"(a) : "v"(x), "v"(w));
  }
#else
  struct W {
    __m512i even, odd;  // of each group, as 16 bits
  };
  static INGOT_INLINE W weights(const int8_t* p) {
    const __m512i w = _mm512_loadu_si512(p);
    return {_mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8), _mm512_srai_epi16(w, 8)};
  }
  static constexpr bool kWidens = true;
  static constexpr int64_t kShortWindow = 0;
  static INGOT_INLINE void widen(const uint8_t* from, int64_t n, uint16_t* to) {
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
    for (int64_t i = 0; i < n; i += 32) {
      const __mmask32 keep = n - i < 32 ? (__mmask32{1} << (n - i)) - 1 : ~__mmask32{0};
      const __m256i x = _mm256_shuffle_epi8(_mm256_maskz_loadu_epi8(keep, from + i), order);
      _mm512_storeu_si512(to + i, _mm512_cvtepu8_epi16(x));
    }
  }
  static INGOT_INLINE void dot_wide(A& a, const uint16_t* x, const W& w) {
    const __m512i even = _mm512_set1_epi32(quad(x)), odd = _mm512_set1_epi32(quad(x + 2));
    a = _mm512_add_epi32(a, _mm512_madd_epi16(even, w.even));
    asm("" : "+v"(a));
    a = _mm512_add_epi32(a, _mm512_madd_epi16(odd, w.odd));
  }
#endif
  static INGOT_INLINE void dot_pair(__m512i (&sums)[1], const uint8_t* a, const uint8_t* b,
                                    const int16_t* pair) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a)),
                  y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
    const __m256i pairs = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_unpacklo_epi8(x, y)),
                                                  _mm_unpackhi_epi8(x, y), 1);
    sums[0] = _mm512_add_epi32(
        sums[0], _mm512_madd_epi16(_mm512_cvtepu8_epi16(pairs), _mm512_loadu_si512(pair)));
  }
  static constexpr bool kPacksFour = true, kFinishesBytes = false;
  static INGOT_INLINE __m512i pack_four(const __m512i (&v)[4], int32_t zero, int32_t low) {
    const __m512i zeros = _mm512_set1_epi16(int16_t(zero));
    const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), zeros),
                  b = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), zeros);
    const __m512i bytes = _mm512_max_epu8(_mm512_packus_epi16(a, b), _mm512_set1_epi8(int8_t(low)));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
  }
  template <int kBytes>
  static INGOT_INLINE void store_part(uint8_t* p, __m512i v, int part, int64_t n) {
    if constexpr (kBytes == 64) {
      if (n >= 64)
        _mm512_storeu_si512(p, v);
      else
        _mm512_mask_storeu_epi8(p, ~0ull >> (64 - n), v);
    } else if constexpr (kBytes == 32) {
      const __m256i half = part == 0 ? _mm512_castsi512_si256(v) : _mm512_extracti64x4_epi64(v, 1);
      if (n >= 32)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), half);
      else
        _mm256_mask_storeu_epi8(p, __mmask32(~0u >> (32 - n)), half);
    } else {
      const __m128i quarter = part == 0   ? _mm512_castsi512_si128(v)
                              : part == 1 ? _mm512_extracti32x4_epi32(v, 1)
                              : part == 2 ? _mm512_extracti32x4_epi32(v, 2)
                                          : _mm512_extracti32x4_epi32(v, 3);
      if (n >= 16)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), quarter);
      else
        _mm_mask_storeu_epi8(p, __mmask16(0xffffu >> (16 - n)), quarter);
    }
  }
  static INGOT_INLINE void store(uint8_t* p, const __m512i (&v)[1], int64_t n) {
    const __m128i bytes = _mm512_cvtepi32_epi8(v[0]);
    if (n >= 16)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    else
      _mm_mask_storeu_epi8(p, __mmask16((1u << n) - 1), bytes);
  }
};

#elif defined(INGOT_SIMD_NEON)

struct Dot {
  static constexpr int kChunks = 4;
  static constexpr bool kWidens = false;
  static constexpr int64_t kShortWindow = 0;
  static constexpr bool kPacksFour = false;
  static constexpr int kGroups = 4;
  struct W {
    int8x16_t four[4];  // four outputs each
  };
  static INGOT_INLINE W weights(const int8_t* p) {
    return {{vld1q_s8(p), vld1q_s8(p + 16), vld1q_s8(p + 32), vld1q_s8(p + 48)}};
  }
#if defined(INGOT_SIMD_I8MM)
  static constexpr bool kSigned = false;
  using X = uint8x16_t;
  using Flip = int;
  static INGOT_INLINE Flip flip() { return 0; }
  static INGOT_INLINE X pixel(uint8x16_t bytes, Flip = 0) { return bytes; }
#else
  static constexpr bool kSigned = true;
  using X = int8x16_t;
  using Flip = uint8x16_t;
  /// Made again in each round of a loop, whose tile leaves no register for it.
  static INGOT_INLINE Flip flip() {
    Flip bits;
    asm volatile("movi %0.16b, #0x80" : "=w"(bits));
    return bits;
  }
  static INGOT_INLINE X pixel(uint8x16_t bytes, Flip bits = vdupq_n_u8(0x80)) {
    return vreinterpretq_s8_u8(veorq_u8(bytes, bits));
  }
  /// sums[i] + the bytes 4 i .. 4 i + 3.
  static INGOT_INLINE int32x4_t added_fours(int32x4_t sums, int8x16_t bytes) {
#if defined(INGOT_SIMD_DOTPROD)
    return vdotq_s32(sums, bytes, vdupq_n_s8(1));
#else
    return vpadalq_s16(sums, vpaddlq_s8(bytes));
#endif
  }
  /// 128 times the sum of each output's weights, added to its bias.
  static void signed_starts(const int8_t* w, int64_t bytes, const int32_t* bias, int32_t* starts) {
    int32x4_t sums[4] = {};
    for (int64_t k = 0; k < bytes; k += 4 * kPanel) {
      const W column = weights(w + k);
      INGOT_UNROLL for (int i = 0; i < 4; i++) sums[i] = added_fours(sums[i], column.four[i]);
    }
    INGOT_UNROLL for (int i = 0; i < 4; i++)
        vst1q_s32(starts + 4 * i, vaddq_s32(vld1q_s32(bias + 4 * i), vshlq_n_s32(sums[i], 7)));
  }
#endif
  static INGOT_INLINE X bytes(const uint8_t* p, Flip bits) { return pixel(vld1q_u8(p), bits); }
  static INGOT_INLINE X four_bytes(const uint8_t* p, Flip bits) {
    uint32_t four;
    std::memcpy(&four, p, 4);
    return pixel(vreinterpretq_u8_u32(vdupq_n_u32(four)), bits);
  }
#if defined(INGOT_SIMD_I8MM) || defined(INGOT_SIMD_DOTPROD)
#if defined(__clang__)
  static constexpr int kRows = 5, kPanels = 1, kTall = 5, kWide = 4;  // six are kept on the stack
#else
  static constexpr int kRows = 6, kPanels = 1, kTall = 6, kWide = 4;
#endif
  static constexpr bool kByColumns = true;
  struct A {
    int32x4_t four[4];
  };
  static INGOT_INLINE A start(const int32_t* bias) {
    return {{vld1q_s32(bias), vld1q_s32(bias + 4), vld1q_s32(bias + 8), vld1q_s32(bias + 12)}};
  }
  static INGOT_INLINE void finish(const A& a, const int32_t*, int32x4_t (&out)[4]) {
    INGOT_UNROLL for (int i = 0; i < 4; i++) out[i] = a.four[i];
  }
  template <int kGroup>
  static INGOT_INLINE void dot(A& a, X x, const W& w) {
    INGOT_UNROLL for (int i = 0; i < 4; i++) dot_lane<kGroup>(a.four[i], w.four[i], x);
  }
  /// Group kGroup of all pixels of a tile times its weights, at w + 64 kGroup, by two columns at a
  /// time: four, and six pixels, would want more registers than there are. GCC gets the
  /// instructions themselves: with intrinsics it keeps sums on the stack.
  template <int kGroup, int MR>
  static INGOT_INLINE void dot_rows(A (&acc)[MR], const X (&x)[MR], const int8_t* w) {
    INGOT_UNROLL for (int c = 0; c < 4; c += 2) {
      int8x16_t columns[2];
      if (c == 0)
        load_columns<kGroup * 64>(w, columns);
      else
        load_columns<kGroup * 64 + 32>(w, columns);
      INGOT_UNROLL for (int k = 0; k < 2; k++) INGOT_UNROLL for (int i = 0; i < MR; i++)
          dot_lane<kGroup>(acc[i].four[c + k], columns[k], x[i]);
    }
  }
#if defined(__clang__)
  template <int at>
  static INGOT_INLINE void load_columns(const int8_t* w, int8x16_t (&columns)[2]) {
    columns[0] = vld1q_s8(w + at), columns[1] = vld1q_s8(w + at + 16);
  }
  template <int kGroup>
  static INGOT_INLINE void dot_lane(int32x4_t& sum, int8x16_t column, X x) {
#if defined(INGOT_SIMD_I8MM)
    sum = vsudotq_laneq_s32(sum, column, x, kGroup);
#else
    sum = vdotq_laneq_s32(sum, column, x, kGroup);
#endif
  }
#else
  template <int at>
  static INGOT_INLINE void load_columns(const int8_t* w, int8x16_t (&columns)[2]) {
    struct Read {
      int8_t bytes[at + 32];
    };
    asm("ldp %q0, %q1, [%2, %3]"
        : "=w"(columns[0]), "=w"(columns[1])
        : "r"(w), "i"(at), "m"(*reinterpret_cast<const Read*>(w)));
  }
  template <int kGroup>
  static INGOT_INLINE void dot_lane(int32x4_t& sum, int8x16_t column, X x) {
#if defined(INGOT_SIMD_I8MM)
    asm("sudot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(column), "w"(x), "i"(kGroup));
#else
    asm("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(column), "w"(x), "i"(kGroup));
#endif
  }
#endif
  /// Of each four lanes; `bytes` less 128 where kSigned.
  static INGOT_INLINE int32x4_t dot_fours(int32x4_t sums, uint8x16_t bytes, int8x16_t w) {
#if defined(INGOT_SIMD_I8MM)
    return vusdotq_s32(sums, bytes, w);
#else
    return vdotq_s32(sums, vreinterpretq_s8_u8(bytes), w);
#endif
  }
#else
  static constexpr int kRows = 2, kPanels = 1, kTall = 2, kWide = 2;
  static constexpr bool kByColumns = false;
  // two sums of each output, of two outputs each
  struct A {
    int32x4_t two[8];
  };
  static INGOT_INLINE A start(const int32_t*) {
    A a;
    INGOT_UNROLL for (int i = 0; i < 8; i++) a.two[i] = vdupq_n_s32(0);
    return a;
  }
  static INGOT_INLINE void finish(const A& a, const int32_t* bias, int32x4_t (&out)[4]) {
    INGOT_UNROLL for (int i = 0; i < 4; i++) out[i] =
        vaddq_s32(vpaddq_s32(a.two[2 * i], a.two[2 * i + 1]), vld1q_s32(bias + 4 * i));
  }
  // products of signed bytes fit 16 bits, two of them would not
  template <int kGroup>
  static INGOT_INLINE void dot(A& a, X x, const W& w) {
    const int8x16_t four = vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(x), kGroup));
    // products first, so that no sum waits for its own
    int16x8_t products[8];
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      products[2 * i] = vmull_s8(vget_low_s8(four), vget_low_s8(w.four[i]));
      products[2 * i + 1] = vmull_high_s8(four, w.four[i]);
    }
    INGOT_UNROLL for (int i = 0; i < 8; i++) a.two[i] = vpadalq_s16(a.two[i], products[i]);
  }
#endif
  static INGOT_INLINE void dot_pair(int32x4_t (&sums)[4], const uint8_t* a, const uint8_t* b,
                                    const int16_t* pair) {
    const uint8x16_t x = vld1q_u8(a), y = vld1q_u8(b);
    const int16x8x2_t low = vld2q_s16(pair), high = vld2q_s16(pair + 16);
    add_products(sums[0], sums[1], vget_low_u8(x), low.val[0]);
    add_products(sums[2], sums[3], vget_high_u8(x), high.val[0]);
    add_products(sums[0], sums[1], vget_low_u8(y), low.val[1]);
    add_products(sums[2], sums[3], vget_high_u8(y), high.val[1]);
  }
  static INGOT_INLINE void add_products(int32x4_t& low, int32x4_t& high, uint8x8_t bytes,
                                        int16x8_t w) {
    const int16x8_t x = vreinterpretq_s16_u16(vmovl_u8(bytes));
    low = vmlal_s16(low, vget_low_s16(x), vget_low_s16(w));
    high = vmlal_s16(high, vget_high_s16(x), vget_high_s16(w));
  }
  static constexpr bool kFinishesBytes = true;
  struct Finish {
    float32x4_t multipliers[4], high;
    int16x8_t zero;
    uint8x16_t low;
  };
  static INGOT_INLINE Finish finish_of(const float* multipliers, int32_t zero, int32_t low,
                                       int32_t high) {
    Finish f;
    INGOT_UNROLL for (int i = 0; i < 4; i++) f.multipliers[i] = vld1q_f32(multipliers + 4 * i);
    f.high = vdupq_n_f32(float(high - zero));
    f.zero = vdupq_n_s16(int16_t(zero)), f.low = vdupq_n_u8(uint8_t(low));
    return f;
  }
  /// The minimum of a number and NaN is the number; conversions and what packs saturates, so that
  /// the lower limit may come last.
  static INGOT_INLINE uint8x16_t finish_bytes(const int32x4_t (&sums)[4], const Finish& f) {
    int32x4_t v[4];
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      const float32x4_t step = vmulq_f32(vcvtq_f32_s32(sums[i]), f.multipliers[i]);
      v[i] = vcvtnq_s32_f32(vminnmq_f32(step, f.high));
    }
    const int16x8_t first = vqmovn_high_s32(vqmovn_s32(v[0]), v[1]),
                    second = vqmovn_high_s32(vqmovn_s32(v[2]), v[3]);
    const uint8x8_t bytes = vqmovun_s16(vqaddq_s16(first, f.zero));
    return vmaxq_u8(vqmovun_high_s16(bytes, vqaddq_s16(second, f.zero)), f.low);
  }
  static INGOT_INLINE void store_bytes(uint8_t* p, uint8x16_t bytes, int64_t n) {
    if (n >= 16) return vst1q_u8(p, bytes);
    uint8_t all[16];
    vst1q_u8(all, bytes);
    std::memcpy(p, all, size_t(n));
  }
  static INGOT_INLINE void store(uint8_t* p, const int32x4_t (&v)[4], int64_t n) {
    const uint16x8_t low = vcombine_u16(vqmovun_s32(v[0]), vqmovun_s32(v[1])),
                     high = vcombine_u16(vqmovun_s32(v[2]), vqmovun_s32(v[3]));
    store_bytes(p, vcombine_u8(vqmovn_u16(low), vqmovn_u16(high)), n);
  }
};

#endif

}  // namespace
}  // namespace ingot::cpu
#if defined(INGOT_SIMD_AVX2)
#include "kernels/cpu/quantized/dot_avx2.inl"
#elif defined(INGOT_SIMD_SSE2)
#include "kernels/cpu/quantized/dot_sse2.inl"
#elif defined(INGOT_SIMD_NEON32)
#include "kernels/cpu/quantized/dot_neon32.inl"
#elif defined(INGOT_SIMD_RVV)
#include "kernels/cpu/quantized/dot_rvv.inl"
#elif defined(INGOT_SIMD_SCALAR)
#include "kernels/cpu/quantized/dot_scalar.inl"
#endif
