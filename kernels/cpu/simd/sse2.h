// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/sse2.h - struct V with four lanes, what every 64-bit x86 has. Its contract is in
// scalar.h, but that fma() rounds twice: no instruction of SSE2 multiplies and adds (decision
// D558).
#pragma once
#include <emmintrin.h>

#include <cstdint>

#include "kernels/cpu/simd/bytes.inl"
#include "kernels/cpu/simd/half.inl"
#include "kernels/cpu/simd/inline.h"
#include "kernels/cpu/simd/rounding.inl"

#define INGOT_SIMD_SSE2 1

namespace ingot::cpu {
namespace {

struct V {
  static constexpr int kLanes = 4;
  using F = __m128;
  using I = __m128i;
  using M = __m128;

  static INGOT_INLINE F load(const float* p) { return _mm_loadu_ps(p); }
  static INGOT_INLINE void store(float* p, F v) { _mm_storeu_ps(p, v); }
  /// Through words, which may be numbers of any type.
  static INGOT_INLINE F load_partial(const float* p, int64_t n) {
    if (n >= 4) return load(p);
    int64_t two = 0;
    int32_t last = 0;
    if (n > 1) __builtin_memcpy(&two, p, 8);
    if (n % 2) __builtin_memcpy(&last, p + n - 1, 4);
    const I low = _mm_cvtsi64_si128(two), high = _mm_cvtsi32_si128(last);
    return as_float(n > 1 ? _mm_unpacklo_epi64(low, high) : high);
  }
  static INGOT_INLINE void store_partial(float* p, F v, int64_t n) {
    if (n >= 4) return store(p, v);
    I left = as_int(v);
    if (n > 1) {
      const int64_t two = _mm_cvtsi128_si64(left);
      __builtin_memcpy(p, &two, 8);
      left = _mm_unpackhi_epi64(left, left);
    }
    if (n % 2) {
      const int32_t last = _mm_cvtsi128_si32(left);
      __builtin_memcpy(p + n - 1, &last, 4);
    }
  }
  static INGOT_INLINE I read(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  static INGOT_INLINE I iload(const int32_t* p) { return read(p); }
  static INGOT_INLINE void istore(int32_t* p, I v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  static INGOT_INLINE I four_bytes(const void* p) {
    int32_t bytes;
    __builtin_memcpy(&bytes, p, 4);
    return _mm_cvtsi32_si128(bytes);
  }
  static INGOT_INLINE I widened(I bytes) {
    const I none = _mm_setzero_si128();
    return _mm_unpacklo_epi16(_mm_unpacklo_epi8(bytes, none), none);
  }
  static INGOT_INLINE F load_u8(const uint8_t* p) { return to_float(iload_u8(p)); }
  static INGOT_INLINE F load_i8(const int8_t* p) {
    const I bytes = four_bytes(p), halves = _mm_unpacklo_epi8(bytes, bytes);
    return to_float(isar<24>(_mm_unpacklo_epi16(halves, halves)));
  }
  static INGOT_INLINE F load_f16(const uint16_t* p) { return load_f16_lanes<V>(p); }
  static INGOT_INLINE F load_bf16(const uint16_t* p) {
    const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return (F)_mm_unpacklo_epi16(_mm_setzero_si128(), halves);
  }
  static INGOT_INLINE void store_f16(uint16_t* p, F v) { store_f16_lanes<V>(p, v); }
  static INGOT_INLINE I load_words(const uint8_t* p) { return read(p); }
  template <int i>
  static INGOT_INLINE F nibble(I words) {
    return to_float(isar<28>(i < 7 ? ishl<28 - 4 * i>(words) : words));
  }
  static INGOT_INLINE F gather(const float* p, I at) {
    int32_t where[4];
    istore(where, at);
    return _mm_setr_ps(p[where[0]], p[where[1]], p[where[2]], p[where[3]]);
  }
  static INGOT_INLINE F splat(float x) { return _mm_set1_ps(x); }
  static INGOT_INLINE I isplat(int32_t x) { return _mm_set1_epi32(x); }
  static INGOT_INLINE F zero() { return _mm_setzero_ps(); }

  static INGOT_INLINE F add(F a, F b) { return _mm_add_ps(a, b); }
  static INGOT_INLINE F sub(F a, F b) { return _mm_sub_ps(a, b); }
  static INGOT_INLINE F mul(F a, F b) { return _mm_mul_ps(a, b); }
  static INGOT_INLINE F div(F a, F b) { return _mm_div_ps(a, b); }
  static INGOT_INLINE F fma(F a, F b, F c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
  /// In double, where the product is exact; rounded to double, then to float.
  static INGOT_INLINE __m128 fma_once_low(F a, F b, F c) {
    const __m128d product = _mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b));
    return _mm_cvtpd_ps(_mm_add_pd(product, _mm_cvtps_pd(c)));
  }
  static INGOT_INLINE F fma_once(F a, F b, F c) {
    return _mm_movelh_ps(
        fma_once_low(a, b, c),
        fma_once_low(_mm_movehl_ps(a, a), _mm_movehl_ps(b, b), _mm_movehl_ps(c, c)));
  }
  static INGOT_INLINE F max(F a, F b) { return _mm_max_ps(a, b); }
  static INGOT_INLINE F min(F a, F b) { return _mm_min_ps(a, b); }
  static INGOT_INLINE F abs(F a) { return _mm_andnot_ps(_mm_set1_ps(-0.0f), a); }
  static INGOT_INLINE F neg(F a) { return _mm_xor_ps(_mm_set1_ps(-0.0f), a); }
  static INGOT_INLINE F sqrt(F a) { return _mm_sqrt_ps(a); }
  static INGOT_INLINE F with_sign(F magnitude, F sign) {
    return _mm_or_ps(magnitude, _mm_and_ps(sign, _mm_set1_ps(-0.0f)));
  }
  static INGOT_INLINE F round(F a) { return rounded<V>(a); }
  static INGOT_INLINE F floor(F a) { return rounded_down<V>(a); }
  static INGOT_INLINE F ceil(F a) { return rounded_up<V>(a); }
  static INGOT_INLINE F trunc(F a) { return truncated<V>(a); }

  static INGOT_INLINE M lt(F a, F b) { return _mm_cmplt_ps(a, b); }
  static INGOT_INLINE M le(F a, F b) { return _mm_cmple_ps(a, b); }
  static INGOT_INLINE M gt(F a, F b) { return _mm_cmpgt_ps(a, b); }
  static INGOT_INLINE M ge(F a, F b) { return _mm_cmpge_ps(a, b); }
  static INGOT_INLINE M eq(F a, F b) { return _mm_cmpeq_ps(a, b); }
  static INGOT_INLINE M unordered(F a, F b) { return _mm_cmpunord_ps(a, b); }
  static INGOT_INLINE F select(M m, F a, F b) {
    return _mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b));
  }
  static INGOT_INLINE I iselect(M m, I a, I b) {
    return as_int(select(m, as_float(a), as_float(b)));
  }
  static INGOT_INLINE M mask_and(M a, M b) { return _mm_and_ps(a, b); }
  static INGOT_INLINE M mask_or(M a, M b) { return _mm_or_ps(a, b); }
  static INGOT_INLINE M mask_xor(M a, M b) { return _mm_xor_ps(a, b); }
  static INGOT_INLINE M mask_not(M a) { return _mm_xor_ps(a, as_float(isplat(-1))); }
  static INGOT_INLINE bool any(M m) { return _mm_movemask_ps(m) != 0; }

  static INGOT_INLINE F bit_and(F a, F b) { return _mm_and_ps(a, b); }
  static INGOT_INLINE F bit_or(F a, F b) { return _mm_or_ps(a, b); }
  static INGOT_INLINE F bit_xor(F a, F b) { return _mm_xor_ps(a, b); }
  static INGOT_INLINE I as_int(F a) { return _mm_castps_si128(a); }
  static INGOT_INLINE F as_float(I a) { return _mm_castsi128_ps(a); }
  static INGOT_INLINE I to_int(F a) { return _mm_cvttps_epi32(a); }
  static INGOT_INLINE I to_int_nearest(F a) { return _mm_cvtps_epi32(a); }
  static INGOT_INLINE F to_float(I a) { return _mm_cvtepi32_ps(a); }

  static INGOT_INLINE I iadd(I a, I b) { return _mm_add_epi32(a, b); }
  static INGOT_INLINE I isub(I a, I b) { return _mm_sub_epi32(a, b); }
  /// The low halves of the products of lanes 0 and 2, then of 1 and 3.
  static INGOT_INLINE I imul(I a, I b) {
    const I even = _mm_mul_epu32(a, b),
            odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));
    return _mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x08), _mm_shuffle_epi32(odd, 0x08));
  }
  static INGOT_INLINE I iand(I a, I b) { return _mm_and_si128(a, b); }
  static INGOT_INLINE I ior(I a, I b) { return _mm_or_si128(a, b); }
  static INGOT_INLINE I ixor(I a, I b) { return _mm_xor_si128(a, b); }
  template <int n>
  static INGOT_INLINE I ishl(I a) {
    return _mm_slli_epi32(a, n);
  }
  template <int n>
  static INGOT_INLINE I ishr(I a) {
    return _mm_srli_epi32(a, n);
  }
  template <int n>
  static INGOT_INLINE I isar(I a) {
    return _mm_srai_epi32(a, n);
  }
  static INGOT_INLINE M ieq(I a, I b) { return as_float(_mm_cmpeq_epi32(a, b)); }
  static INGOT_INLINE M igt(I a, I b) { return as_float(_mm_cmpgt_epi32(a, b)); }

  static INGOT_INLINE void keep(F& a) { asm("" : "+x"(a)); }
  static INGOT_INLINE void transpose(F (&rows)[4]) {
    _MM_TRANSPOSE4_PS(rows[0], rows[1], rows[2], rows[3]);
  }
  static INGOT_INLINE void prefetch(const void* p) {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
  }

  static INGOT_INLINE I iload_u8(const uint8_t* p) { return widened(four_bytes(p)); }
  static INGOT_INLINE I iload_u8_partial(const uint8_t* p, int64_t n) {
    return widened(_mm_cvtsi32_si128(int32_t(load_word(p, n < 4 ? n : 4))));
  }
  /// The low byte of each lane, as one word.
  static INGOT_INLINE uint32_t low_bytes(I v) {
    const I halves = _mm_packs_epi32(iand(v, isplat(255)), _mm_setzero_si128());
    return uint32_t(_mm_cvtsi128_si32(_mm_packus_epi16(halves, halves)));
  }
  static INGOT_INLINE void istore_u8(uint8_t* p, I v) {
    const uint32_t bytes = low_bytes(v);
    __builtin_memcpy(p, &bytes, 4);
  }
  static INGOT_INLINE void istore_u8_partial(uint8_t* p, I v, int64_t n) {
    store_word(p, low_bytes(v), n < 4 ? n : 4);
  }
  static INGOT_INLINE I imin(I a, I b) { return iselect(igt(b, a), a, b); }
  static INGOT_INLINE I imax(I a, I b) { return iselect(igt(a, b), a, b); }
  static INGOT_INLINE I isar(I a, int n) { return _mm_sra_epi32(a, _mm_cvtsi32_si128(n)); }
  /// f of each lane of two: what SSE2 has no instruction for.
  template <class Function>
  static INGOT_INLINE I each(I a, I b, Function f) {
    int32_t x[4], y[4];
    istore(x, a), istore(y, b);
    return _mm_setr_epi32(f(x[0], y[0]), f(x[1], y[1]), f(x[2], y[2]), f(x[3], y[3]));
  }
  static INGOT_INLINE I isar_lanes(I a, I n) {
    return each(a, n, [](int32_t x, int32_t by) { return x >> by; });
  }
  static INGOT_INLINE I ihigh(I a, I b) {
    return each(a, b, [](int32_t x, int32_t y) {
      return int32_t((int64_t(x) * y + (int64_t{1} << 30)) >> 31);
    });
  }
  static INGOT_INLINE I ihigh_down(I a, I b) {
    return each(a, b, [](int32_t x, int32_t y) { return int32_t((int64_t(x) * y) >> 31); });
  }

  static constexpr bool kPacks = true;
  static constexpr int kBytes = 16;
  using B = __m128i;
  static INGOT_INLINE B bload(const uint8_t* p) { return read(p); }
  static INGOT_INLINE void bstore(uint8_t* p, B v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  static INGOT_INLINE B bload_partial(const uint8_t* p, int64_t n) {
    if (n >= 16) return bload(p);
    return _mm_set_epi64x(n > 8 ? int64_t(load_word(p + 8, n - 8)) : 0, int64_t(load_word(p, n)));
  }
  static INGOT_INLINE void bstore_partial(uint8_t* p, B v, int64_t n) {
    if (n >= 16) return bstore(p, v);
    store_word(p, uint64_t(_mm_cvtsi128_si64(v)), n);
    if (n > 8) store_word(p + 8, uint64_t(_mm_cvtsi128_si64(_mm_unpackhi_epi64(v, v))), n - 8);
  }
  static INGOT_INLINE B bsplat(uint8_t x) { return _mm_set1_epi8(char(x)); }
  static INGOT_INLINE B bxor(B a, B b) { return _mm_xor_si128(a, b); }
  static INGOT_INLINE B bmin(B a, B b) { return _mm_min_epu8(a, b); }
  static INGOT_INLINE B bmax(B a, B b) { return _mm_max_epu8(a, b); }
  static INGOT_INLINE I bsum(I sum, B x) {
    return _mm_add_epi32(sum, _mm_sad_epu8(x, _mm_setzero_si128()));
  }
  static INGOT_INLINE int32_t isum(I x) {
    const I s = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
  }
  static INGOT_INLINE B bpack(const I (&v)[4]) {
    return _mm_packus_epi16(_mm_packs_epi32(v[0], v[1]), _mm_packs_epi32(v[2], v[3]));
  }
  using Table = ByteTable;
  static INGOT_INLINE Table btable(const uint8_t* p) { return {p}; }
  static INGOT_INLINE B blookup(const Table& t, B x) { return look_up_each<V>(t, x); }
};

}  // namespace
}  // namespace ingot::cpu
