// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/tile_neon.inl - the register tile of four pixels (or one) by one panel of 16
// outputs (or the first half of it) on 64-bit Arm, from the biases to the store.
//
//   v0  .. v15   sums: pixel i has v4i .. v4i+3; of half a panel v2i and v2i+1
//   v16 .. v23   columns of the panel, of two steps in turn
//   v24 .. v31   eight channels of each pixel
//
// Eight steps are 128 products, eight loads of a column (one instruction each) and four of pixels;
// what moves pointers is part of the loads. The sum of an output is the chain of tile.inl: the same
// bits. All of it is one asm statement, so that both compilers make the same of it and nothing is
// saved between parts of a tile.
#pragma once
#include <cstddef>

#include "kernels/cpu/gemm/epilogue.inl"
#include "runtime/op/conv_blocks.h"

namespace ingot::cpu {
namespace {

/// What a tile reads and writes. Strides in bytes: from pixel 0 to 1 and from 2 to 3, and `jump`
/// from 1 to 2.
struct NeonTile {
  const conv::Segment *segments, *last;
  const float* b;
  const float* bias;
  int64_t eights, rest;  // steps of a segment: 8 * eights + rest
  int64_t stride, jump;
  const float* limits;  // low and high, or null
  int64_t lowers;       // 0: the upper limit is infinite, and there is nothing to lower
};
// What the instructions below load in pairs.
static_assert(sizeof(conv::Segment) == 16 && offsetof(conv::Segment, b) == 8, "ldp of a segment");
static_assert(offsetof(Epilogue, high) == offsetof(Epilogue, low) + 4, "ld2r of the limits");

// clang-format off
// Four sums of a pixel: a column times lane `lane` of v`a`.
#define INGOT_PIXEL(s0, s1, s2, s3, c0, c1, c2, c3, a, lane) \
  "fmla v" #s0 ".4s, v" #c0 ".4s, v" #a ".s[" #lane "]\n\t"  \
  "fmla v" #s1 ".4s, v" #c1 ".4s, v" #a ".s[" #lane "]\n\t"  \
  "fmla v" #s2 ".4s, v" #c2 ".4s, v" #a ".s[" #lane "]\n\t"  \
  "fmla v" #s3 ".4s, v" #c3 ".4s, v" #a ".s[" #lane "]\n\t"

// A step of one pixel and of four, whose channels are in v`a0` .. v`a3`: those of even number have
// their column in v16 .. v19.
#define INGOT_EVEN_1(a0, a1, a2, a3, lane) INGOT_PIXEL(0, 1, 2, 3, 16, 17, 18, 19, a0, lane)
#define INGOT_ODD_1(a0, a1, a2, a3, lane) INGOT_PIXEL(0, 1, 2, 3, 20, 21, 22, 23, a0, lane)
#define INGOT_EVEN_4(a0, a1, a2, a3, lane)            \
  INGOT_PIXEL(0, 1, 2, 3, 16, 17, 18, 19, a0, lane)   \
  INGOT_PIXEL(4, 5, 6, 7, 16, 17, 18, 19, a1, lane)   \
  INGOT_PIXEL(8, 9, 10, 11, 16, 17, 18, 19, a2, lane) \
  INGOT_PIXEL(12, 13, 14, 15, 16, 17, 18, 19, a3, lane)
#define INGOT_ODD_4(a0, a1, a2, a3, lane)             \
  INGOT_PIXEL(0, 1, 2, 3, 20, 21, 22, 23, a0, lane)   \
  INGOT_PIXEL(4, 5, 6, 7, 20, 21, 22, 23, a1, lane)   \
  INGOT_PIXEL(8, 9, 10, 11, 20, 21, 22, 23, a2, lane) \
  INGOT_PIXEL(12, 13, 14, 15, 20, 21, 22, 23, a3, lane)
#define INGOT_EVEN_COLUMN_4 "ld1 {v16.4s-v19.4s}, [x10], #64\n\t"
#define INGOT_ODD_COLUMN_4 "ld1 {v20.4s-v23.4s}, [x10], #64\n\t"
#define INGOT_EVEN_COLUMN_1 INGOT_EVEN_COLUMN_4
#define INGOT_ODD_COLUMN_1 INGOT_ODD_COLUMN_4
// The same of four pixels by half a panel.
#define INGOT_PIXEL_HALF(s0, s1, c0, c1, a, lane)           \
  "fmla v" #s0 ".4s, v" #c0 ".4s, v" #a ".s[" #lane "]\n\t" \
  "fmla v" #s1 ".4s, v" #c1 ".4s, v" #a ".s[" #lane "]\n\t"
#define INGOT_EVEN_HALF(a0, a1, a2, a3, lane)                                       \
  INGOT_PIXEL_HALF(0, 1, 16, 17, a0, lane) INGOT_PIXEL_HALF(2, 3, 16, 17, a1, lane) \
  INGOT_PIXEL_HALF(4, 5, 16, 17, a2, lane) INGOT_PIXEL_HALF(6, 7, 16, 17, a3, lane)
#define INGOT_ODD_HALF(a0, a1, a2, a3, lane)                                        \
  INGOT_PIXEL_HALF(0, 1, 20, 21, a0, lane) INGOT_PIXEL_HALF(2, 3, 20, 21, a1, lane) \
  INGOT_PIXEL_HALF(4, 5, 20, 21, a2, lane) INGOT_PIXEL_HALF(6, 7, 20, 21, a3, lane)
#define INGOT_EVEN_COLUMN_HALF "ldp q16, q17, [x10], #64\n\t"
#define INGOT_ODD_COLUMN_HALF "ldp q20, q21, [x10], #64\n\t"

// Eight channels, four and one of one pixel and of four.
#define INGOT_EIGHT_1 "ldp q24, q25, [x11], #32\n\t"
#define INGOT_EIGHT_4 INGOT_EIGHT_1 \
  "ldp q26, q27, [x12], #32\n\tldp q28, q29, [x13], #32\n\tldp q30, q31, [x14], #32\n\t"
#define INGOT_FOUR_1 "ldr q24, [x11], #16\n\t"
#define INGOT_FOUR_4 INGOT_FOUR_1 \
  "ldr q26, [x12], #16\n\tldr q28, [x13], #16\n\tldr q30, [x14], #16\n\t"
#define INGOT_ONE_1 "ldr s24, [x11], #4\n\t"
#define INGOT_ONE_4 INGOT_ONE_1 "ldr s26, [x12], #4\n\tldr s28, [x13], #4\n\tldr s30, [x14], #4\n\t"
#define INGOT_EIGHT_HALF INGOT_EIGHT_4
#define INGOT_FOUR_HALF INGOT_FOUR_4
#define INGOT_ONE_HALF INGOT_ONE_4
#define INGOT_LOW(n, parity, lane) INGOT_##parity##_##n(24, 26, 28, 30, lane)
#define INGOT_HIGH(n, parity, lane) INGOT_##parity##_##n(25, 27, 29, 31, lane)

// Eight steps; `count` is an instruction for the loop around them.
#define INGOT_EIGHT_STEPS(n, count)                     \
  INGOT_EVEN_COLUMN_##n INGOT_EIGHT_##n INGOT_ODD_COLUMN_##n \
  INGOT_LOW(n, EVEN, 0) INGOT_EVEN_COLUMN_##n           \
  INGOT_LOW(n, ODD, 1) INGOT_ODD_COLUMN_##n             \
  INGOT_LOW(n, EVEN, 2) INGOT_EVEN_COLUMN_##n           \
  INGOT_LOW(n, ODD, 3) INGOT_ODD_COLUMN_##n             \
  INGOT_HIGH(n, EVEN, 0) INGOT_EVEN_COLUMN_##n          \
  INGOT_HIGH(n, ODD, 1) INGOT_ODD_COLUMN_##n            \
  INGOT_HIGH(n, EVEN, 2) count INGOT_HIGH(n, ODD, 3)

// The sums of all segments, none too. x10: columns, x11 .. x14: pixels, x15: trips or steps left. A
// trip is sixteen steps; where eights are odd in number, the first one begins in its middle.
#define INGOT_SUMS(n, other_pixels)                                        \
  "b 6f\n\t"                                                               \
  "1: ldp x9, x10, [%[segments]], #16\n\t"                                 \
  "add x11, %[a], x9, lsl #2\n\t" other_pixels                             \
  "add x10, %[b], x10, lsl #2\n\t"                                         \
  "cbz %[eights], 3f\n\t"                                                  \
  "add x15, %[eights], #1\n\tlsr x15, x15, #1\n\t"                         \
  "tbnz %[eights], #0, 9f\n\t"                                            \
  "2: " INGOT_EIGHT_STEPS(n, "")                                           \
  "9: " INGOT_EIGHT_STEPS(n, "subs x15, x15, #1\n\t") "b.ne 2b\n\t"        \
  "3: cbz %[rest], 6f\n\t"                                                 \
  "tbz %[rest], #2, 4f\n\t"                                                \
  INGOT_FOUR_##n INGOT_EVEN_COLUMN_##n INGOT_ODD_COLUMN_##n                \
  INGOT_LOW(n, EVEN, 0) INGOT_EVEN_COLUMN_##n                              \
  INGOT_LOW(n, ODD, 1) INGOT_ODD_COLUMN_##n                                \
  INGOT_LOW(n, EVEN, 2) INGOT_LOW(n, ODD, 3)                               \
  "4: ands x15, %[rest], #3\n\t"                                           \
  "b.eq 6f\n\t"                                                            \
  "5: " INGOT_ONE_##n INGOT_EVEN_COLUMN_##n "subs x15, x15, #1\n\t"        \
  INGOT_LOW(n, EVEN, 0) "b.ne 5b\n\t"                                      \
  "6: cmp %[segments], %[last]\n\t"                                        \
  "b.ne 1b\n\t"

// The residual of a pixel, in v24 on, and the limits of its sums; v16, v17: low and high. The lower
// one is taken where it is greater, as everywhere: -0 stays -0. fmin does the same as a comparison
// where the upper one is a number other than zero, as make_epilogue() has it.
#define INGOT_ADD(s, r) "fadd v" #s ".4s, v" #s ".4s, v" #r ".4s\n\t"
#define INGOT_BELOW(s, mask) "fcmgt v" #mask ".4s, v16.4s, v" #s ".4s\n\t"
#define INGOT_RAISE(s, mask) "bit v" #s ".16b, v16.16b, v" #mask ".16b\n\t"
#define INGOT_LOWER(s) "fmin v" #s ".4s, v17.4s, v" #s ".4s\n\t"
#define INGOT_RESIDUAL(s0, s1, s2, s3) \
  INGOT_ADD(s0, 24) INGOT_ADD(s1, 25) INGOT_ADD(s2, 26) INGOT_ADD(s3, 27)
#define INGOT_LIMIT(s0, s1, s2, s3)                                                     \
  INGOT_BELOW(s0, 24) INGOT_BELOW(s1, 25) INGOT_BELOW(s2, 26) INGOT_BELOW(s3, 27)       \
  INGOT_RAISE(s0, 24) INGOT_RAISE(s1, 25) INGOT_RAISE(s2, 26) INGOT_RAISE(s3, 27)
#define INGOT_UPPER(s0, s1, s2, s3) \
  INGOT_LOWER(s0) INGOT_LOWER(s1) INGOT_LOWER(s2) INGOT_LOWER(s3)
#define INGOT_LIMITED(lower, upper) \
  "ld2r {v16.4s, v17.4s}, [%[limits]]\n\t" lower "cbz %[lowers], 8f\n\t" upper
#define INGOT_LIMITS_1 INGOT_LIMITED(INGOT_LIMIT(0, 1, 2, 3), INGOT_UPPER(0, 1, 2, 3))
#define INGOT_LIMITS_HALF                                            \
  INGOT_LIMITED(INGOT_LIMIT(0, 1, 2, 3) INGOT_LIMIT(4, 5, 6, 7),     \
                INGOT_UPPER(0, 1, 2, 3) INGOT_UPPER(4, 5, 6, 7))
#define INGOT_LIMITS_4                                               \
  INGOT_LIMITED(INGOT_LIMIT(0, 1, 2, 3) INGOT_LIMIT(4, 5, 6, 7)      \
                INGOT_LIMIT(8, 9, 10, 11) INGOT_LIMIT(12, 13, 14, 15), \
                INGOT_UPPER(0, 1, 2, 3) INGOT_UPPER(4, 5, 6, 7)      \
                INGOT_UPPER(8, 9, 10, 11) INGOT_UPPER(12, 13, 14, 15))

// Four pixels: biases, residuals and stores.
#define INGOT_BIAS_4                                                 \
  "ld1 {v0.4s-v3.4s}, [%[bias]]\n\tld1 {v4.4s-v7.4s}, [%[bias]]\n\t" \
  "ld1 {v8.4s-v11.4s}, [%[bias]]\n\tld1 {v12.4s-v15.4s}, [%[bias]]\n\t"
#define INGOT_BIAS_HALF                              \
  "ldp q0, q1, [%[bias]]\n\tldp q2, q3, [%[bias]]\n\t" \
  "ldp q4, q5, [%[bias]]\n\tldp q6, q7, [%[bias]]\n\t"
#define INGOT_RESIDUALS(columns, r0, r1, r2, r3)                    \
  "mov x9, %[residual]\n\t"                                         \
  "ld1 {" columns "}, [x9], %[residual_stride]\n\t" r0               \
  "ld1 {" columns "}, [x9], %[residual_jump]\n\t" r1                 \
  "ld1 {" columns "}, [x9], %[residual_stride]\n\t" r2               \
  "ld1 {" columns "}, [x9]\n\t" r3
#define INGOT_RESIDUALS_4                                              \
  INGOT_RESIDUALS("v24.4s-v27.4s", INGOT_RESIDUAL(0, 1, 2, 3), INGOT_RESIDUAL(4, 5, 6, 7), \
                  INGOT_RESIDUAL(8, 9, 10, 11), INGOT_RESIDUAL(12, 13, 14, 15))
#define INGOT_RESIDUALS_HALF                                       \
  INGOT_RESIDUALS("v24.4s-v25.4s", INGOT_ADD(0, 24) INGOT_ADD(1, 25), \
                  INGOT_ADD(2, 24) INGOT_ADD(3, 25), INGOT_ADD(4, 24) INGOT_ADD(5, 25), \
                  INGOT_ADD(6, 24) INGOT_ADD(7, 25))
#define INGOT_STORE_4                          \
  "st1 {v0.4s-v3.4s}, [x9], %[out_stride]\n\t" \
  "st1 {v4.4s-v7.4s}, [x9], %[out_jump]\n\t"   \
  "st1 {v8.4s-v11.4s}, [x9], %[out_stride]\n\t" \
  "st1 {v12.4s-v15.4s}, [x9]\n\t"
#define INGOT_STORE_HALF                                                                   \
  "st1 {v0.4s-v1.4s}, [x9], %[out_stride]\n\tst1 {v2.4s-v3.4s}, [x9], %[out_jump]\n\t"     \
  "st1 {v4.4s-v5.4s}, [x9], %[out_stride]\n\tst1 {v6.4s-v7.4s}, [x9]\n\t"
#define INGOT_FOUR_PIXELS(n)                                                               \
  asm volatile(                                                                            \
      INGOT_BIAS_##n                                                                       \
      INGOT_SUMS(n, "add x12, x11, %[stride]\n\tadd x13, x12, %[jump]\n\t"                 \
                    "add x14, x13, %[stride]\n\t")                                         \
      "cbz %[residual], 7f\n\t" INGOT_RESIDUALS_##n                                        \
      "7: cbz %[limits], 8f\n\t" INGOT_LIMITS_##n                                          \
      "8: mov x9, %[out]\n\t" INGOT_STORE_##n                                              \
      : [segments] "+&r"(segments)                                                         \
      : [last] "r"(t.last), [a] "r"(a), [stride] "r"(t.stride), [jump] "r"(t.jump),        \
        [b] "r"(t.b), [bias] "r"(t.bias), [eights] "r"(t.eights), [rest] "r"(t.rest),      \
        [limits] "r"(t.limits), [lowers] "r"(t.lowers), [out] "r"(out),                    \
        [out_stride] "r"(out_stride),                                                      \
        [out_jump] "r"(out_jump), [residual] "r"(residual),                                \
        [residual_stride] "r"(residual_stride), [residual_jump] "r"(residual_jump)         \
      : INGOT_CLOBBERS)

#define INGOT_CLOBBERS                                                                            \
  "x9", "x10", "x11", "x12", "x13", "x14", "x15", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", \
      "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20",    \
      "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory"

/// Four pixels from a on, in steps of t.stride, t.jump, t.stride. Residual (or null) and output
/// likewise, with steps of their own: out_stride, out_jump, in bytes. `half`: of eight outputs.
template <bool half>
INGOT_INLINE void neon_tile_4(const NeonTile& t, const float* a, float* out, int64_t out_stride,
                              int64_t out_jump, const float* residual, int64_t residual_stride,
                              int64_t residual_jump) {
  const conv::Segment* segments = t.segments;
  if constexpr (half)
    INGOT_FOUR_PIXELS(HALF);
  else
    INGOT_FOUR_PIXELS(4);
}

/// One pixel.
INGOT_INLINE void neon_tile_1(const NeonTile& t, const float* a, float* out,
                              const float* residual) {
  const conv::Segment* segments = t.segments;
  asm volatile(
      "ld1 {v0.4s-v3.4s}, [%[bias]]\n\t"
      INGOT_SUMS(1, "")
      "cbz %[residual], 7f\n\t"
      "ld1 {v24.4s-v27.4s}, [%[residual]]\n\t" INGOT_RESIDUAL(0, 1, 2, 3)
      "7: cbz %[limits], 8f\n\t" INGOT_LIMITS_1
      "8: st1 {v0.4s-v3.4s}, [%[out]]\n\t"
      : [segments] "+&r"(segments)
      : [last] "r"(t.last), [a] "r"(a), [b] "r"(t.b), [bias] "r"(t.bias), [eights] "r"(t.eights),
        [rest] "r"(t.rest), [limits] "r"(t.limits), [lowers] "r"(t.lowers), [out] "r"(out),
        [residual] "r"(residual)
      : INGOT_CLOBBERS);
}
// clang-format on

}  // namespace
}  // namespace ingot::cpu
