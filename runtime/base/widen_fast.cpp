// SPDX-License-Identifier: Apache-2.0
// runtime/base/widen_fast.cpp - eight at a time where the processor can: F16C on x86-64, NEON on
// 64-bit Arm.
#include "runtime/base/widen.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#include <immintrin.h>

#include <atomic>

namespace ingot {
namespace {

std::atomic<uint32_t> g_f16c{0};  // 0 not asked yet, 1 no, 2 yes

bool ask_for_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  constexpr unsigned kWanted = bit_AVX | bit_F16C | bit_OSXSAVE;
  if ((c & kWanted) != kWanted) return false;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 6) == 6;  // the system keeps the wide registers
}

bool has_f16c() {
  uint32_t answer = g_f16c.load(std::memory_order_relaxed);
  if (answer == 0) g_f16c.store(answer = ask_for_f16c() ? 2 : 1, std::memory_order_relaxed);
  return answer == 2;
}

__attribute__((target("avx,f16c"))) size_t widen_f16c(const uint8_t* from, uint8_t* to,
                                                      size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 x =
        _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i)));
    if (_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)))
      widen_f16_portable(from + 2 * i, to + 4 * i, 8);  // the instruction changes signalling NaNs
    else
      _mm256_storeu_ps(reinterpret_cast<float*>(to + 4 * i), x);
  }
  return i;
}

}  // namespace

size_t widen_f16_fast(const uint8_t* from, uint8_t* to, size_t count) {
  return has_f16c() ? widen_f16c(from, to, count) : 0;
}

size_t widen_bf16_fast(const uint8_t* from, uint8_t* to, size_t count) {
  const __m128i zero = _mm_setzero_si128();
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i));
    __m128i* out = reinterpret_cast<__m128i*>(to + 4 * i);
    _mm_storeu_si128(out, _mm_unpacklo_epi16(zero, halves));
    _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(zero, halves));
  }
  return i;
}

}  // namespace ingot

#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#include <arm_neon.h>

namespace ingot {

size_t widen_f16_fast(const uint8_t* from, uint8_t* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint16x8_t halves = vreinterpretq_u16_u8(vld1q_u8(from + 2 * i));
    const uint16x8_t magnitude = vandq_u16(halves, vdupq_n_u16(0x7fff));
    if (vmaxvq_u16(magnitude) > 0x7c00) {
      widen_f16_portable(from + 2 * i, to + 4 * i, 8);  // the instruction changes signalling NaNs
      continue;
    }
    const float16x8_t x = vreinterpretq_f16_u16(halves);
    const float32x4_t low = vcvt_f32_f16(vget_low_f16(x)), high = vcvt_f32_f16(vget_high_f16(x));
    vst1q_u8(to + 4 * i, vreinterpretq_u8_f32(low));
    vst1q_u8(to + 4 * i + 16, vreinterpretq_u8_f32(high));
  }
  return i;
}

size_t widen_bf16_fast(const uint8_t* from, uint8_t* to, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint16x8_t halves = vreinterpretq_u16_u8(vld1q_u8(from + 2 * i));
    vst1q_u8(to + 4 * i, vreinterpretq_u8_u32(vshll_n_u16(vget_low_u16(halves), 16)));
    vst1q_u8(to + 4 * i + 16, vreinterpretq_u8_u32(vshll_n_u16(vget_high_u16(halves), 16)));
  }
  return i;
}

}  // namespace ingot

#else

namespace ingot {

size_t widen_f16_fast(const uint8_t*, uint8_t*, size_t) { return 0; }
size_t widen_bf16_fast(const uint8_t*, uint8_t*, size_t) { return 0; }

}  // namespace ingot

#endif
