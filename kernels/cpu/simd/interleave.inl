// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/interleave.inl - three planes to pixels of three, as images have them, and two
// to pairs, as channel shuffles make them.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd/inline.h"
#if defined(__SSE2__)
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

#if defined(__SSE2__)
constexpr int64_t kInterleavedWords = 4;  // of four bytes at a time; 0: not there

template <class T>
INGOT_INLINE __m128 load_words_of(const T* p) {
  static_assert(sizeof(T) == 4, "words");
  return _mm_loadu_ps(reinterpret_cast<const float*>(p));
}
template <class T>
INGOT_INLINE void interleave2_words(const T* a, const T* b, T* to) {
  const __m128 x = load_words_of(a), y = load_words_of(b);
  float* const out = reinterpret_cast<float*>(to);
  _mm_storeu_ps(out, _mm_unpacklo_ps(x, y)), _mm_storeu_ps(out + 4, _mm_unpackhi_ps(x, y));
}
template <class T>
INGOT_INLINE void interleave3_words(const T* a, const T* b, const T* c, T* to) {
  const __m128 x = load_words_of(a), y = load_words_of(b), z = load_words_of(c);
  const __m128 xy = _mm_unpacklo_ps(x, y), yz = _mm_unpackhi_ps(y, z);
  const __m128 zx = _mm_shuffle_ps(z, x, _MM_SHUFFLE(3, 1, 2, 0));  // z0 z2 x1 x3
  float* const out = reinterpret_cast<float*>(to);
  _mm_storeu_ps(out, _mm_shuffle_ps(xy, zx, _MM_SHUFFLE(2, 0, 1, 0)));
  _mm_storeu_ps(out + 4, _mm_shuffle_ps(_mm_unpacklo_ps(y, z), _mm_unpackhi_ps(x, y),
                                        _MM_SHUFFLE(1, 0, 3, 2)));
  _mm_storeu_ps(out + 8, _mm_shuffle_ps(zx, yz, _MM_SHUFFLE(3, 2, 3, 1)));
}
#elif defined(__ARM_NEON)
constexpr int64_t kInterleavedWords = 4;
template <class T>
INGOT_INLINE uint32x4_t load_words_of(const T* p) {
  static_assert(sizeof(T) == 4, "words");
  return vld1q_u32(reinterpret_cast<const uint32_t*>(p));
}
template <class T>
INGOT_INLINE void interleave2_words(const T* a, const T* b, T* to) {
  const uint32x4x2_t pairs = {{load_words_of(a), load_words_of(b)}};
  vst2q_u32(reinterpret_cast<uint32_t*>(to), pairs);
}
template <class T>
INGOT_INLINE void interleave3_words(const T* a, const T* b, const T* c, T* to) {
  const uint32x4x3_t pixels = {{load_words_of(a), load_words_of(b), load_words_of(c)}};
  vst3q_u32(reinterpret_cast<uint32_t*>(to), pixels);
}
#else
constexpr int64_t kInterleavedWords = 0;
template <class T>
INGOT_INLINE void interleave2_words(const T*, const T*, T*) {}
template <class T>
INGOT_INLINE void interleave3_words(const T*, const T*, const T*, T*) {}
#endif

}  // namespace
}  // namespace ingot::cpu
