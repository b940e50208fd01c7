// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/neon32.h - struct V with four lanes, NEON of 32-bit Arm with fused multiply-add
// (VFPv4: from Cortex-A7 on). Its contract is in scalar.h, but that subnormal numbers count as
// zero: these vectors know no other mode (Arm Architecture Reference Manual for A-profile, AArch32
// Advanced SIMD; decision D565).
#pragma once
#define INGOT_SIMD_NEON32 1
#include <arm_neon.h>

#include "kernels/cpu/simd/half.inl"
#include "kernels/cpu/simd/neon_lanes.h"
#include "kernels/cpu/simd/rounding.inl"

namespace ingot::cpu {
namespace {

struct V : NeonLanes {
  static INGOT_INLINE F load_f16(const uint16_t* p) { return load_f16_lanes<V>(p); }
  static INGOT_INLINE F load_bf16(const uint16_t* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
  }
  static INGOT_INLINE void store_f16(uint16_t* p, F v) { store_f16_lanes<V>(p, v); }
  /// With subnormal numbers as zero, in asm: compilers know that a product with one is the number.
  static INGOT_INLINE F flushed(F a) {
    asm("vmul.f32 %q0, %q0, %q1" : "+w"(a) : "w"(splat(1.0f)));
    return a;
  }
  /// One lane after the other, since vectors have an estimate alone, by the unit that keeps
  /// subnormals.
  static INGOT_INLINE F div(F a, F b) {
    a = flushed(a), b = flushed(b);
    INGOT_UNROLL for (int i = 0; i < kLanes; i++) a[i] /= b[i];
    return flushed(a);
  }
  // Comparisons in asm: GCC makes none of vectors from the intrinsics, since vectors flush
  // subnormals, but four of VFP's.
#define INGOT_COMPARE(name, instruction)                              \
  static INGOT_INLINE M name(F a, F b) {                              \
    M m;                                                              \
    asm(instruction ".f32 %q0, %q1, %q2" : "=w"(m) : "w"(a), "w"(b)); \
    return m;                                                         \
  }
  INGOT_COMPARE(gt, "vcgt")
  INGOT_COMPARE(ge, "vcge")
  INGOT_COMPARE(eq, "vceq")
#undef INGOT_COMPARE
  static INGOT_INLINE M lt(F a, F b) { return gt(b, a); }
  static INGOT_INLINE M le(F a, F b) { return ge(b, a); }
  static INGOT_INLINE F max(F a, F b) { return select(gt(a, b), a, b); }
  static INGOT_INLINE F min(F a, F b) { return select(lt(a, b), a, b); }
  static INGOT_INLINE M unordered(F a, F b) { return vmvnq_u32(vandq_u32(eq(a, a), eq(b, b))); }
  static INGOT_INLINE bool any(M m) {
    const uint32x2_t both = vorr_u32(vget_low_u32(m), vget_high_u32(m));
    return (vget_lane_u32(both, 0) | vget_lane_u32(both, 1)) != 0;
  }
  static INGOT_INLINE F sqrt(F a) {
    a = flushed(a);
    INGOT_UNROLL for (int i = 0; i < kLanes; i++) a[i] = __builtin_sqrtf(a[i]);
    return a;
  }
  static INGOT_INLINE F with_sign(F magnitude, F sign) {
    return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude);
  }
  static INGOT_INLINE F round(F a) { return rounded<V>(a); }
  static INGOT_INLINE F floor(F a) { return rounded_down<V>(a); }
  static INGOT_INLINE F ceil(F a) { return rounded_up<V>(a); }
  static INGOT_INLINE F trunc(F a) { return truncated<V>(a); }
  static INGOT_INLINE I to_int_nearest(F a) { return to_int(round(a)); }
  static INGOT_INLINE int32_t isum(I x) {
    const int32x2_t two = vadd_s32(vget_low_s32(x), vget_high_s32(x));
    return int32_t(uint32_t(vget_lane_s32(two, 0)) + uint32_t(vget_lane_s32(two, 1)));
  }

  using Table = ByteTable;
  static INGOT_INLINE Table btable(const uint8_t* p) { return {p}; }
  static INGOT_INLINE B blookup(const Table& t, B x) { return look_up_each<V>(t, x); }
};

}  // namespace
}  // namespace ingot::cpu
