// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/dot_avx2.inl - struct Dot of dot.inl for AVX2, with dot products of
// AVX-VNNI or without.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/avx2.h"

namespace ingot::cpu {
namespace {

struct Dot {
  static constexpr int kGroups = 1;
  static constexpr int kPanels = 1, kChunks = 2;
  using X = __m256i;
  struct A {
    __m256i low, high;  // outputs 0 .. 7, 8 .. 15
  };
  static INGOT_INLINE __m256i load(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static INGOT_INLINE A start(const int32_t* bias) { return {load(bias), load(bias + 8)}; }
  static INGOT_INLINE void finish(const A& a, const int32_t*, __m256i (&out)[2]) {
    out[0] = a.low, out[1] = a.high;
  }
  static INGOT_INLINE int32_t quad(const void* p) {
    int32_t bytes;
    std::memcpy(&bytes, p, 4);
    return bytes;
  }
  static INGOT_INLINE X bytes(const void* p) { return _mm256_set1_epi32(quad(p)); }
#if defined(INGOT_SIMD_VNNI)
  static constexpr int kRows = 6, kTall = 6, kWide = 4;
  static constexpr bool kWidens = false, kSigned = false;
  static constexpr int64_t kShortWindow = 96;
  struct W {
    __m256i low, high;
  };
  static INGOT_INLINE W weights(const int8_t* p) { return {load(p), load(p + 32)}; }
  static INGOT_INLINE void dot(A& a, X x, const W& w) {
    // as above
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(a.low) : "x"(x), "x"(w.low));
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(a.high) : "x"(x), "x"(w.high));
  }
#else
  static constexpr int kRows = 4, kTall = 4, kWide = 2;
  static constexpr bool kWidens = true, kSigned = false;
  static constexpr int64_t kShortWindow = 0;
  struct W {
    __m256i even[2], odd[2];  // of each group, as 16 bits
  };
  static INGOT_INLINE W weights(const int8_t* p) {
    W w;
    INGOT_UNROLL for (int i = 0; i < 2; i++) {
      const __m256i v = load(p + 32 * i);
      w.even[i] = _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8);
      w.odd[i] = _mm256_srai_epi16(v, 8);
    }
    return w;
  }
  static INGOT_INLINE void widen(const uint8_t* from, int64_t n, uint16_t* to) {
    const __m128i order = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
    const auto widened = [&](__m128i x) {
      return _mm256_cvtepu8_epi16(_mm_shuffle_epi8(x, order));
    };
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                          widened(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    for (; i < n; i += 4)
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to + i),
                       _mm256_castsi256_si128(widened(_mm_cvtsi32_si128(quad(from + i)))));
  }
  /// Sums are added one by one, which takes two registers less than in pairs: GCC would pair them.
  static INGOT_INLINE void dot_wide(A& a, const uint16_t* x, const W& w) {
    const __m256i even = _mm256_set1_epi32(quad(x));
    a.low = _mm256_add_epi32(a.low, _mm256_madd_epi16(even, w.even[0]));
    a.high = _mm256_add_epi32(a.high, _mm256_madd_epi16(even, w.even[1]));
    asm("" : "+x"(a.low), "+x"(a.high));
    const __m256i odd = _mm256_set1_epi32(quad(x + 2));
    a.low = _mm256_add_epi32(a.low, _mm256_madd_epi16(odd, w.odd[0]));
    a.high = _mm256_add_epi32(a.high, _mm256_madd_epi16(odd, w.odd[1]));
  }
#endif
  static constexpr bool kPacksFour = false, kFinishesBytes = true;
  static INGOT_INLINE void dot_pair(__m256i (&sums)[2], const uint8_t* a, const uint8_t* b,
                                    const int16_t* pair) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a)),
                  y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
    const __m256i low = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(x, y)),
                  high = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(x, y));
    sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(low, load(pair)));
    sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(high, load(pair + 16)));
  }
  struct Finish {
    __m256 multipliers[2], high;
    __m256i zero;
    __m128i low;
  };
  static INGOT_INLINE Finish finish_of(const float* multipliers, int32_t zero, int32_t low,
                                       int32_t high) {
    return {{_mm256_loadu_ps(multipliers), _mm256_loadu_ps(multipliers + 8)},
            _mm256_set1_ps(float(high - zero)),
            _mm256_set1_epi16(int16_t(zero)),
            _mm_set1_epi8(int8_t(low))};
  }
  /// The minimum of a number and NaN is the number; what packs saturates, so that the lower limit
  /// may come last.
  static INGOT_INLINE __m128i finish_bytes(const __m256i (&sums)[2], const Finish& f) {
    __m256i steps[2];
    INGOT_UNROLL for (int i = 0; i < 2; i++) {
      const __m256 step = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[i]), f.multipliers[i]);
      steps[i] = _mm256_cvtps_epi32(_mm256_min_ps(step, f.high));
    }
    const __m256i words = _mm256_adds_epi16(_mm256_packs_epi32(steps[0], steps[1]), f.zero);
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return _mm_max_epu8(_mm_shuffle_epi32(bytes, 0xd8), f.low);
  }
  static INGOT_INLINE void store_bytes(uint8_t* p, __m128i bytes, int64_t n) {
    if (n >= 16) return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    if (n & 8) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), bytes);
      bytes = _mm_unpackhi_epi64(bytes, bytes), p += 8;
    }
    uint64_t left = uint64_t(_mm_cvtsi128_si64(bytes));
    if (n & 4) std::memcpy(p, &left, 4), left >>= 32, p += 4;
    if (n & 2) std::memcpy(p, &left, 2), left >>= 16, p += 2;
    if (n & 1) *p = uint8_t(left);
  }
  static INGOT_INLINE void store(uint8_t* p, const __m256i (&v)[2], int64_t n) {
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(v[0], v[1]), 0xd8);
    store_bytes(
        p, _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)), n);
  }
};

}  // namespace
}  // namespace ingot::cpu
