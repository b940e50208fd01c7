// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/neon.h - struct V with four lanes, NEON on aarch64. Its contract is in scalar.h.
#pragma once
#include "kernels/cpu/simd/neon_lanes.h"

#define INGOT_SIMD_NEON 1

namespace ingot::cpu {
namespace {

struct V : NeonLanes {
  static INGOT_INLINE F load_f16(const uint16_t* p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
  }
  static INGOT_INLINE F load_bf16(const uint16_t* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
  }
  static INGOT_INLINE void store_f16(uint16_t* p, F v) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
  }
  static INGOT_INLINE F div(F a, F b) { return vdivq_f32(a, b); }
  /// c + a * b[lane]: an instruction takes one lane of b for all, so that four steps load b once.
  /// load_pair: eight of the 64 numbers at p, from `at` on. GCC gets both as instructions: of the
  /// intrinsics it repeats lanes in vectors of their own, loads columns one by one and keeps sums
  /// on the stack. Clang does so in a loop of eight steps.
#if defined(__clang__)
  static constexpr bool kLongLoops = false;
  template <int lane>
  static INGOT_INLINE F fma_lane(F a, F b, F c) {
    return vfmaq_laneq_f32(c, a, b, lane);
  }
  template <int at>
  static INGOT_INLINE void load_pair(const float* p, F& low, F& high) {
    low = vld1q_f32(p + at), high = vld1q_f32(p + at + 4);
  }
#else
  static constexpr bool kLongLoops = true;
  template <int lane>
  static INGOT_INLINE F fma_lane(F a, F b, F c) {
    asm("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(c) : "w"(a), "w"(b), "i"(lane));
    return c;
  }
  template <int at>
  static INGOT_INLINE void load_pair(const float* p, F& low, F& high) {
    struct Read {
      float numbers[64];
    };
    asm("ldp %q0, %q1, [%2, %3]"
        : "=w"(low), "=w"(high)
        : "r"(p), "i"(at * 4), "m"(*reinterpret_cast<const Read*>(p)));
  }
#endif
  /// A comparison that the compiler cannot see through: Clang makes fmax of one with zero, whose
  /// result for -0 is another.
  static INGOT_INLINE M opaque(M m) {
    asm("" : "+w"(m));
    return m;
  }
  static INGOT_INLINE F max(F a, F b) { return vbslq_f32(opaque(vcgtq_f32(a, b)), a, b); }
  static INGOT_INLINE F min(F a, F b) { return vbslq_f32(opaque(vcltq_f32(a, b)), a, b); }
  /// max(low, min(high, a)) in an instruction each: the same bits where neither limit is zero,
  /// whose sign it would see, or NaN.
  static INGOT_INLINE F limit(F low, F high, F a) { return vmaxq_f32(low, vminq_f32(high, a)); }
  static INGOT_INLINE F sqrt(F a) { return vsqrtq_f32(a); }
  static INGOT_INLINE F round(F a) { return vrndnq_f32(a); }
  static INGOT_INLINE F floor(F a) { return vrndmq_f32(a); }
  static INGOT_INLINE F ceil(F a) { return vrndpq_f32(a); }
  static INGOT_INLINE F trunc(F a) { return vrndq_f32(a); }

  static INGOT_INLINE M lt(F a, F b) { return vcltq_f32(a, b); }
  static INGOT_INLINE M le(F a, F b) { return vcleq_f32(a, b); }
  static INGOT_INLINE M gt(F a, F b) { return vcgtq_f32(a, b); }
  static INGOT_INLINE M ge(F a, F b) { return vcgeq_f32(a, b); }
  static INGOT_INLINE M eq(F a, F b) { return vceqq_f32(a, b); }
  static INGOT_INLINE M unordered(F a, F b) {
    return vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b)));
  }
  static INGOT_INLINE bool any(M m) { return vmaxvq_u32(m) != 0; }
  static INGOT_INLINE I to_int_nearest(F a) { return vcvtnq_s32_f32(a); }
  static INGOT_INLINE int32_t isum(I x) { return vaddvq_s32(x); }

  struct Table {
    uint8x16x4_t quarters[4];
  };
  static INGOT_INLINE Table btable(const uint8_t* p) {
    Table t;
    INGOT_UNROLL for (int q = 0; q < 4; q++) INGOT_UNROLL for (int i = 0; i < 4; i++) t.quarters[q]
        .val[i] = vld1q_u8(p + 64 * q + 16 * i);
    return t;
  }
  /// An index outside of its quarter counts for nothing.
  static INGOT_INLINE B blookup(const Table& t, B x) {
    B y = vqtbl4q_u8(t.quarters[0], x);
    INGOT_UNROLL for (int q = 1; q < 4; q++) y =
        vqtbx4q_u8(y, t.quarters[q], vsubq_u8(x, vdupq_n_u8(uint8_t(64 * q))));
    return y;
  }
};

}  // namespace
}  // namespace ingot::cpu
