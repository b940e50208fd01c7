// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/dot_neon32.inl - struct Dot of dot.inl for NEON of 32-bit Arm, which
// multiplies vectors of 16 bits by one number into sums of 32.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/neon32.h"

namespace ingot::cpu {
namespace {

struct Dot {
  // two rows are kept on the stack
  static constexpr int kRows = 1, kPanels = 1, kTall = 1, kWide = 1, kChunks = 4;
  static constexpr int kGroups = 1;
  static constexpr bool kWidens = false, kSigned = false;
  static constexpr int64_t kShortWindow = 0;
  static constexpr bool kPacksFour = false, kFinishesBytes = false;
  struct A {
    int32x4_t sums[4];  // four outputs each
  };
  using W = int8x16x4_t;  // what each of the four bytes of a pixel is multiplied by
  using X = int16x4_t;    // the four bytes
  static INGOT_INLINE A start(const int32_t* bias) {
    return {{vld1q_s32(bias), vld1q_s32(bias + 4), vld1q_s32(bias + 8), vld1q_s32(bias + 12)}};
  }
  static INGOT_INLINE void finish(const A& a, const int32_t*, int32x4_t (&out)[4]) {
    INGOT_UNROLL for (int i = 0; i < 4; i++) out[i] = a.sums[i];
  }
  static INGOT_INLINE W weights(const int8_t* p) { return vld4q_s8(p); }
  static INGOT_INLINE X bytes(const uint8_t* p) {
    uint32_t four;
    std::memcpy(&four, p, 4);
    return vreinterpret_s16_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
  }
  template <int k>
  static INGOT_INLINE void add_byte(A& a, X x, int8x16_t w) {
    const int16x8_t low = vmovl_s8(vget_low_s8(w)), high = vmovl_s8(vget_high_s8(w));
    a.sums[0] = vmlal_lane_s16(a.sums[0], vget_low_s16(low), x, k);
    a.sums[1] = vmlal_lane_s16(a.sums[1], vget_high_s16(low), x, k);
    a.sums[2] = vmlal_lane_s16(a.sums[2], vget_low_s16(high), x, k);
    a.sums[3] = vmlal_lane_s16(a.sums[3], vget_high_s16(high), x, k);
  }
  static INGOT_INLINE void dot(A& a, X x, const W& w) {
    add_byte<0>(a, x, w.val[0]), add_byte<1>(a, x, w.val[1]);
    add_byte<2>(a, x, w.val[2]), add_byte<3>(a, x, w.val[3]);
  }
  static INGOT_INLINE void dot_pair(int32x4_t (&sums)[4], const uint8_t* a, const uint8_t* b,
                                    const int16_t* pair) {
    const uint8x16_t x = vld1q_u8(a), y = vld1q_u8(b);
    const int16x8x2_t low = vld2q_s16(pair), high = vld2q_s16(pair + 16);
    add_products(sums[0], sums[1], vget_low_u8(x), low.val[0]);
    add_products(sums[2], sums[3], vget_high_u8(x), high.val[0]);
    add_products(sums[0], sums[1], vget_low_u8(y), low.val[1]);
    add_products(sums[2], sums[3], vget_high_u8(y), high.val[1]);
  }
  static INGOT_INLINE void add_products(int32x4_t& low, int32x4_t& high, uint8x8_t bytes,
                                        int16x8_t w) {
    const int16x8_t x = vreinterpretq_s16_u16(vmovl_u8(bytes));
    low = vmlal_s16(low, vget_low_s16(x), vget_low_s16(w));
    high = vmlal_s16(high, vget_high_s16(x), vget_high_s16(w));
  }
  static INGOT_INLINE void store(uint8_t* p, const int32x4_t (&v)[4], int64_t n) {
    const uint8x16_t bytes = V::bpack(v);
    if (n >= 16) return V::bstore(p, bytes);
    uint8_t all[16];
    V::bstore(all, bytes);
    std::memcpy(p, all, size_t(n));
  }
};

}  // namespace
}  // namespace ingot::cpu
