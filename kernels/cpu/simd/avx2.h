// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/avx2.h - struct V with eight lanes, AVX2 and FMA. Its contract is in scalar.h.
#pragma once
#include <immintrin.h>

#include <cstdint>

#include "kernels/cpu/simd/bytes.inl"
#include "kernels/cpu/simd/inline.h"

#define INGOT_SIMD_AVX2 1

namespace ingot::cpu {
namespace {

alignas(64) constexpr int32_t kTailMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                               0,  0,  0,  0,  0,  0,  0,  0};

struct V {
  static constexpr int kLanes = 8;
  using F = __m256;
  using I = __m256i;
  using M = __m256;

  static INGOT_INLINE I tail_mask(int64_t n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kTailMask + (8 - n)));
  }
  static INGOT_INLINE F load(const float* p) { return _mm256_loadu_ps(p); }
  static INGOT_INLINE void store(float* p, F v) { _mm256_storeu_ps(p, v); }
  static INGOT_INLINE F load_partial(const float* p, int64_t n) {
    return _mm256_maskload_ps(p, tail_mask(n));
  }
  static INGOT_INLINE void store_partial(float* p, F v, int64_t n) {
    _mm256_maskstore_ps(p, tail_mask(n), v);
  }
  static INGOT_INLINE I iload(const int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static INGOT_INLINE void istore(int32_t* p, I v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static INGOT_INLINE F load_u8(const uint8_t* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static INGOT_INLINE F load_i8(const int8_t* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static INGOT_INLINE F load_f16(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static INGOT_INLINE F load_bf16(const uint16_t* p) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return (F)_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16);
  }
  static INGOT_INLINE void store_f16(uint16_t* p, F v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  static INGOT_INLINE I load_words(const uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  template <int i>
  static INGOT_INLINE F nibble(I words) {
    return to_float(isar<28>(i < 7 ? ishl<28 - 4 * i>(words) : words));
  }
  static INGOT_INLINE F gather(const float* p, I at) { return _mm256_i32gather_ps(p, at, 4); }
  static INGOT_INLINE F splat(float x) { return _mm256_set1_ps(x); }
  static INGOT_INLINE I isplat(int32_t x) { return _mm256_set1_epi32(x); }
  static INGOT_INLINE F zero() { return _mm256_setzero_ps(); }

  static INGOT_INLINE F add(F a, F b) { return _mm256_add_ps(a, b); }
  static INGOT_INLINE F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static INGOT_INLINE F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static INGOT_INLINE F div(F a, F b) { return _mm256_div_ps(a, b); }
  static INGOT_INLINE F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static INGOT_INLINE F max(F a, F b) { return _mm256_max_ps(a, b); }
  static INGOT_INLINE F min(F a, F b) { return _mm256_min_ps(a, b); }
  static INGOT_INLINE F abs(F a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
  static INGOT_INLINE F neg(F a) { return _mm256_xor_ps(_mm256_set1_ps(-0.0f), a); }
  static INGOT_INLINE F sqrt(F a) { return _mm256_sqrt_ps(a); }
  static INGOT_INLINE F round(F a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static INGOT_INLINE F floor(F a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  }
  static INGOT_INLINE F ceil(F a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
  }
  static INGOT_INLINE F trunc(F a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  }

  static INGOT_INLINE M lt(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static INGOT_INLINE M le(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
  static INGOT_INLINE M gt(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
  static INGOT_INLINE M ge(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
  static INGOT_INLINE M eq(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static INGOT_INLINE M unordered(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
  static INGOT_INLINE F select(M m, F a, F b) { return _mm256_blendv_ps(b, a, m); }
  static INGOT_INLINE I iselect(M m, I a, I b) {
    return as_int(select(m, as_float(a), as_float(b)));
  }
  static INGOT_INLINE M mask_and(M a, M b) { return _mm256_and_ps(a, b); }
  static INGOT_INLINE M mask_or(M a, M b) { return _mm256_or_ps(a, b); }
  static INGOT_INLINE M mask_xor(M a, M b) { return _mm256_xor_ps(a, b); }
  static INGOT_INLINE M mask_not(M a) { return _mm256_xor_ps(a, as_float(_mm256_set1_epi32(-1))); }
  static INGOT_INLINE bool any(M m) { return _mm256_movemask_ps(m) != 0; }

  static INGOT_INLINE F bit_and(F a, F b) { return _mm256_and_ps(a, b); }
  static INGOT_INLINE F bit_or(F a, F b) { return _mm256_or_ps(a, b); }
  static INGOT_INLINE F bit_xor(F a, F b) { return _mm256_xor_ps(a, b); }
  static INGOT_INLINE I as_int(F a) { return _mm256_castps_si256(a); }
  static INGOT_INLINE F as_float(I a) { return _mm256_castsi256_ps(a); }
  static INGOT_INLINE I to_int(F a) { return _mm256_cvttps_epi32(a); }
  static INGOT_INLINE I to_int_nearest(F a) { return _mm256_cvtps_epi32(a); }
  static INGOT_INLINE F to_float(I a) { return _mm256_cvtepi32_ps(a); }

  static INGOT_INLINE I iadd(I a, I b) { return _mm256_add_epi32(a, b); }
  static INGOT_INLINE I isub(I a, I b) { return _mm256_sub_epi32(a, b); }
  static INGOT_INLINE I imul(I a, I b) { return _mm256_mullo_epi32(a, b); }
  static INGOT_INLINE I iand(I a, I b) { return _mm256_and_si256(a, b); }
  static INGOT_INLINE I ior(I a, I b) { return _mm256_or_si256(a, b); }
  static INGOT_INLINE I ixor(I a, I b) { return _mm256_xor_si256(a, b); }
  template <int n>
  static INGOT_INLINE I ishl(I a) {
    return _mm256_slli_epi32(a, n);
  }
  template <int n>
  static INGOT_INLINE I ishr(I a) {
    return _mm256_srli_epi32(a, n);
  }
  template <int n>
  static INGOT_INLINE I isar(I a) {
    return _mm256_srai_epi32(a, n);
  }
  static INGOT_INLINE M ieq(I a, I b) { return as_float(_mm256_cmpeq_epi32(a, b)); }
  static INGOT_INLINE M igt(I a, I b) { return as_float(_mm256_cmpgt_epi32(a, b)); }

  static INGOT_INLINE void keep(F& a) { asm("" : "+x"(a)); }
  static INGOT_INLINE void transpose(F (&rows)[8]) {
    F pair[8], quad[8];
    INGOT_UNROLL for (int i = 0; i < 8; i += 2) {
      pair[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
      pair[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    INGOT_UNROLL for (int i = 0; i < 8; i += 4) {
      quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
      quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
      quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
      quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      rows[i] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20);
      rows[i + 4] = _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31);
    }
  }
  static INGOT_INLINE void prefetch(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
  }

  static INGOT_INLINE I iload_u8(const uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static INGOT_INLINE I iload_u8_partial(const uint8_t* p, int64_t n) {
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(int64_t(load_word(p, n))));
  }
  /// The low byte of each lane, as one word.
  static INGOT_INLINE __m128i low_bytes(I v) {
    const __m128i pick = _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    return _mm_unpacklo_epi32(_mm_shuffle_epi8(_mm256_castsi256_si128(v), pick),
                              _mm_shuffle_epi8(_mm256_extracti128_si256(v, 1), pick));
  }
  static INGOT_INLINE void istore_u8(uint8_t* p, I v) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), low_bytes(v));
  }
  static INGOT_INLINE void istore_u8_partial(uint8_t* p, I v, int64_t n) {
    store_word(p, uint64_t(_mm_cvtsi128_si64(low_bytes(v))), n);
  }
  static INGOT_INLINE I imin(I a, I b) { return _mm256_min_epi32(a, b); }
  static INGOT_INLINE I imax(I a, I b) { return _mm256_max_epi32(a, b); }
  static INGOT_INLINE I isar(I a, int n) { return _mm256_sra_epi32(a, _mm_cvtsi32_si128(n)); }
  static INGOT_INLINE I isar_lanes(I a, I n) { return _mm256_srav_epi32(a, n); }
  /// (a * b + add) >> 31.
  static INGOT_INLINE I upper_product(I a, I b, I add) {
    const I even = _mm256_add_epi64(_mm256_mul_epi32(a, b), add),
            odd = _mm256_add_epi64(
                _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)), add);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xaa);
  }
  static INGOT_INLINE I ihigh(I a, I b) { return upper_product(a, b, _mm256_set1_epi64x(1 << 30)); }
  static INGOT_INLINE I ihigh_down(I a, I b) { return upper_product(a, b, _mm256_setzero_si256()); }

  static constexpr bool kPacks = true;
  static constexpr int kBytes = 32;
  using B = __m256i;
  static INGOT_INLINE B bload(const uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static INGOT_INLINE void bstore(uint8_t* p, B v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static INGOT_INLINE __m128i load_half(const uint8_t* p, int64_t n) {
    if (n >= 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm_set_epi64x(n > 8 ? int64_t(load_word(p + 8, n - 8)) : 0, int64_t(load_word(p, n)));
  }
  static INGOT_INLINE void store_half(uint8_t* p, __m128i v, int64_t n) {
    if (n >= 16) return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
    store_word(p, uint64_t(_mm_cvtsi128_si64(v)), n);
    if (n > 8) store_word(p + 8, uint64_t(_mm_extract_epi64(v, 1)), n - 8);
  }
  static INGOT_INLINE B bload_partial(const uint8_t* p, int64_t n) {
    const __m128i low = load_half(p, n);
    if (n <= 16) return _mm256_set_m128i(_mm_setzero_si128(), low);
    return _mm256_set_m128i(load_half(p + 16, n - 16), low);
  }
  static INGOT_INLINE void bstore_partial(uint8_t* p, B v, int64_t n) {
    store_half(p, _mm256_castsi256_si128(v), n);
    if (n > 16) store_half(p + 16, _mm256_extracti128_si256(v, 1), n - 16);
  }
  static INGOT_INLINE B bsplat(uint8_t x) { return _mm256_set1_epi8(char(x)); }
  static INGOT_INLINE B bxor(B a, B b) { return _mm256_xor_si256(a, b); }
  static INGOT_INLINE B bmin(B a, B b) { return _mm256_min_epu8(a, b); }
  static INGOT_INLINE B bmax(B a, B b) { return _mm256_max_epu8(a, b); }
  static INGOT_INLINE I bsum(I sum, B x) {
    return _mm256_add_epi32(sum, _mm256_sad_epu8(x, _mm256_setzero_si256()));
  }
  static INGOT_INLINE int32_t isum(I x) {
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
  }
  static INGOT_INLINE B bpack(const I (&v)[4]) {
    const B all =
        _mm256_packus_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    return _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  /// Of each half of the table: its first 16 bytes, then by what each 16 differ from those before.
  struct Table {
    __m256i differences[16];
  };
  static INGOT_INLINE Table btable(const uint8_t* p) {
    Table t;
    __m128i before = _mm_setzero_si128();
    INGOT_UNROLL for (int i = 0; i < 16; i++) {
      const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
      t.differences[i] = _mm256_broadcastsi128_si256(i % 8 == 0 ? row : _mm_xor_si128(row, before));
      before = row;
    }
    return t;
  }
  /// An index less 16 i is negative, and counts for nothing, in every row after its own; those of
  /// the other half are negative in all rows.
  static INGOT_INLINE B blookup(const Table& t, B x) {
    const B step = _mm256_set1_epi8(16);
    B low = x, high = _mm256_xor_si256(x, _mm256_set1_epi8(-128)), y = _mm256_setzero_si256();
    INGOT_UNROLL for (int i = 0; i < 8; i++) {
      y = _mm256_xor_si256(y, _mm256_shuffle_epi8(t.differences[i], low));
      y = _mm256_xor_si256(y, _mm256_shuffle_epi8(t.differences[8 + i], high));
      low = _mm256_subs_epi8(low, step), high = _mm256_subs_epi8(high, step);
    }
    return y;
  }
};

}  // namespace
}  // namespace ingot::cpu
