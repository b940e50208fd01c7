// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/avx512.h - struct V with sixteen lanes, AVX-512 F, BW, DQ and VL. Its contract
// is in scalar.h.
#pragma once
#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/simd/inline.h"

#define INGOT_SIMD_AVX512 1

namespace ingot::cpu {
namespace {

struct V {
  static constexpr int kLanes = 16;
  using F = __m512;
  using I = __m512i;
  using M = __mmask16;

  static INGOT_INLINE M tail_mask(int64_t n) { return M((1u << n) - 1); }
  static INGOT_INLINE F load(const float* p) { return _mm512_loadu_ps(p); }
  static INGOT_INLINE void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static INGOT_INLINE F load_partial(const float* p, int64_t n) {
    return _mm512_maskz_loadu_ps(tail_mask(n), p);
  }
  static INGOT_INLINE void store_partial(float* p, F v, int64_t n) {
    _mm512_mask_storeu_ps(p, tail_mask(n), v);
  }
  static INGOT_INLINE I iload(const int32_t* p) { return _mm512_loadu_si512(p); }
  static INGOT_INLINE void istore(int32_t* p, I v) { _mm512_storeu_si512(p, v); }
  static INGOT_INLINE F load_u8(const uint8_t* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static INGOT_INLINE F load_i8(const int8_t* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static INGOT_INLINE F load_f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static INGOT_INLINE F load_bf16(const uint16_t* p) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return (F)_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
  }
  static INGOT_INLINE void store_f16(uint16_t* p, F v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  static INGOT_INLINE I load_words(const uint8_t* p) { return _mm512_loadu_si512(p); }
  /// A table of 16: the permutation reads no more than four bits of each index.
  template <int i>
  static INGOT_INLINE F nibble(I words) {
    return _mm512_permutexvar_ps(
        i > 0 ? _mm512_srli_epi32(words, 4 * i) : words,
        _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
  }
  static INGOT_INLINE F gather(const float* p, I at) { return _mm512_i32gather_ps(at, p, 4); }
  static INGOT_INLINE F splat(float x) { return _mm512_set1_ps(x); }
  static INGOT_INLINE I isplat(int32_t x) { return _mm512_set1_epi32(x); }
  static INGOT_INLINE F zero() { return _mm512_setzero_ps(); }

  static INGOT_INLINE F add(F a, F b) { return _mm512_add_ps(a, b); }
  static INGOT_INLINE F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static INGOT_INLINE F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static INGOT_INLINE F div(F a, F b) { return _mm512_div_ps(a, b); }
  static INGOT_INLINE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static INGOT_INLINE F max(F a, F b) { return _mm512_max_ps(a, b); }
  static INGOT_INLINE F min(F a, F b) { return _mm512_min_ps(a, b); }
  static INGOT_INLINE F abs(F a) { return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a); }
  static INGOT_INLINE F neg(F a) { return _mm512_xor_ps(_mm512_set1_ps(-0.0f), a); }
  static INGOT_INLINE F sqrt(F a) { return _mm512_sqrt_ps(a); }
  static INGOT_INLINE F round(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static INGOT_INLINE F floor(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  }
  static INGOT_INLINE F ceil(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  }
  static INGOT_INLINE F trunc(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  }

  /// a 2^n of a whole n for 0.5 < a < 2: zero up to n = -127; where n `may_overflow` infinite from
  /// 128 on, whatever a is. NaN stays.
  template <bool may_overflow>
  static INGOT_INLINE F scale(F a, F n) {
    const F scaled =
        _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(n, _mm512_set1_ps(-127.0f), _CMP_NLE_UQ), a, n);
    if constexpr (!may_overflow) return scaled;
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(n, _mm512_set1_ps(128.0f), _CMP_GE_OQ), scaled,
                                _mm512_set1_ps(__builtin_inff()));
  }

  static INGOT_INLINE M lt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static INGOT_INLINE M le(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
  static INGOT_INLINE M gt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static INGOT_INLINE M ge(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
  static INGOT_INLINE M eq(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static INGOT_INLINE M unordered(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
  static INGOT_INLINE F select(M m, F a, F b) { return _mm512_mask_blend_ps(m, b, a); }
  static INGOT_INLINE I iselect(M m, I a, I b) { return _mm512_mask_blend_epi32(m, b, a); }
  static INGOT_INLINE M mask_and(M a, M b) { return M(a & b); }
  static INGOT_INLINE M mask_or(M a, M b) { return M(a | b); }
  static INGOT_INLINE M mask_xor(M a, M b) { return M(a ^ b); }
  static INGOT_INLINE M mask_not(M a) { return M(~a); }
  static INGOT_INLINE bool any(M m) { return m != 0; }

  static INGOT_INLINE F bit_and(F a, F b) { return _mm512_and_ps(a, b); }
  static INGOT_INLINE F bit_or(F a, F b) { return _mm512_or_ps(a, b); }
  static INGOT_INLINE F bit_xor(F a, F b) { return _mm512_xor_ps(a, b); }
  static INGOT_INLINE I as_int(F a) { return _mm512_castps_si512(a); }
  static INGOT_INLINE F as_float(I a) { return _mm512_castsi512_ps(a); }
  static INGOT_INLINE I to_int(F a) { return _mm512_cvttps_epi32(a); }
  static INGOT_INLINE I to_int_nearest(F a) { return _mm512_cvtps_epi32(a); }
  static INGOT_INLINE F to_float(I a) { return _mm512_cvtepi32_ps(a); }

  static INGOT_INLINE I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
  static INGOT_INLINE I isub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static INGOT_INLINE I imul(I a, I b) { return _mm512_mullo_epi32(a, b); }
  static INGOT_INLINE I iand(I a, I b) { return _mm512_and_si512(a, b); }
  static INGOT_INLINE I ior(I a, I b) { return _mm512_or_si512(a, b); }
  static INGOT_INLINE I ixor(I a, I b) { return _mm512_xor_si512(a, b); }
  template <int n>
  static INGOT_INLINE I ishl(I a) {
    return _mm512_slli_epi32(a, n);
  }
  template <int n>
  static INGOT_INLINE I ishr(I a) {
    return _mm512_srli_epi32(a, n);
  }
  template <int n>
  static INGOT_INLINE I isar(I a) {
    return _mm512_srai_epi32(a, n);
  }
  static INGOT_INLINE M ieq(I a, I b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static INGOT_INLINE M igt(I a, I b) { return _mm512_cmpgt_epi32_mask(a, b); }

  static INGOT_INLINE void keep(F& a) { asm("" : "+v"(a)); }
  static INGOT_INLINE void transpose(F (&rows)[16]) {
    F pair[16], quad[16];
    INGOT_UNROLL for (int i = 0; i < 16; i += 2) {
      pair[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
      pair[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
    }
    INGOT_UNROLL for (int i = 0; i < 16; i += 4) {
      quad[i] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0x44);
      quad[i + 1] = _mm512_shuffle_ps(pair[i], pair[i + 2], 0xee);
      quad[i + 2] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
      quad[i + 3] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      const F a = _mm512_shuffle_f32x4(quad[i], quad[i + 4], 0x88),
              b = _mm512_shuffle_f32x4(quad[i], quad[i + 4], 0xdd);
      const F c = _mm512_shuffle_f32x4(quad[i + 8], quad[i + 12], 0x88),
              d = _mm512_shuffle_f32x4(quad[i + 8], quad[i + 12], 0xdd);
      rows[i] = _mm512_shuffle_f32x4(a, c, 0x88);
      rows[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
      rows[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
      rows[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
  }
  static INGOT_INLINE void prefetch(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
  }

  static INGOT_INLINE I iload_u8(const uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static INGOT_INLINE I iload_u8_partial(const uint8_t* p, int64_t n) {
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(tail_mask(n), p));
  }
  static INGOT_INLINE void istore_u8(uint8_t* p, I v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
  }
  static INGOT_INLINE void istore_u8_partial(uint8_t* p, I v, int64_t n) {
    _mm_mask_storeu_epi8(p, tail_mask(n), _mm512_cvtepi32_epi8(v));
  }
  static INGOT_INLINE I imin(I a, I b) { return _mm512_min_epi32(a, b); }
  static INGOT_INLINE I imax(I a, I b) { return _mm512_max_epi32(a, b); }
  static INGOT_INLINE I isar(I a, int n) { return _mm512_sra_epi32(a, _mm_cvtsi32_si128(n)); }
  static INGOT_INLINE I isar_lanes(I a, I n) { return _mm512_srav_epi32(a, n); }
  /// (a * b + add) >> 31.
  static INGOT_INLINE I upper_product(I a, I b, I add) {
    const I even = _mm512_add_epi64(_mm512_mul_epi32(a, b), add),
            odd = _mm512_add_epi64(
                _mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32)), add);
    return _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
  }
  static INGOT_INLINE I ihigh(I a, I b) { return upper_product(a, b, _mm512_set1_epi64(1 << 30)); }
  static INGOT_INLINE I ihigh_down(I a, I b) { return upper_product(a, b, _mm512_setzero_si512()); }

  static constexpr bool kPacks = true;
  static constexpr int kBytes = 64;
  using B = __m512i;
  static INGOT_INLINE __mmask64 byte_mask(int64_t n) {
    return n >= 64 ? ~__mmask64{0} : (__mmask64{1} << n) - 1;
  }
  static INGOT_INLINE B bload(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static INGOT_INLINE void bstore(uint8_t* p, B v) { _mm512_storeu_si512(p, v); }
  static INGOT_INLINE B bload_partial(const uint8_t* p, int64_t n) {
    return _mm512_maskz_loadu_epi8(byte_mask(n), p);
  }
  static INGOT_INLINE void bstore_partial(uint8_t* p, B v, int64_t n) {
    _mm512_mask_storeu_epi8(p, byte_mask(n), v);
  }
  static INGOT_INLINE B bsplat(uint8_t x) { return _mm512_set1_epi8(char(x)); }
  static INGOT_INLINE B bxor(B a, B b) { return _mm512_xor_si512(a, b); }
  static INGOT_INLINE B bmin(B a, B b) { return _mm512_min_epu8(a, b); }
  static INGOT_INLINE B bmax(B a, B b) { return _mm512_max_epu8(a, b); }
  static INGOT_INLINE I bsum(I sum, B x) {
    return _mm512_add_epi32(sum, _mm512_sad_epu8(x, _mm512_setzero_si512()));
  }
  static INGOT_INLINE int32_t isum(I x) { return _mm512_reduce_add_epi32(x); }
  static INGOT_INLINE B bpack(const I (&v)[4]) {
    const B all =
        _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), all);
  }
  /// As in avx2.h.
  struct Table {
    __m512i differences[16];
  };
  static INGOT_INLINE Table btable(const uint8_t* p) {
    Table t;
    __m128i before = _mm_setzero_si128();
    INGOT_UNROLL for (int i = 0; i < 16; i++) {
      const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
      t.differences[i] = _mm512_broadcast_i32x4(i % 8 == 0 ? row : _mm_xor_si128(row, before));
      before = row;
    }
    return t;
  }
  static INGOT_INLINE B blookup(const Table& t, B x) {
    const B step = _mm512_set1_epi8(16);
    B low = x, high = _mm512_xor_si512(x, _mm512_set1_epi8(-128)), y = _mm512_setzero_si512();
    INGOT_UNROLL for (int i = 0; i < 8; i++) {
      // the exclusive-or of three
      y = _mm512_ternarylogic_epi64(y, _mm512_shuffle_epi8(t.differences[i], low),
                                    _mm512_shuffle_epi8(t.differences[8 + i], high), 0x96);
      low = _mm512_subs_epi8(low, step), high = _mm512_subs_epi8(high, step);
    }
    return y;
  }
};

}  // namespace
}  // namespace ingot::cpu
