// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/tile_neon32.inl - the loop of a register tile of three pixels on 32-bit Arm, in
// asm: twelve sums, three pixels and one vector of weights are all 16 registers, of which GCC keeps
// four sums on the stack. There is no fused product by one lane, so a pixel's number is loaded into
// all of them. Sums come from memory and go there: an asm statement has no room for so many
// operands.
#pragma once
#include "kernels/cpu/simd/neon32.h"

namespace ingot::cpu {
namespace {

/// sums[i][j] + x_i[t] * w[t * 16 + 4 j ..], t < length, one after the other. `ahead`: elements
/// from w to what is prefetched. @pre length > 0
INGOT_INLINE void add_steps_of_three(const float* x0, const float* x1, const float* x2,
                                     const float* w, int64_t length, int64_t ahead,
                                     float32x4_t (&sums)[3][4]) {
  int32_t left = int32_t(length);
  const int32_t fetch = int32_t(ahead * int64_t(sizeof(float)));
  float32x4_t* at = sums[0];
#define INGOT_COLUMN(a, b, c)    \
  "vld1.32 {d6-d7}, [%[w]]!\n\t" \
  "vfma.f32 " a                  \
  ", q0, q3\n\t"                 \
  "vfma.f32 " b                  \
  ", q1, q3\n\t"                 \
  "vfma.f32 " c ", q2, q3\n\t"
  asm volatile(
      "vldmia %[at]!, {d8-d23}\n\t"
      "vldmia %[at], {d24-d31}\n\t"
      "sub %[at], %[at], #128\n"
      "1:\n\t"
      "vld1.32 {d0[], d1[]}, [%[x0]]!\n\t"
      "vld1.32 {d2[], d3[]}, [%[x1]]!\n\t"
      "vld1.32 {d4[], d5[]}, [%[x2]]!\n\t"
      "pld [%[w], %[fetch]]\n\t"
      "subs %[left], %[left], #1\n\t"  //
      INGOT_COLUMN("q4", "q8", "q12") INGOT_COLUMN("q5", "q9", "q13")
      INGOT_COLUMN("q6", "q10", "q14") INGOT_COLUMN("q7", "q11", "q15")
      "bne 1b\n\t"
      "vstmia %[at]!, {d8-d23}\n\t"
      "vstmia %[at], {d24-d31}"
      : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [w] "+r"(w), [left] "+r"(left), [at] "+r"(at)
      : [fetch] "r"(fetch)
      : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9", "q10", "q11", "q12", "q13",
        "q14", "q15", "cc", "memory");
#undef INGOT_COLUMN
}

}  // namespace
}  // namespace ingot::cpu
