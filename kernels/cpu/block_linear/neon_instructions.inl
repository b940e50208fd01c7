// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/neon_instructions.inl - what GCC gets as instructions in tile_neon.inl:
// of intrinsics it copies sums from register to register, and it pairs few loads.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {
namespace blocks {

// Zeros, each in a register of its own; sum + products of bytes; sum + a * b; vectors at p + at.
#if defined(__clang__)
INGOT_INLINE int32x4_t zero() { return vdupq_n_s32(0); }
template <int lane>
INGOT_INLINE void dot(int32x4_t& sum, int8x16_t w, int8x16_t x) {
  sum = vdotq_laneq_s32(sum, w, x, lane);
}
#if defined(INGOT_SIMD_I8MM)
INGOT_INLINE void add_square(int32x4_t& sum, int8x16_t a, int8x16_t b) {
  sum = vmmlaq_s32(sum, a, b);
}
#endif
INGOT_INLINE void fuse(float32x4_t& sum, float32x4_t a, float32x4_t b) {
  sum = vfmaq_f32(sum, a, b);
}
INGOT_INLINE void fuse(float32x4_t& sum, float32x4_t a, float b) { sum = vfmaq_n_f32(sum, a, b); }
template <int at, class T>
INGOT_INLINE void load_pair(const void* p, T& a, T& b) {
  std::memcpy(&a, static_cast<const uint8_t*>(p) + at, 16);
  std::memcpy(&b, static_cast<const uint8_t*>(p) + at + 16, 16);
}
template <int at>
INGOT_INLINE void store_pair(void* p, float32x4_t a, float32x4_t b) {
  std::memcpy(static_cast<uint8_t*>(p) + at, &a, 16);
  std::memcpy(static_cast<uint8_t*>(p) + at + 16, &b, 16);
}
#else
INGOT_INLINE int32x4_t zero() {
  int32x4_t v;
  asm volatile("movi %0.4s, #0" : "=w"(v));
  return v;
}
template <int lane>
INGOT_INLINE void dot(int32x4_t& sum, int8x16_t w, int8x16_t x) {
  asm("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(w), "w"(x), "i"(lane));
}
#if defined(INGOT_SIMD_I8MM)
INGOT_INLINE void add_square(int32x4_t& sum, int8x16_t a, int8x16_t b) {
  asm("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
}
#endif
INGOT_INLINE void fuse(float32x4_t& sum, float32x4_t a, float32x4_t b) {
  asm("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum) : "w"(a), "w"(b));
}
INGOT_INLINE void fuse(float32x4_t& sum, float32x4_t a, float b) {
  asm("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(sum) : "w"(a), "w"(b));
}
// All memory is clobbered: with operands of only what is read and written, GCC 12 left out whole
// calls of tiles.
template <int at, class T>
INGOT_INLINE void load_pair(const void* p, T& a, T& b) {
  asm("ldp %q0, %q1, [%2, %3]" : "=w"(a), "=w"(b) : "r"(p), "i"(at) : "memory");
}
template <int at>
INGOT_INLINE void store_pair(void* p, float32x4_t a, float32x4_t b) {
  asm volatile("stp %q0, %q1, [%2, %3]" : : "w"(a), "w"(b), "r"(p), "i"(at) : "memory");
}
#endif
template <int at, class T, int n>
INGOT_INLINE void load_vectors(const void* p, T (&to)[n]) {
  load_pair<at>(p, to[0], to[1]), load_pair<at + 32>(p, to[2], to[3]);
  if constexpr (n == 8) load_pair<at + 64>(p, to[4], to[5]), load_pair<at + 96>(p, to[6], to[7]);
}
template <int at, int n>
INGOT_INLINE void store_vectors(void* p, const float32x4_t (&from)[n]) {
  store_pair<at>(p, from[0], from[1]), store_pair<at + 32>(p, from[2], from[3]);
  if constexpr (n == 8)
    store_pair<at + 64>(p, from[4], from[5]), store_pair<at + 96>(p, from[6], from[7]);
}

INGOT_INLINE void eight_halves(const uint8_t* p, float32x4_t& low, float32x4_t& high) {
  const float16x8_t halves = vreinterpretq_f16_u8(vld1q_u8(p));
  low = vcvt_f32_f16(vget_low_f16(halves)), high = vcvt_high_f32_f16(halves);
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
