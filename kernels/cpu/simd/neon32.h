// kernels/cpu/simd/neon32.h - struct V with four lanes, NEON of 32-bit Arm with fused multiply-add
// (VFPv4: from Cortex-A7 on). Its contract is in scalar.h, but that subnormal numbers count as
// zero: these vectors know no other mode (Arm Architecture Reference Manual for A-profile, AArch32
// Advanced SIMD; decision D565).
#pragma once
#include <arm_neon.h>

#include <cstdint>

#define INGOT_SIMD_NEON32 1
#include "kernels/cpu/simd/bytes.inl"
#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {

struct V {
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
  static INGOT_INLINE F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
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
  static INGOT_INLINE F abs(F a) { return vabsq_f32(a); }
  static INGOT_INLINE F neg(F a) { return vnegq_f32(a); }
  static INGOT_INLINE F sqrt(F a) {
    a = flushed(a);
    INGOT_UNROLL for (int i = 0; i < kLanes; i++) a[i] = __builtin_sqrtf(a[i]);
    return a;
  }
  static INGOT_INLINE F with_sign(F magnitude, F sign) {
    return vbslq_f32(vdupq_n_u32(0x80000000u), sign, magnitude);
  }
  // adding 2^23 rounds at the unit; larger magnitudes are integers already
  static INGOT_INLINE F round(F a) {
    const F magnitude = abs(a), unit = splat(8388608.0f);
    return select(lt(magnitude, unit), with_sign(sub(add(magnitude, unit), unit), a), a);
  }
  static INGOT_INLINE F floor(F a) {
    const F r = round(a);
    return select(gt(r, a), sub(r, splat(1.0f)), r);
  }
  static INGOT_INLINE F ceil(F a) {
    const F r = round(a);
    return select(lt(r, a), with_sign(abs(add(r, splat(1.0f))), a), r);
  }
  static INGOT_INLINE F trunc(F a) {
    const F magnitude = abs(a), r = round(magnitude);
    return with_sign(select(gt(r, magnitude), sub(r, splat(1.0f)), r), a);
  }

  static INGOT_INLINE M unordered(F a, F b) { return vmvnq_u32(vandq_u32(eq(a, a), eq(b, b))); }
  static INGOT_INLINE F select(M m, F a, F b) { return vbslq_f32(m, a, b); }
  static INGOT_INLINE I iselect(M m, I a, I b) { return vbslq_s32(m, a, b); }
  static INGOT_INLINE M mask_and(M a, M b) { return vandq_u32(a, b); }
  static INGOT_INLINE M mask_or(M a, M b) { return vorrq_u32(a, b); }
  static INGOT_INLINE M mask_xor(M a, M b) { return veorq_u32(a, b); }
  static INGOT_INLINE M mask_not(M a) { return vmvnq_u32(a); }
  static INGOT_INLINE bool any(M m) {
    const uint32x2_t both = vorr_u32(vget_low_u32(m), vget_high_u32(m));
    return (vget_lane_u32(both, 0) | vget_lane_u32(both, 1)) != 0;
  }

  static INGOT_INLINE F bit_and(F a, F b) { return as_float(vandq_s32(as_int(a), as_int(b))); }
  static INGOT_INLINE F bit_or(F a, F b) { return as_float(vorrq_s32(as_int(a), as_int(b))); }
  static INGOT_INLINE F bit_xor(F a, F b) { return as_float(veorq_s32(as_int(a), as_int(b))); }
  static INGOT_INLINE I as_int(F a) { return vreinterpretq_s32_f32(a); }
  static INGOT_INLINE F as_float(I a) { return vreinterpretq_f32_s32(a); }
  static INGOT_INLINE I to_int(F a) { return vcvtq_s32_f32(a); }
  static INGOT_INLINE I to_int_nearest(F a) { return to_int(round(a)); }
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
  static INGOT_INLINE int32_t isum(I x) {
    const int32x2_t two = vadd_s32(vget_low_s32(x), vget_high_s32(x));
    return int32_t(uint32_t(vget_lane_s32(two, 0)) + uint32_t(vget_lane_s32(two, 1)));
  }
  static INGOT_INLINE B bpack(const I (&v)[4]) {
    return vcombine_u8(vqmovun_s16(vcombine_s16(vqmovn_s32(v[0]), vqmovn_s32(v[1]))),
                       vqmovun_s16(vcombine_s16(vqmovn_s32(v[2]), vqmovn_s32(v[3]))));
  }
  struct Table {
    const uint8_t* at;
  };
  static INGOT_INLINE Table btable(const uint8_t* p) { return {p}; }
  static INGOT_INLINE B blookup(const Table& t, B x) {
    uint8_t all[kBytes];
    bstore(all, x);
    INGOT_UNROLL for (int i = 0; i < kBytes; i++) all[i] = t.at[all[i]];
    return bload(all);
  }
};

}  // namespace
}  // namespace ingot::cpu
