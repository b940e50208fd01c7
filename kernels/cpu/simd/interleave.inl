// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/interleave.inl - three planes of bytes to pixels of three, as images have them.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd/inline.h"
#if defined(__SSSE3__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace ingot::cpu {
namespace {

#if defined(__SSSE3__)
constexpr int64_t kInterleaved = 16;  // pixels at a time; 0: not there

/// Bytes 16 k .. 16 k + 15 of the pixels: byte j is of plane (16 k + j) % 3.
template <int k>
INGOT_INLINE __m128i pixel_bytes(__m128i a, __m128i b, __m128i c) {
  struct alignas(16) Order {
    int8_t at[3][16];
    constexpr Order() : at{} {
      for (int j = 0; j < 16; j++)
        for (int plane = 0; plane < 3; plane++)
          at[plane][j] = (16 * k + j) % 3 == plane ? int8_t((16 * k + j) / 3) : int8_t(-1);
    }
  };
  static constexpr Order kOrder{};
  const auto part = [](__m128i x, const int8_t* order) {
    return _mm_shuffle_epi8(x, _mm_load_si128(reinterpret_cast<const __m128i*>(order)));
  };
  return _mm_or_si128(_mm_or_si128(part(a, kOrder.at[0]), part(b, kOrder.at[1])),
                      part(c, kOrder.at[2]));
}

INGOT_INLINE void interleave3(const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* to) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a)),
                y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)),
                z = _mm_loadu_si128(reinterpret_cast<const __m128i*>(c));
  __m128i* const out = reinterpret_cast<__m128i*>(to);
  _mm_storeu_si128(out, pixel_bytes<0>(x, y, z));
  _mm_storeu_si128(out + 1, pixel_bytes<1>(x, y, z));
  _mm_storeu_si128(out + 2, pixel_bytes<2>(x, y, z));
}
#elif defined(__ARM_NEON)
constexpr int64_t kInterleaved = 16;
INGOT_INLINE void interleave3(const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* to) {
  const uint8x16x3_t channels = {{vld1q_u8(a), vld1q_u8(b), vld1q_u8(c)}};
  vst3q_u8(to, channels);  // a macro with clang
}
#else
constexpr int64_t kInterleaved = 0;
INGOT_INLINE void interleave3(const uint8_t*, const uint8_t*, const uint8_t*, uint8_t*) {}
#endif

}  // namespace
}  // namespace ingot::cpu
