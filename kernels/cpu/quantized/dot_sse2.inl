// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/dot_sse2.inl - struct Dot of dot.inl for SSE2, which multiplies pairs of 16
// bits.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/sse2.h"

namespace ingot::cpu {
namespace {

struct Dot {
  static constexpr int kRows = 1, kPanels = 1, kTall = 1, kWide = 1, kChunks = 4;
  static constexpr int kGroups = 1;
  static constexpr bool kSigned = false;
  static constexpr bool kPacksFour = false, kFinishesBytes = false;
  static constexpr bool kWidens = true;
  static constexpr int64_t kShortWindow = 0;
  struct A {
    __m128i sums[4];  // four outputs each
  };
  using X = __m128i;
  static INGOT_INLINE A start(const int32_t* bias) {
    return {{V::iload(bias), V::iload(bias + 4), V::iload(bias + 8), V::iload(bias + 12)}};
  }
  static INGOT_INLINE void finish(const A& a, const int32_t*, __m128i (&out)[4]) {
    INGOT_UNROLL for (int i = 0; i < 4; i++) out[i] = a.sums[i];
  }
  struct W {
    __m128i even[4], odd[4];  // of each group, as 16 bits
  };
  static INGOT_INLINE W weights(const int8_t* p) {
    W w;
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      const __m128i v = V::read(p + 16 * i);
      w.even[i] = _mm_srai_epi16(_mm_slli_epi16(v, 8), 8);
      w.odd[i] = _mm_srai_epi16(v, 8);
    }
    return w;
  }
  static INGOT_INLINE void widen(const uint8_t* from, int64_t n, uint16_t* to) {
    for (int64_t i = 0; i < n; i += 4)
      to[i] = from[i], to[i + 1] = from[i + 2], to[i + 2] = from[i + 1], to[i + 3] = from[i + 3];
  }
  static INGOT_INLINE __m128i pair(const uint16_t* x) {
    int32_t two;
    std::memcpy(&two, x, 4);
    return _mm_set1_epi32(two);
  }
  static INGOT_INLINE void dot_wide(A& a, const uint16_t* x, const W& w) {
    const __m128i even = pair(x), odd = pair(x + 2);
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      a.sums[i] = _mm_add_epi32(a.sums[i], _mm_madd_epi16(even, w.even[i]));
      a.sums[i] = _mm_add_epi32(a.sums[i], _mm_madd_epi16(odd, w.odd[i]));
    }
  }
  static INGOT_INLINE void dot_pair(__m128i (&sums)[4], const uint8_t* a, const uint8_t* b,
                                    const int16_t* pair) {
    const __m128i x = V::read(a), y = V::read(b), none = _mm_setzero_si128();
    const __m128i low = _mm_unpacklo_epi8(x, y), high = _mm_unpackhi_epi8(x, y);
    const __m128i both[4] = {_mm_unpacklo_epi8(low, none), _mm_unpackhi_epi8(low, none),
                             _mm_unpacklo_epi8(high, none), _mm_unpackhi_epi8(high, none)};
    INGOT_UNROLL for (int i = 0; i < 4; i++) sums[i] =
        _mm_add_epi32(sums[i], _mm_madd_epi16(both[i], V::read(pair + 8 * i)));
  }
  static INGOT_INLINE void store(uint8_t* p, const __m128i (&v)[4], int64_t n) {
    const __m128i bytes = V::bpack(v);
    if (n >= 16) return V::bstore(p, bytes);
    uint8_t all[16];
    V::bstore(all, bytes);
    std::memcpy(p, all, size_t(n));
  }
};

}  // namespace
}  // namespace ingot::cpu
