// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/neon_lanes.h - what NEON of 64-bit and of 32-bit Arm have alike: the struct that
// V of neon.h and of neon32.h adds the rest to. Its contract is in scalar.h.
#pragma once
#include <arm_neon.h>

#include <cstdint>

#include "kernels/cpu/simd/bytes.inl"
#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {

struct NeonLanes {
  static constexpr int kLanes = 4;
  using F = float32x4_t;
  using I = int32x4_t;
  using M = uint32x4_t;

  static INGOT_INLINE F load(const float* p) { return vld1q_f32(p); }
  static INGOT_INLINE void store(float* p, F v) { vst1q_f32(p, v); }
  static INGOT_INLINE F load_partial(const float* p, int64_t n) {
    if (n >= 4) return load(p);
    F v = zero();
    if (n > 0) v = vld1q_lane_f32(p, v, 0);
    if (n > 1) v = vld1q_lane_f32(p + 1, v, 1);
    if (n > 2) v = vld1q_lane_f32(p + 2, v, 2);
    return v;
  }
  static INGOT_INLINE void store_partial(float* p, F v, int64_t n) {
    if (n >= 4) return store(p, v);
    if (n > 0) vst1q_lane_f32(p, v, 0);
    if (n > 1) vst1q_lane_f32(p + 1, v, 1);
    if (n > 2) vst1q_lane_f32(p + 2, v, 2);
  }
  static INGOT_INLINE I iload(const int32_t* p) { return vld1q_s32(p); }
  static INGOT_INLINE void istore(int32_t* p, I v) { vst1q_s32(p, v); }
  static INGOT_INLINE F load_u8(const uint8_t* p) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, p, 4);
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes)))));
  }
  static INGOT_INLINE F load_i8(const int8_t* p) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, p, 4);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(bytes)))));
  }
  static INGOT_INLINE I load_words(const uint8_t* p) { return vreinterpretq_s32_u8(vld1q_u8(p)); }
  template <int i>
  static INGOT_INLINE F nibble(I words) {
    return to_float(isar<28>(i < 7 ? ishl<28 - 4 * i>(words) : words));
  }
  static INGOT_INLINE F gather(const float* p, I at) {
    F v = vdupq_n_f32(p[vgetq_lane_s32(at, 0)]);
    v = vld1q_lane_f32(p + vgetq_lane_s32(at, 1), v, 1);
    v = vld1q_lane_f32(p + vgetq_lane_s32(at, 2), v, 2);
    return vld1q_lane_f32(p + vgetq_lane_s32(at, 3), v, 3);
  }
  static INGOT_INLINE F splat(float x) { return vdupq_n_f32(x); }
  static INGOT_INLINE I isplat(int32_t x) { return vdupq_n_s32(x); }
  static INGOT_INLINE F zero() { return vdupq_n_f32(0.0f); }

  static INGOT_INLINE F add(F a, F b) { return vaddq_f32(a, b); }
  static INGOT_INLINE F sub(F a, F b) { return vsubq_f32(a, b); }
  static INGOT_INLINE F mul(F a, F b) { return vmulq_f32(a, b); }
  static INGOT_INLINE F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static INGOT_INLINE F abs(F a) { return vabsq_f32(a); }
  static INGOT_INLINE F neg(F a) { return vnegq_f32(a); }

  static INGOT_INLINE F select(M m, F a, F b) { return vbslq_f32(m, a, b); }
  static INGOT_INLINE I iselect(M m, I a, I b) { return vbslq_s32(m, a, b); }
  static INGOT_INLINE M mask_and(M a, M b) { return vandq_u32(a, b); }
  static INGOT_INLINE M mask_or(M a, M b) { return vorrq_u32(a, b); }
  static INGOT_INLINE M mask_xor(M a, M b) { return veorq_u32(a, b); }
  static INGOT_INLINE M mask_not(M a) { return vmvnq_u32(a); }

  static INGOT_INLINE F bit_and(F a, F b) { return as_float(vandq_s32(as_int(a), as_int(b))); }
  static INGOT_INLINE F bit_or(F a, F b) { return as_float(vorrq_s32(as_int(a), as_int(b))); }
  static INGOT_INLINE F bit_xor(F a, F b) { return as_float(veorq_s32(as_int(a), as_int(b))); }
  static INGOT_INLINE I as_int(F a) { return vreinterpretq_s32_f32(a); }
  static INGOT_INLINE F as_float(I a) { return vreinterpretq_f32_s32(a); }
  static INGOT_INLINE I to_int(F a) { return vcvtq_s32_f32(a); }
  static INGOT_INLINE F to_float(I a) { return vcvtq_f32_s32(a); }

  static INGOT_INLINE I iadd(I a, I b) { return vaddq_s32(a, b); }
  static INGOT_INLINE I isub(I a, I b) { return vsubq_s32(a, b); }
  static INGOT_INLINE I imul(I a, I b) { return vmulq_s32(a, b); }
  static INGOT_INLINE I iand(I a, I b) { return vandq_s32(a, b); }
  static INGOT_INLINE I ior(I a, I b) { return vorrq_s32(a, b); }
  static INGOT_INLINE I ixor(I a, I b) { return veorq_s32(a, b); }
  template <int n>
  static INGOT_INLINE I ishl(I a) {
    return vshlq_n_s32(a, n);
  }
  template <int n>
  static INGOT_INLINE I ishr(I a) {
    return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), n));
  }
  template <int n>
  static INGOT_INLINE I isar(I a) {
    return vshrq_n_s32(a, n);
  }
  static INGOT_INLINE M ieq(I a, I b) { return vceqq_s32(a, b); }
  static INGOT_INLINE M igt(I a, I b) { return vcgtq_s32(a, b); }

  static INGOT_INLINE void keep(F& a) { asm("" : "+w"(a)); }
  static INGOT_INLINE void transpose(F (&rows)[4]) {
    const float32x4x2_t a = vtrnq_f32(rows[0], rows[1]), b = vtrnq_f32(rows[2], rows[3]);
    rows[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
    rows[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
    rows[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
    rows[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
  }
  static INGOT_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }

  static INGOT_INLINE I iload_u8(const uint8_t* p) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, p, 4);
    return widened(bytes);
  }
  static INGOT_INLINE I iload_u8_partial(const uint8_t* p, int64_t n) {
    return widened(load_word(p, n < 4 ? n : 4));
  }
  static INGOT_INLINE I widened(uint64_t bytes) {
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes)))));
  }
  /// The low byte of each lane, as one word.
  static INGOT_INLINE uint32_t low_bytes(I v) {
    const uint16x4_t halves = vmovn_u32(vreinterpretq_u32_s32(v));
    return vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(halves, halves))), 0);
  }
  static INGOT_INLINE void istore_u8(uint8_t* p, I v) {
    const uint32_t bytes = low_bytes(v);
    __builtin_memcpy(p, &bytes, 4);
  }
  static INGOT_INLINE void istore_u8_partial(uint8_t* p, I v, int64_t n) {
    store_word(p, low_bytes(v), n < 4 ? n : 4);
  }
  static INGOT_INLINE I imin(I a, I b) { return vminq_s32(a, b); }
  static INGOT_INLINE I imax(I a, I b) { return vmaxq_s32(a, b); }
  static INGOT_INLINE I isar(I a, int n) { return vshlq_s32(a, vdupq_n_s32(-n)); }
  static INGOT_INLINE I isar_lanes(I a, I n) { return vshlq_s32(a, vnegq_s32(n)); }
  static INGOT_INLINE I ihigh(I a, I b) { return vqrdmulhq_s32(a, b); }
  static INGOT_INLINE I ihigh_down(I a, I b) { return vqdmulhq_s32(a, b); }

  static constexpr bool kPacks = true;
  static constexpr int kBytes = 16;
  using B = uint8x16_t;
  static INGOT_INLINE B bload(const uint8_t* p) { return vld1q_u8(p); }
  static INGOT_INLINE void bstore(uint8_t* p, B v) { vst1q_u8(p, v); }
  static INGOT_INLINE B bload_partial(const uint8_t* p, int64_t n) {
    return vcombine_u8(vcreate_u8(load_word(p, n)), vcreate_u8(load_word(p + 8, n - 8)));
  }
  static INGOT_INLINE void bstore_partial(uint8_t* p, B v, int64_t n) {
    store_word(p, vgetq_lane_u64(vreinterpretq_u64_u8(v), 0), n);
    store_word(p + 8, vgetq_lane_u64(vreinterpretq_u64_u8(v), 1), n - 8);
  }
  static INGOT_INLINE B bsplat(uint8_t x) { return vdupq_n_u8(x); }
  static INGOT_INLINE B bxor(B a, B b) { return veorq_u8(a, b); }
  static INGOT_INLINE B bmin(B a, B b) { return vminq_u8(a, b); }
  static INGOT_INLINE B bmax(B a, B b) { return vmaxq_u8(a, b); }
  static INGOT_INLINE I bsum(I sum, B x) {
    return vreinterpretq_s32_u32(vpadalq_u16(vreinterpretq_u32_s32(sum), vpaddlq_u8(x)));
  }
  static INGOT_INLINE B bpack(const I (&v)[4]) {
    return vcombine_u8(vqmovun_s16(vcombine_s16(vqmovn_s32(v[0]), vqmovn_s32(v[1]))),
                       vqmovun_s16(vcombine_s16(vqmovn_s32(v[2]), vqmovn_s32(v[3]))));
  }
};

}  // namespace
}  // namespace ingot::cpu
