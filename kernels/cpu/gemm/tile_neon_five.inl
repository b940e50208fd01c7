// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/tile_neon_five.inl - register tiles of five pixels beside each other by one
// panel of 16 outputs on 64-bit Arm, one below the other in one asm statement.
//
//   v0  .. v19   sums: pixel i has v4i .. v4i+3
//   v20 .. v23   a column of the panel
//   v24, v26, v28, v30, v31   channels of the five pixels in the first four of eight steps
//   v25, v27, v29, v24, v26   and in the last four
//
// Eight steps are 160 products, eight loads of a column and five of pixels. A load is eight
// channels of a pixel; those of the last two pixels are four channels ahead of the others', so that
// eight registers are enough for all: the second half of one is needed when the first half of
// another is free. The last eight steps of a segment load four channels of these, so that nothing
// behind a pixel is read. Sums are the chains of tile.inl: the same bits.
#pragma once
#include "kernels/cpu/gemm/tile_neon.inl"

namespace ingot::cpu {
namespace {

// clang-format off
// A step: a column times lane `lane` of v`a0` .. v`a4`.
#define INGOT_STEP_5(a0, a1, a2, a3, a4, lane)                                                  \
  "ld1 {v20.4s-v23.4s}, [x10], #64\n\t"                                                         \
  INGOT_PIXEL(0, 1, 2, 3, 20, 21, 22, 23, a0, lane)                                             \
  INGOT_PIXEL(4, 5, 6, 7, 20, 21, 22, 23, a1, lane)                                             \
  INGOT_PIXEL(8, 9, 10, 11, 20, 21, 22, 23, a2, lane)                                           \
  INGOT_PIXEL(12, 13, 14, 15, 20, 21, 22, 23, a3, lane)                                         \
  INGOT_PIXEL(16, 17, 18, 19, 20, 21, 22, 23, a4, lane)
#define INGOT_STEPS_5(a0, a1, a2, a3, a4)                                     \
  INGOT_STEP_5(a0, a1, a2, a3, a4, 0) INGOT_STEP_5(a0, a1, a2, a3, a4, 1)     \
  INGOT_STEP_5(a0, a1, a2, a3, a4, 2) INGOT_STEP_5(a0, a1, a2, a3, a4, 3)
#define INGOT_EIGHT_STEPS_5(last_two)                                                        \
  "ldp q24, q25, [x11], #32\n\tldp q26, q27, [x12], #32\n\tldp q28, q29, [x13], #32\n\t"     \
  INGOT_STEPS_5(24, 26, 28, 30, 31) last_two INGOT_STEPS_5(25, 27, 29, 24, 26)
#define INGOT_AHEAD_5 "ldp q24, q30, [x14], #32\n\tldp q26, q31, [x15], #32\n\t"
#define INGOT_END_5 "ldr q24, [x14], #16\n\tldr q26, [x15], #16\n\t"
#define INGOT_CHANNELS_5(r, step)                                                            \
  "ldr " r "24, [x11], #" step "\n\tldr " r "26, [x12], #" step "\n\t"                        \
  "ldr " r "28, [x13], #" step "\n\tldr " r "30, [x14], #" step "\n\t"                        \
  "ldr " r "31, [x15], #" step "\n\t"

// Limits: v20, v21: low and high; v24 .. v27: where a pixel's sums are below.
#define INGOT_LIMIT_5(s0, s1, s2, s3)                                             \
  "fcmgt v24.4s, v20.4s, v" #s0 ".4s\n\tfcmgt v25.4s, v20.4s, v" #s1 ".4s\n\t"    \
  "fcmgt v26.4s, v20.4s, v" #s2 ".4s\n\tfcmgt v27.4s, v20.4s, v" #s3 ".4s\n\t"    \
  "bit v" #s0 ".16b, v20.16b, v24.16b\n\tbit v" #s1 ".16b, v20.16b, v25.16b\n\t"  \
  "bit v" #s2 ".16b, v20.16b, v26.16b\n\tbit v" #s3 ".16b, v20.16b, v27.16b\n\t"
#define INGOT_UPPER_5(s0, s1, s2, s3)                                             \
  "fmin v" #s0 ".4s, v21.4s, v" #s0 ".4s\n\tfmin v" #s1 ".4s, v21.4s, v" #s1 ".4s\n\t" \
  "fmin v" #s2 ".4s, v21.4s, v" #s2 ".4s\n\tfmin v" #s3 ".4s, v21.4s, v" #s3 ".4s\n\t"
#define INGOT_RESIDUAL_5(s0, s1, s2, s3)                                \
  "ld1 {v24.4s-v27.4s}, [%[residual]], %[residual_stride]\n\t"          \
  INGOT_RESIDUAL(s0, s1, s2, s3)
#define INGOT_EACH_5(f) \
  f(0, 1, 2, 3) f(4, 5, 6, 7) f(8, 9, 10, 11) f(12, 13, 14, 15) f(16, 17, 18, 19)

/// `tiles` (one or more) times five pixels from a on, all t.stride apart, of one segment or more;
/// t.jump is not read.
/// Residual (or null) and output likewise, with strides of their own, in bytes. x8: trips left, x9:
/// the segment, x10: columns, x11 .. x15: pixels. A trip is four times eight steps; the eight of
/// the end are for themselves, and the first trip begins where it leaves a number of eights before
/// them that four divides.
__attribute__((noinline)) inline void neon_tiles_5(const NeonTile& t, int64_t tiles, const float* a,
                                                   float* out, int64_t out_stride,
                                                   const float* residual, int64_t residual_stride) {
  asm volatile(
      "0: mov x9, %[segments]\n\t"
      "ld1 {v0.4s-v3.4s}, [%[bias]]\n\tld1 {v4.4s-v7.4s}, [%[bias]]\n\t"
      "ld1 {v8.4s-v11.4s}, [%[bias]]\n\tld1 {v12.4s-v15.4s}, [%[bias]]\n\t"
      "ld1 {v16.4s-v19.4s}, [%[bias]]\n\t"
      "1: ldp x11, x10, [x9], #16\n\t"
      "add x11, %[a], x11, lsl #2\n\tadd x12, x11, %[stride]\n\tadd x13, x12, %[stride]\n\t"
      "add x14, x13, %[stride]\n\tadd x15, x14, %[stride]\n\t"
      "add x10, %[b], x10, lsl #2\n\t"
      "cbz %[eights], 4f\n\t"
      "ldr q30, [x14], #16\n\tldr q31, [x15], #16\n\t"
      "mov x8, %[trips]\n\t"
      "tbz %[eights], #0, 13f\n\t"
      "tbnz %[eights], #1, 12f\n\t"
      "cbz x8, 9f\n\t"
      "2: " INGOT_EIGHT_STEPS_5(INGOT_AHEAD_5)
      "11: " INGOT_EIGHT_STEPS_5(INGOT_AHEAD_5)
      "12: " INGOT_EIGHT_STEPS_5(INGOT_AHEAD_5)
      "3: " INGOT_EIGHT_STEPS_5("subs x8, x8, #1\n\t" INGOT_AHEAD_5) "b.ne 2b\n\t"
      "9: " INGOT_EIGHT_STEPS_5(INGOT_END_5)
      "4: cbz %[rest], 6f\n\t"
      "tbz %[rest], #2, 5f\n\t"
      INGOT_CHANNELS_5("q", "16") INGOT_STEPS_5(24, 26, 28, 30, 31)
      "5: ands x8, %[rest], #3\n\t"
      "b.eq 6f\n\t"
      "10: " INGOT_CHANNELS_5("s", "4") "subs x8, x8, #1\n\t"
      INGOT_STEP_5(24, 26, 28, 30, 31, 0) "b.ne 10b\n\t"
      "6: cmp x9, %[last]\n\t"
      "b.ne 1b\n\t"
      "cbz %[residual], 7f\n\t" INGOT_EACH_5(INGOT_RESIDUAL_5)
      "7: cbz %[limits], 8f\n\t"
      "ld2r {v20.4s, v21.4s}, [%[limits]]\n\t" INGOT_EACH_5(INGOT_LIMIT_5)
      "cbz %[lowers], 8f\n\t" INGOT_EACH_5(INGOT_UPPER_5)
      "8: st1 {v0.4s-v3.4s}, [%[out]], %[out_stride]\n\t"
      "st1 {v4.4s-v7.4s}, [%[out]], %[out_stride]\n\t"
      "st1 {v8.4s-v11.4s}, [%[out]], %[out_stride]\n\t"
      "st1 {v12.4s-v15.4s}, [%[out]], %[out_stride]\n\t"
      "st1 {v16.4s-v19.4s}, [%[out]], %[out_stride]\n\t"
      "add %[a], %[a], %[stride], lsl #2\n\tadd %[a], %[a], %[stride]\n\t"
      "subs %[tiles], %[tiles], #1\n\t"
      "b.ne 0b\n\t"
      "b 14f\n\t"
      "13: tbz %[eights], #1, 11b\n\t"
      "b 3b\n\t"
      "14:\n\t"
      : [a] "+&r"(a), [out] "+&r"(out), [residual] "+&r"(residual), [tiles] "+&r"(tiles)
      : [segments] "r"(t.segments), [last] "r"(t.last), [stride] "r"(t.stride), [b] "r"(t.b),
        [bias] "r"(t.bias), [eights] "r"(t.eights), [trips] "r"((t.eights + 2) / 4),
        [rest] "r"(t.rest), [limits] "r"(t.limits), [lowers] "r"(t.lowers),
        [out_stride] "r"(out_stride), [residual_stride] "r"(residual_stride)
      : "x8", INGOT_CLOBBERS);
}
// clang-format on

/// How a row of pixels is cut: fives, then fours, then what is left (less than four).
struct FivesAndFours {
  int64_t fives = 0, fours = 0, left = 0;
  int64_t cut() const { return 5 * fives + 4 * fours; }
};
/// A few fives become fours where that leaves nothing: 6 = 5 + 1 is the largest number but 7 and 11
/// that is no sum of both.
constexpr FivesAndFours fives_and_fours(int64_t n) {
  FivesAndFours c{n / 5, 0, n % 5};
  const int64_t fewer = c.left ? 4 - c.left : 0;  // fives
  if (c.left && c.fives >= fewer) c.fives -= fewer, c.fours = fewer + 1, c.left = 0;
  return c;
}
static_assert(fives_and_fours(49).fives == 9 && fives_and_fours(49).fours == 1, "45 + 4");
static_assert(fives_and_fours(12).fives == 0 && fives_and_fours(12).fours == 3, "12");
static_assert(fives_and_fours(7).fives == 1 && fives_and_fours(7).left == 2, "5 + 2");
static_assert(fives_and_fours(8).fours == 2 && fives_and_fours(3).left == 3, "4 + 4; 3");

}  // namespace
}  // namespace ingot::cpu
