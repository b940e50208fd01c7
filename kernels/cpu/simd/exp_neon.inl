// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/exp_neon.inl - exponentials and what is made of them (gelu, silu, sigmoid) of
// rows of sixteen numbers on 64-bit Arm. The steps are those of math.inl in the same order: the
// same bits.
//
// A step of a polynomial is fma(sum, x, coefficient): it overwrites the coefficient, so that every
// vector wants a copy of it for every step. Coefficients lie sixteen times in memory, and one
// instruction loads the copies of four vectors, where a compiler moves them one by one.
//
//   v0  .. v15   four groups of four vectors, X, W, A and B
//   v16 .. v23   two more, where they are needed
//   v24 .. v31   limits and factors
#pragma once
#include "kernels/cpu/simd/math.inl"

namespace ingot::cpu {
namespace {

/// Coefficients from the second highest down, sixteen times each.
template <int n>
struct RepeatedCoefficients {
  alignas(64) float v[n - 1][16] = {};
  constexpr RepeatedCoefficients(const float (&lowest_first)[n]) {
    for (int i = 0; i < n - 1; i++)
      for (float& x : v[i]) x = lowest_first[n - 2 - i];
  }
};
struct NeonPolynomials {  // gelu goes on with those of expm1
  RepeatedCoefficients<12> gelu{{INGOT_GELU_COEFFICIENTS}};
  RepeatedCoefficients<5> expm1{{INGOT_EXPM1_COEFFICIENTS}};
};
alignas(64) constexpr NeonPolynomials kNeonPolynomials{};
template <class... Rest>
constexpr float last_of(float first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0)
    return first;
  else
    return last_of(rest...);
}

/// v24: four factors that are taken by their lane; v25 .. v28: a number each.
struct NeonFactors {
  alignas(16) float lanes[4];
  float low, high, rounding, one;
};
constexpr float kRounding = 12582912.0f;  // 1.5 * 2^23
constexpr NeonFactors kExpFactors{
    {1.44269504f, -0.693147182f, 1.90465430e-9f, last_of(INGOT_EXPM1_COEFFICIENTS)},
    -88.0f,
    89.0f,
    kRounding,
    1.0f};
constexpr NeonFactors kGeluFactors{
    {0.693147182f, last_of(INGOT_GELU_COEFFICIENTS), 0.0f, last_of(INGOT_EXPM1_COEFFICIENTS)},
    -127.0f,
    13.3f,
    kRounding,
    1.0f};

// clang-format off
#define INGOT_X 0, 1, 2, 3
#define INGOT_W 4, 5, 6, 7
#define INGOT_A 8, 9, 10, 11
#define INGOT_B 12, 13, 14, 15
#define INGOT_Y 16, 17, 18, 19
#define INGOT_SUM 20, 21, 22, 23
#define INGOT_SAME(v) v, v, v, v
// An instruction for each of four vectors: of three vectors, two, two and a lane, two and a number.
#define INGOT_THREE_(f, t, d0, d1, d2, d3, a0, a1, a2, a3, b0, b1, b2, b3)                     \
  f " v" #d0 "." t ", v" #a0 "." t ", v" #b0 "." t "\n\t"                                      \
  f " v" #d1 "." t ", v" #a1 "." t ", v" #b1 "." t "\n\t"                                      \
  f " v" #d2 "." t ", v" #a2 "." t ", v" #b2 "." t "\n\t"                                      \
  f " v" #d3 "." t ", v" #a3 "." t ", v" #b3 "." t "\n\t"
#define INGOT_TWO_(f, t, last, d0, d1, d2, d3, a0, a1, a2, a3)                                 \
  f " v" #d0 "." t ", v" #a0 "." t last "\n\t" f " v" #d1 "." t ", v" #a1 "." t last "\n\t"    \
  f " v" #d2 "." t ", v" #a2 "." t last "\n\t" f " v" #d3 "." t ", v" #a3 "." t last "\n\t"
#define INGOT_THREE(f, ...) INGOT_THREE_(f, "4s", __VA_ARGS__)
#define INGOT_THREE_BITS(f, ...) INGOT_THREE_(f, "16b", __VA_ARGS__)
#define INGOT_TWO(f, ...) INGOT_TWO_(f, "4s", "", __VA_ARGS__)
#define INGOT_TWO_BITS(f, ...) INGOT_TWO_(f, "16b", "", __VA_ARGS__)
#define INGOT_TWO_AND(f, last, ...) INGOT_TWO_(f, "4s", last, __VA_ARGS__)
#define INGOT_COPIES_A "ld1 {v8.4s-v11.4s}, [x9], #64\n\t"
#define INGOT_COPIES_B "ld1 {v12.4s-v15.4s}, [x9], #64\n\t"
// The next step of a polynomial of `x`: from A to B, and from B to A.
#define INGOT_STEP_B(...) INGOT_COPIES_B INGOT_THREE("fmla", INGOT_B, INGOT_A, __VA_ARGS__)
#define INGOT_STEP_A(...) INGOT_COPIES_A INGOT_THREE("fmla", INGOT_A, INGOT_B, __VA_ARGS__)

// W: a number's nearest integer plus 1.5 * 2^23, whose low bits are the integer. X: what is left of
// the number. e^X 2^integer in X; x9: the coefficients.
#define INGOT_EXP_OF_REST                                                                      \
  INGOT_COPIES_A INGOT_TWO_AND("fmla", ", v24.s[3]", INGOT_A, INGOT_X)                         \
  INGOT_STEP_B(INGOT_X) INGOT_STEP_A(INGOT_X) INGOT_STEP_B(INGOT_X)                            \
  INGOT_THREE("fmul", INGOT_B, INGOT_B, INGOT_X)                                               \
  INGOT_TWO_AND("shl", ", #23", INGOT_W, INGOT_W)                                              \
  INGOT_THREE("fmla", INGOT_X, INGOT_B, INGOT_X)                                               \
  INGOT_THREE("add", INGOT_W, INGOT_W, INGOT_SAME(28))                                         \
  INGOT_THREE("fadd", INGOT_X, INGOT_X, INGOT_SAME(28))                                        \
  INGOT_THREE("fmul", INGOT_X, INGOT_X, INGOT_W)
// exp_flush() of X, which is -88 or more; changes W, A, B.
#define INGOT_EXP                                                                              \
  INGOT_TWO_AND("fmul", ", v24.s[0]", INGOT_W, INGOT_X)                                        \
  INGOT_THREE("fadd", INGOT_W, INGOT_W, INGOT_SAME(27))                                        \
  INGOT_THREE("fsub", INGOT_A, INGOT_W, INGOT_SAME(27))                                        \
  INGOT_TWO_AND("fmla", ", v24.s[1]", INGOT_X, INGOT_A)                                        \
  INGOT_TWO_AND("fmla", ", v24.s[2]", INGOT_X, INGOT_A)                                        \
  INGOT_EXP_OF_REST
#define INGOT_FACTORS                                                                          \
  "mov x9, %[factors]\n\tld1 {v24.4s}, [x9], #16\n\t"                                          \
  "ld4r {v25.4s-v28.4s}, [x9]\n\t"
#define INGOT_EXP_CLOBBERS                                                                     \
  "x9", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",       \
      "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",      \
      "v25", "v26", "v27", "v28", "cc", "memory"
// Rows of sixteen numbers, one or more, whose strides are in bytes. `body` makes `stored` of X.
#define INGOT_ROWS_OF_16(table, numbers, stored, body)                                         \
  asm volatile(INGOT_FACTORS                                                                   \
               "1: ld1 {v0.4s-v3.4s}, [%[from]], %[from_stride]\n\tmov x9, %[coefficients]\n\t"\
               body                                                                            \
               "subs %[rows], %[rows], #1\n\tst1 {" stored "}, [%[to]], %[to_stride]\n\t"      \
               "b.ne 1b\n\t"                                                                   \
               : [from] "+&r"(from), [to] "+&r"(to), [rows] "+&r"(rows)                        \
               : [from_stride] "r"(from_stride), [to_stride] "r"(to_stride),                   \
                 [coefficients] "r"(table), [factors] "r"(&numbers)                            \
               : INGOT_EXP_CLOBBERS)

__attribute__((noinline)) inline void neon_gelu(const float* from, int64_t from_stride, float* to,
                                                int64_t to_stride, int64_t rows) {
  // Y: min(13.3, |x|); SUM: max(0, x), where -0 stays; X: log2 of the tail, and the tail
  INGOT_ROWS_OF_16(
      &kNeonPolynomials.gelu, kGeluFactors, "v20.4s-v23.4s",
      INGOT_TWO("fabs", INGOT_Y, INGOT_X)
      INGOT_TWO_AND("fcmlt", ", #0.0", INGOT_SUM, INGOT_X)
      INGOT_THREE("fmin", INGOT_Y, INGOT_Y, INGOT_SAME(26))
      INGOT_THREE_BITS("bic", INGOT_SUM, INGOT_X, INGOT_SUM)
      INGOT_COPIES_A INGOT_TWO_AND("fmla", ", v24.s[1]", INGOT_A, INGOT_Y)
      INGOT_STEP_B(INGOT_Y) INGOT_STEP_A(INGOT_Y) INGOT_STEP_B(INGOT_Y) INGOT_STEP_A(INGOT_Y)
      INGOT_STEP_B(INGOT_Y) INGOT_STEP_A(INGOT_Y) INGOT_STEP_B(INGOT_Y) INGOT_STEP_A(INGOT_Y)
      INGOT_STEP_B(INGOT_Y) INGOT_STEP_A(INGOT_Y)
      INGOT_THREE("fmax", INGOT_X, INGOT_A, INGOT_SAME(25))
      INGOT_THREE("fadd", INGOT_W, INGOT_X, INGOT_SAME(27))
      INGOT_THREE("fsub", INGOT_A, INGOT_W, INGOT_SAME(27))
      INGOT_THREE("fsub", INGOT_X, INGOT_X, INGOT_A)
      INGOT_TWO_AND("fmul", ", v24.s[0]", INGOT_X, INGOT_X)
      INGOT_EXP_OF_REST
      INGOT_THREE("fmls", INGOT_SUM, INGOT_Y, INGOT_X));
}

// 1 + e^-x in X; Y: x.
#define INGOT_ONE_AND_EXP                                                                      \
  INGOT_TWO_BITS("mov", INGOT_Y, INGOT_X)                                                      \
  INGOT_TWO("fneg", INGOT_X, INGOT_X)                                                          \
  INGOT_THREE("fmin", INGOT_X, INGOT_X, INGOT_SAME(26))                                        \
  INGOT_THREE("fmax", INGOT_X, INGOT_X, INGOT_SAME(25))                                        \
  INGOT_EXP                                                                                    \
  INGOT_THREE("fadd", INGOT_X, INGOT_X, INGOT_SAME(28))
__attribute__((noinline)) inline void neon_silu(const float* from, int64_t from_stride, float* to,
                                                int64_t to_stride, int64_t rows) {
  INGOT_ROWS_OF_16(&kNeonPolynomials.expm1, kExpFactors, "v0.4s-v3.4s",
                   INGOT_ONE_AND_EXP INGOT_THREE("fdiv", INGOT_X, INGOT_Y, INGOT_X));
}
__attribute__((noinline)) inline void neon_sigmoid(const float* from, int64_t from_stride,
                                                   float* to, int64_t to_stride, int64_t rows) {
  INGOT_ROWS_OF_16(&kNeonPolynomials.expm1, kExpFactors, "v0.4s-v3.4s",
                   INGOT_ONE_AND_EXP INGOT_THREE("fdiv", INGOT_X, INGOT_SAME(28), INGOT_X));
}

/// s = exp_flush(s - *top) for `groups` (one or more) of sixteen, added to the sixteen lanes in
/// order. Numbers above *top are there beside NaN only, which the lanes then are: no upper limit.
__attribute__((noinline)) inline void neon_exponentials(float* s, int64_t groups, const float* top,
                                                        float* lanes) {
  asm volatile(INGOT_FACTORS
               "ld1r {v29.4s}, [%[top]]\n\tld1 {v20.4s-v23.4s}, [%[lanes]]\n\t"
               "1: ld1 {v0.4s-v3.4s}, [%[s]]\n\tmov x9, %[coefficients]\n\t"
               INGOT_THREE("fsub", INGOT_X, INGOT_X, INGOT_SAME(29))
               INGOT_THREE("fmax", INGOT_X, INGOT_X, INGOT_SAME(25))
               INGOT_EXP
               INGOT_THREE("fadd", INGOT_SUM, INGOT_SUM, INGOT_X)
               "subs %[groups], %[groups], #1\n\tst1 {v0.4s-v3.4s}, [%[s]], #64\n\tb.ne 1b\n\t"
               "st1 {v20.4s-v23.4s}, [%[lanes]]\n\t"
               : [s] "+&r"(s), [groups] "+&r"(groups)
               : [top] "r"(top), [lanes] "r"(lanes), [coefficients] "r"(&kNeonPolynomials.expm1),
                 [factors] "r"(&kExpFactors)
               : "v29", INGOT_EXP_CLOBBERS);
}

/// lanes = the greater of lanes and s, for `groups` (one or more) of sixteen; s + mask is s first
/// where there is a mask, and `hidden` where the mask says that. Where there is NaN it is greatest.
/// Which zero is greater makes no difference to exponentials.
template <bool masks>
INGOT_INLINE void neon_maxima(float* s, const float* mask, int64_t groups, const float* hidden,
                              float* lanes) {
#define INGOT_MAXIMA(masked)                                                                   \
  asm volatile("ld1 {v20.4s-v23.4s}, [%[lanes]]\n\tld1r {v29.4s}, [%[hidden]]\n\t"             \
               "1: " masked                                                                    \
               "subs %[groups], %[groups], #1\n\t"                                             \
               INGOT_THREE("fmax", INGOT_SUM, INGOT_SUM, INGOT_X) "b.ne 1b\n\t"                \
               "st1 {v20.4s-v23.4s}, [%[lanes]]\n\t"                                           \
               : [s] "+&r"(s), [mask] "+&r"(mask), [groups] "+&r"(groups)                      \
               : [hidden] "r"(hidden), [lanes] "r"(lanes)                                      \
               : "v29", INGOT_EXP_CLOBBERS)
  if constexpr (masks)
    INGOT_MAXIMA("ld1 {v0.4s-v3.4s}, [%[s]]\n\tld1 {v4.4s-v7.4s}, [%[mask]], #64\n\t"
                 INGOT_THREE("fadd", INGOT_X, INGOT_X, INGOT_W)
                 INGOT_THREE("fcmeq", INGOT_A, INGOT_W, INGOT_SAME(29))
                 INGOT_THREE_BITS("bit", INGOT_X, INGOT_SAME(29), INGOT_A)
                 "st1 {v0.4s-v3.4s}, [%[s]], #64\n\t");
  else
    INGOT_MAXIMA("ld1 {v0.4s-v3.4s}, [%[s]], #64\n\t");
#undef INGOT_MAXIMA
}
// clang-format on

}  // namespace
}  // namespace ingot::cpu
