// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/half_bf16.inl - products of halves by BFMMLA on 64-bit Arm with FEAT_BF16:
// register tiles of eight pixels (or four) by eight outputs, half a panel.
//
//   v0  .. v7    pairs of pixels, of two steps of four channels
//   v8  .. v15   pairs of columns, of two steps
//   v16 .. v31   sums: pixels 2p, 2p+1 times columns 2q, 2q+1 are v(16+4p+q)
//
// A step is sixteen instructions of sixteen products and two that load, since both operands lie as
// they are read: [k / 4][pixel or column][4]. Sums are f32 from the bias on, which is how far f32
// goes, so nothing is checked nor computed again. One asm statement, as half_f16.inl has it.
#pragma once
#include "kernels/cpu/gemm/half_gemm.inl"

namespace ingot::cpu {
namespace {

// clang-format off
#define INGOT_BF16_MULTIPLY(sum, a, b) "bfmmla v" #sum ".4s, v" #a ".8h, v" #b ".8h\n\t"
// Two pixels by the columns in v`b0` .. v`b3`.
#define INGOT_BF16_PAIR(s0, s1, s2, s3, a, b0, b1, b2, b3)                      \
  INGOT_BF16_MULTIPLY(s0, a, b0) INGOT_BF16_MULTIPLY(s1, a, b1)                 \
  INGOT_BF16_MULTIPLY(s2, a, b2) INGOT_BF16_MULTIPLY(s3, a, b3)
#define INGOT_BF16_STEP_4(a0, a1, b0, b1, b2, b3)                               \
  INGOT_BF16_PAIR(16, 17, 18, 19, a0, b0, b1, b2, b3)                           \
  INGOT_BF16_PAIR(20, 21, 22, 23, a1, b0, b1, b2, b3)
#define INGOT_BF16_STEP_8(a0, a1, a2, a3, b0, b1, b2, b3)                       \
  INGOT_BF16_STEP_4(a0, a1, b0, b1, b2, b3)                                     \
  INGOT_BF16_PAIR(24, 25, 26, 27, a2, b0, b1, b2, b3)                           \
  INGOT_BF16_PAIR(28, 29, 30, 31, a3, b0, b1, b2, b3)
// Eight channels.
#define INGOT_BF16_COLUMNS                                                      \
  "ld1 {v8.8h-v11.8h}, [x9], #64\n\tld1 {v12.8h-v15.8h}, [x9], #64\n\t"
#define INGOT_BF16_GROUP_4                                                      \
  "ld1 {v0.8h-v3.8h}, [x14], #64\n\t" INGOT_BF16_COLUMNS                        \
  INGOT_BF16_STEP_4(0, 1, 8, 9, 10, 11) INGOT_BF16_STEP_4(2, 3, 12, 13, 14, 15)
#define INGOT_BF16_GROUP_8                                                      \
  "ld1 {v0.8h-v3.8h}, [x14], #64\n\tld1 {v4.8h-v7.8h}, [x14], #64\n\t"          \
  INGOT_BF16_COLUMNS                                                            \
  INGOT_BF16_STEP_8(0, 1, 2, 3, 8, 9, 10, 11)                                   \
  INGOT_BF16_STEP_8(4, 5, 6, 7, 12, 13, 14, 15)

#define INGOT_BF16_COPY(s0, s1, s2, s3)                                         \
  "mov v" #s0 ".16b, v16.16b\n\tmov v" #s1 ".16b, v17.16b\n\t"                  \
  "mov v" #s2 ".16b, v18.16b\n\tmov v" #s3 ".16b, v19.16b\n\t"
#define INGOT_BF16_BIAS_4                                                       \
  "ld1r {v16.2d}, [x10], #8\n\tld1r {v17.2d}, [x10], #8\n\t"                    \
  "ld1r {v18.2d}, [x10], #8\n\tld1r {v19.2d}, [x10], #8\n\t"                    \
  INGOT_BF16_COPY(20, 21, 22, 23)
#define INGOT_BF16_BIAS_8                                                       \
  INGOT_BF16_BIAS_4 INGOT_BF16_COPY(24, 25, 26, 27) INGOT_BF16_COPY(28, 29, 30, 31)

// Two pixels, each with its columns one behind the other: in v0, v1 and v2, v3.
#define INGOT_BF16_TURN(s0, s1, s2, s3)                                                    \
  "zip1 v0.2d, v" #s0 ".2d, v" #s1 ".2d\n\tzip1 v1.2d, v" #s2 ".2d, v" #s3 ".2d\n\t"       \
  "zip2 v2.2d, v" #s0 ".2d, v" #s1 ".2d\n\tzip2 v3.2d, v" #s2 ".2d, v" #s3 ".2d\n\t"
#define INGOT_BF16_ADD                                                                     \
  "ld1 {v4.4s, v5.4s}, [x13], %[residual_stride]\n\t"                                      \
  "ld1 {v6.4s, v7.4s}, [x13], %[residual_stride]\n\t"                                      \
  "fadd v0.4s, v0.4s, v4.4s\n\tfadd v1.4s, v1.4s, v5.4s\n\t"                               \
  "fadd v2.4s, v2.4s, v6.4s\n\tfadd v3.4s, v3.4s, v7.4s\n\t"
#define INGOT_BF16_LIMIT(op, limit)                                                        \
  op " v0.4s, v0.4s, v" #limit ".4s\n\t" op " v1.4s, v1.4s, v" #limit ".4s\n\t"            \
  op " v2.4s, v2.4s, v" #limit ".4s\n\t" op " v3.4s, v3.4s, v" #limit ".4s\n\t"
#define INGOT_BF16_STORE                                                                   \
  "st1 {v0.4s, v1.4s}, [x12], %[out_stride]\n\tst1 {v2.4s, v3.4s}, [x12], %[out_stride]\n\t"
#define INGOT_BF16_LOWER INGOT_BF16_LIMIT("fmax", 8) INGOT_BF16_STORE
#define INGOT_BF16_BOTH INGOT_BF16_LIMIT("fmin", 9) INGOT_BF16_LOWER
#define INGOT_BF16_EACH_4(then)                                                 \
  INGOT_BF16_TURN(16, 17, 18, 19) then INGOT_BF16_TURN(20, 21, 22, 23) then
#define INGOT_BF16_EACH_8(then) INGOT_BF16_EACH_4(then)                         \
  INGOT_BF16_TURN(24, 25, 26, 27) then INGOT_BF16_TURN(28, 29, 30, 31) then

// Of a tile and eight columns: x9: columns, x10: biases, x11: eights left, x12: output, x13:
// residual, x14: pixels, x15: groups left.
#define INGOT_BF16_TILES(n)                                                                    \
  asm volatile(                                                                                \
      "0: mov x9, %[b]\n\tmov x10, %[bias]\n\tmov x11, %[eights]\n\t"                          \
      "mov x12, %[out]\n\tmov x13, %[residual]\n\t"                                            \
      "1: mov x14, %[a]\n\tmov x15, %[groups]\n\t" INGOT_BF16_BIAS_##n                         \
      "2: " INGOT_BF16_GROUP_##n "subs x15, x15, #1\n\tb.ne 2b\n\t"                            \
      "cbnz %[limits], 4f\n\tcbnz %[residual], 3f\n\t"                                         \
      INGOT_BF16_EACH_##n(INGOT_BF16_STORE) "b 7f\n\t"                                         \
      "3: " INGOT_BF16_EACH_##n(INGOT_BF16_ADD INGOT_BF16_STORE) "b 7f\n\t"                    \
      "4: ld2r {v8.4s, v9.4s}, [%[limits]]\n\t"                                                \
      "cbnz %[lowers], 5f\n\tcbnz %[residual], 4f\n\t"                                         \
      INGOT_BF16_EACH_##n(INGOT_BF16_LOWER) "b 7f\n\t"                                         \
      "4: " INGOT_BF16_EACH_##n(INGOT_BF16_ADD INGOT_BF16_LOWER) "b 7f\n\t"                    \
      "5: cbnz %[residual], 6f\n\t"                                                            \
      INGOT_BF16_EACH_##n(INGOT_BF16_BOTH) "b 7f\n\t"                                          \
      "6: " INGOT_BF16_EACH_##n(INGOT_BF16_ADD INGOT_BF16_BOTH)                                \
      "7: subs x11, x11, #1\n\tb.eq 8f\n\t"                                                    \
      "add x12, %[out], #32\n\tadd x13, %[residual], #32\n\tb 1b\n\t"                          \
      "8: mov %[a], x14\n\tadd %[out], %[out], %[out_step]\n\t"                                \
      "cbz %[residual], 9f\n\tadd %[residual], %[residual], %[residual_step]\n\t"              \
      "9: subs %[tiles], %[tiles], #1\n\tb.ne 0b\n\t"                                          \
      : [a] "+&r"(a), [out] "+&r"(out), [residual] "+&r"(residual), [tiles] "+&r"(tiles)       \
      : [b] "r"(t.b), [bias] "r"(t.bias), [groups] "r"(t.groups), [limits] "r"(t.limits),      \
        [lowers] "r"(lowers), [eights] "r"(t.eights), [out_stride] "r"(out_stride),            \
        [residual_stride] "r"(residual_stride), [out_step] "r"(n * out_stride),                \
        [residual_step] "r"(n * residual_stride)                                               \
      : "x9", "x10", "x11", "x12", "x13", "x14", "x15", "v0", "v1", "v2", "v3", "v4", "v5",    \
        "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", \
        "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",    \
        "v31", "cc", "memory")

/// Parameters: half_tiles() of half_f16.inl.
template <int n>
__attribute__((noinline)) void bf16_tiles(const HalfTile& t, int64_t tiles, const uint16_t* a,
                                          float* out, int64_t out_stride, const float* residual,
                                          int64_t residual_stride) {
  const int64_t lowers = t.limits && t.limits[1] != __builtin_inff();
  if constexpr (n == 8)
    INGOT_BF16_TILES(8);
  else
    INGOT_BF16_TILES(4);
}
// clang-format on

/// `count` times 16 channels of a row in a tile of n, whose groups of four lie 8 n bytes apart.
/// Both as asm: as narrow_apart() of half_f16.inl.
INGOT_INLINE void round_channels(const float* from, int64_t count, int64_t n, uint16_t* to) {
  asm volatile(
      "0: ld1 {v0.4s-v3.4s}, [%[from]], #64\n\t"
      "subs %[count], %[count], #1\n\t"
      "bfcvtn v4.4h, v0.4s\n\tbfcvtn v5.4h, v1.4s\n\t"
      "bfcvtn v6.4h, v2.4s\n\tbfcvtn v7.4h, v3.4s\n\t"
      "st1 {v4.4h}, [%[to]], %[step]\n\tst1 {v5.4h}, [%[to]], %[step]\n\t"
      "st1 {v6.4h}, [%[to]], %[step]\n\tst1 {v7.4h}, [%[to]], %[step]\n\t"
      "b.ne 0b\n\t"
      : [from] "+&r"(from), [to] "+&r"(to), [count] "+&r"(count)
      : [step] "r"(n * 8)
      : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "cc", "memory");
}
/// `count` times four rows of a panel, whose halves lie at `to` and `second`.
INGOT_INLINE void round_rows(const float* from, int64_t count, uint16_t* to, uint16_t* second) {
  asm volatile(
      "0: ld1 {v0.4s-v3.4s}, [%[from]], #64\n\tld1 {v4.4s-v7.4s}, [%[from]], #64\n\t"
      "ld1 {v16.4s-v19.4s}, [%[from]], #64\n\tld1 {v20.4s-v23.4s}, [%[from]], #64\n\t"
      "subs %[count], %[count], #1\n\t"
      "bfcvtn v24.4h, v0.4s\n\tbfcvtn v25.4h, v4.4s\n\t"
      "bfcvtn v26.4h, v16.4s\n\tbfcvtn v27.4h, v20.4s\n\t"
      "bfcvtn v28.4h, v2.4s\n\tbfcvtn v29.4h, v6.4s\n\t"
      "bfcvtn v30.4h, v18.4s\n\tbfcvtn v31.4h, v22.4s\n\t"
      "bfcvtn2 v24.8h, v1.4s\n\tbfcvtn2 v25.8h, v5.4s\n\t"
      "bfcvtn2 v26.8h, v17.4s\n\tbfcvtn2 v27.8h, v21.4s\n\t"
      "bfcvtn2 v28.8h, v3.4s\n\tbfcvtn2 v29.8h, v7.4s\n\t"
      "bfcvtn2 v30.8h, v19.4s\n\tbfcvtn2 v31.8h, v23.4s\n\t"
      "st4 {v24.8h-v27.8h}, [%[to]], #64\n\tst4 {v28.8h-v31.8h}, [%[second]], #64\n\t"
      "b.ne 0b\n\t"
      : [from] "+&r"(from), [to] "+&r"(to), [second] "+&r"(second), [count] "+&r"(count)
      :
      : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21",
        "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}

/// Rows of a tile lie as [k / 4][row][4], panels as [2][k / 4][8][4].
struct Bf16Format {
  static constexpr ReducedPrecision kPrecision = ReducedPrecision::kBf16;
  static constexpr bool pays(int64_t, int64_t, int64_t, int64_t) { return true; }
  static constexpr bool may_run() { return true; }
  static constexpr bool kTakesBf16Weights = false;
  static constexpr int64_t kTogether = 4;

  INGOT_INLINE static void put(float32x4_t low, float32x4_t high, int64_t n, uint16_t* to) {
    vst1_u16(to, vreinterpret_u16_bf16(vcvt_bf16_f32(low)));
    vst1_u16(to + 4 * n, vreinterpret_u16_bf16(vcvt_bf16_f32(high)));
  }
  INGOT_INLINE static void put_pairs(const float* from, int64_t pairs, int64_t n, uint16_t* to) {
    round_channels(from, pairs, n, to);
  }
  INGOT_INLINE static uint16_t* put_panel(const float* from, int64_t rows, int64_t padding,
                                          int64_t k, uint16_t* to) {
    constexpr int64_t kHalf = kPanel / 2;
    if (rows > 3) round_rows(from, rows / 4, to, to + k * kHalf);
    from += rows / 4 * 4 * kPanel, to += rows / 4 * 4 * kHalf;
    if (const int64_t left = rows % 4) {
      float last[4 * kPanel] = {};
      std::memcpy(last, from, size_t(left * kPanel) * sizeof(float));
      round_rows(last, 1, to, to + k * kHalf);
      to += 4 * kHalf, padding -= 4 - left;
    }
    std::memset(to, 0, size_t(padding * kHalf) * 2);
    std::memset(to + k * kHalf, 0, size_t(padding * kHalf) * 2);
    return to + padding * kHalf;
  }
  template <int n>
  INGOT_INLINE static int64_t tiles(const HalfTile& t, int64_t count, const uint16_t* a, float* out,
                                    int64_t out_stride, const float* residual,
                                    int64_t residual_stride) {
    bf16_tiles<n>(t, count, a, out, out_stride, residual, residual_stride);
    return 0;  // every sum is what f32 has
  }
};

}  // namespace
}  // namespace ingot::cpu
