// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/half_f16.inl - products of halves by f16 arithmetic: register tiles of eight
// pixels (or four) by one panel of 16 outputs in f16 on 64-bit Arm with FEAT_FP16.
//
//   v0  .. v7    eight channels of each pixel: a lane is multiplied
//   v8  .. v15   columns of the panel, of four steps
//   v16 .. v31   sums of a run: pixel i has v16+2i and v17+2i
//
// Eight steps of eight pixels are 128 products of eight numbers and six loads, since pixels lie
// packed as they are read: [k / 8][pixel][8]. The sums of a run (runtime/op/half_products.h) are
// widened and added to those before it, which lie in L1; the first run is added to the biases. What
// is not finite stops the tiles before it is stored. One asm statement, as tile_neon.inl has it.
#pragma once
#include "kernels/cpu/gemm/half_gemm.inl"

namespace ingot::cpu {
namespace {

// clang-format off
// A step of a pixel, whose channels are in v`a`: its lane times a column in v`c0` and v`c1`.
#define INGOT_HALF_PIXEL(op, s0, s1, c0, c1, a, lane)          \
  op " v" #s0 ".8h, v" #c0 ".8h, v" #a ".h[" #lane "]\n\t"     \
  op " v" #s1 ".8h, v" #c1 ".8h, v" #a ".h[" #lane "]\n\t"
#define INGOT_HALF_STEP_4(op, c0, c1, lane)                                                     \
  INGOT_HALF_PIXEL(op, 16, 17, c0, c1, 0, lane) INGOT_HALF_PIXEL(op, 18, 19, c0, c1, 1, lane)   \
  INGOT_HALF_PIXEL(op, 20, 21, c0, c1, 2, lane) INGOT_HALF_PIXEL(op, 22, 23, c0, c1, 3, lane)
#define INGOT_HALF_STEP_8(op, c0, c1, lane) INGOT_HALF_STEP_4(op, c0, c1, lane)                 \
  INGOT_HALF_PIXEL(op, 24, 25, c0, c1, 4, lane) INGOT_HALF_PIXEL(op, 26, 27, c0, c1, 5, lane)   \
  INGOT_HALF_PIXEL(op, 28, 29, c0, c1, 6, lane) INGOT_HALF_PIXEL(op, 30, 31, c0, c1, 7, lane)
#define INGOT_HALF_PIXELS_4 "ld1 {v0.8h-v3.8h}, [%[a]], #64\n\t"
#define INGOT_HALF_PIXELS_8 INGOT_HALF_PIXELS_4 "ld1 {v4.8h-v7.8h}, [%[a]], #64\n\t"
#define INGOT_HALF_EVEN "ld1 {v8.8h-v11.8h}, [x9], #64\n\t"
#define INGOT_HALF_ODD "ld1 {v12.8h-v15.8h}, [x9], #64\n\t"

// Eight steps, the first by `op`; `count` is an instruction for the loop around them.
#define INGOT_HALF_GROUP(n, op, count)                                             \
  INGOT_HALF_EVEN INGOT_HALF_PIXELS_##n INGOT_HALF_ODD                             \
  INGOT_HALF_STEP_##n(op, 8, 9, 0) INGOT_HALF_STEP_##n("fmla", 10, 11, 1)          \
  INGOT_HALF_EVEN                                                                  \
  INGOT_HALF_STEP_##n("fmla", 12, 13, 2) INGOT_HALF_STEP_##n("fmla", 14, 15, 3)    \
  INGOT_HALF_ODD                                                                   \
  INGOT_HALF_STEP_##n("fmla", 8, 9, 4) INGOT_HALF_STEP_##n("fmla", 10, 11, 5)      \
  INGOT_HALF_STEP_##n("fmla", 12, 13, 6) count INGOT_HALF_STEP_##n("fmla", 14, 15, 7)

// x14: not zero where all sums are finite. So is their sum, unless it leaves the range: then tiles
// stop for nothing.
#define INGOT_HALF_SUM(to, a, b) "fadd v" #to ".8h, v" #a ".8h, v" #b ".8h\n\t"
#define INGOT_HALF_FINITE_4                                                       \
  INGOT_HALF_SUM(0, 16, 17) INGOT_HALF_SUM(1, 18, 19) INGOT_HALF_SUM(2, 20, 21)   \
  INGOT_HALF_SUM(3, 22, 23) INGOT_HALF_SUM(0, 0, 1) INGOT_HALF_SUM(2, 2, 3)       \
  INGOT_HALF_SUM(0, 0, 2)
#define INGOT_HALF_FINITE_8 INGOT_HALF_FINITE_4                                   \
  INGOT_HALF_SUM(4, 24, 25) INGOT_HALF_SUM(5, 26, 27) INGOT_HALF_SUM(6, 28, 29)   \
  INGOT_HALF_SUM(7, 30, 31) INGOT_HALF_SUM(4, 4, 5) INGOT_HALF_SUM(6, 6, 7)       \
  INGOT_HALF_SUM(4, 4, 6) INGOT_HALF_SUM(0, 0, 4)
#define INGOT_HALF_CHECK(n)                                                      \
  INGOT_HALF_FINITE_##n                                                          \
  "fsub v0.8h, v0.8h, v0.8h\n\tfcmeq v0.8h, v0.8h, #0.0\n\tuminv h0, v0.8h\n\t"  \
  "umov w14, v0.h[0]\n\tcbz w14, 9f\n\t8: "

// The sums of a pixel in v`s0` and v`s1` and what lies at x12, in v`f0` .. v`f3`.
#define INGOT_HALF_WIDEN(s0, s1, f0, f1, f2, f3)                                     \
  "ld1 {v" #f0 ".4s-v" #f3 ".4s}, [x12], x13\n\t"                                    \
  "fcvtl v4.4s, v" #s0 ".4h\n\tfcvtl2 v5.4s, v" #s0 ".8h\n\t"                        \
  "fcvtl v6.4s, v" #s1 ".4h\n\tfcvtl2 v7.4s, v" #s1 ".8h\n\t"                        \
  "fadd v" #f0 ".4s, v" #f0 ".4s, v4.4s\n\tfadd v" #f1 ".4s, v" #f1 ".4s, v5.4s\n\t" \
  "fadd v" #f2 ".4s, v" #f2 ".4s, v6.4s\n\tfadd v" #f3 ".4s, v" #f3 ".4s, v7.4s\n\t"
#define INGOT_HALF_KEEP(f0, f1, f2, f3) "st1 {v" #f0 ".4s-v" #f3 ".4s}, [x14], #64\n\t"
#define INGOT_HALF_STORE(f0, f1, f2, f3) \
  "st1 {v" #f0 ".4s-v" #f3 ".4s}, [%[out]], %[out_stride]\n\t"
#define INGOT_HALF_LIMIT(op, limit, f0, f1, f2, f3)                                     \
  op " v" #f0 ".4s, v" #f0 ".4s, v" #limit ".4s\n\t"                                    \
  op " v" #f1 ".4s, v" #f1 ".4s, v" #limit ".4s\n\t"                                    \
  op " v" #f2 ".4s, v" #f2 ".4s, v" #limit ".4s\n\t"                                    \
  op " v" #f3 ".4s, v" #f3 ".4s, v" #limit ".4s\n\t"
#define INGOT_HALF_LOWER(f0, f1, f2, f3) \
  INGOT_HALF_LIMIT("fmax", 12, f0, f1, f2, f3) INGOT_HALF_STORE(f0, f1, f2, f3)
#define INGOT_HALF_BOTH(f0, f1, f2, f3)                                                \
  INGOT_HALF_LIMIT("fmin", 13, f0, f1, f2, f3) INGOT_HALF_LIMIT("fmax", 12, f0, f1, f2, f3) \
  INGOT_HALF_STORE(f0, f1, f2, f3)
#define INGOT_HALF_ADD(f0, f1, f2, f3)                                                \
  "ld1 {v4.4s-v7.4s}, [%[residual]], %[residual_stride]\n\t"                          \
  "fadd v" #f0 ".4s, v" #f0 ".4s, v4.4s\n\tfadd v" #f1 ".4s, v" #f1 ".4s, v5.4s\n\t"  \
  "fadd v" #f2 ".4s, v" #f2 ".4s, v6.4s\n\tfadd v" #f3 ".4s, v" #f3 ".4s, v7.4s\n\t"
#define INGOT_HALF_ADD_STORE(f0, f1, f2, f3) \
  INGOT_HALF_ADD(f0, f1, f2, f3) INGOT_HALF_STORE(f0, f1, f2, f3)
#define INGOT_HALF_ADD_LOWER(f0, f1, f2, f3) \
  INGOT_HALF_ADD(f0, f1, f2, f3) INGOT_HALF_LOWER(f0, f1, f2, f3)
#define INGOT_HALF_ADD_BOTH(f0, f1, f2, f3) \
  INGOT_HALF_ADD(f0, f1, f2, f3) INGOT_HALF_BOTH(f0, f1, f2, f3)
#define INGOT_HALF_PAIR(s0, s1, t0, t1, then)                              \
  INGOT_HALF_WIDEN(s0, s1, 0, 1, 2, 3) then(0, 1, 2, 3)                    \
  INGOT_HALF_WIDEN(t0, t1, 8, 9, 10, 11) then(8, 9, 10, 11)
#define INGOT_HALF_EACH_4(then) \
  INGOT_HALF_PAIR(16, 17, 18, 19, then) INGOT_HALF_PAIR(20, 21, 22, 23, then)
#define INGOT_HALF_EACH_8(then) INGOT_HALF_EACH_4(then) \
  INGOT_HALF_PAIR(24, 25, 26, 27, then) INGOT_HALF_PAIR(28, 29, 30, 31, then)

// x9: columns, x10: runs left, x11: groups left, x12: sums so far and x13 their stride, x14: groups
// of a run left.
#define INGOT_HALF_TILES(n)                                                                    \
  asm volatile(                                                                                \
      "0: mov x9, %[b]\n\tmov x10, %[runs]\n\tmov x11, %[groups]\n\t"                          \
      "mov x12, %[bias]\n\tmov x13, #0\n\t"                                                    \
      "1: udiv x14, x11, x10\n\tsub x11, x11, x14\n\tsubs x14, x14, #1\n\t"                    \
      INGOT_HALF_GROUP(n, "fmul", "") "b.eq 3f\n\t"                                            \
      "2: " INGOT_HALF_GROUP(n, "fmla", "subs x14, x14, #1\n\t") "b.ne 2b\n\t"                 \
      "3: " INGOT_HALF_CHECK(n)                                                                \
      "subs x10, x10, #1\n\tb.eq 4f\n\t"                                                       \
      "mov x14, %[sums]\n\t" INGOT_HALF_EACH_##n(INGOT_HALF_KEEP)                              \
      "mov x12, %[sums]\n\tmov x13, #64\n\tb 1b\n\t"                                           \
      "4: cbnz %[limits], 5f\n\tcbnz %[residual], 6f\n\t"                                      \
      INGOT_HALF_EACH_##n(INGOT_HALF_STORE) "b 7f\n\t"                                         \
      "6: " INGOT_HALF_EACH_##n(INGOT_HALF_ADD_STORE) "b 7f\n\t"                               \
      "5: ld2r {v12.4s, v13.4s}, [%[limits]]\n\t"                                              \
      "cbnz %[lowers], 5f\n\tcbnz %[residual], 6f\n\t"                                         \
      INGOT_HALF_EACH_##n(INGOT_HALF_LOWER) "b 7f\n\t"                                         \
      "6: " INGOT_HALF_EACH_##n(INGOT_HALF_ADD_LOWER) "b 7f\n\t"                               \
      "5: cbnz %[residual], 6f\n\t"                                                            \
      INGOT_HALF_EACH_##n(INGOT_HALF_BOTH) "b 7f\n\t"                                          \
      "6: " INGOT_HALF_EACH_##n(INGOT_HALF_ADD_BOTH)                                           \
      "7: subs %[tiles], %[tiles], #1\n\tb.ne 0b\n\tb 10f\n\t"                                 \
      "9: cbz %[stops], 8b\n\t"                                                                \
      "10:\n\t"                                                                                \
      : [a] "+&r"(a), [out] "+&r"(out), [residual] "+&r"(residual), [tiles] "+&r"(tiles)       \
      : [b] "r"(t.b), [bias] "r"(t.bias), [sums] "r"(t.sums), [groups] "r"(t.groups),          \
        [runs] "r"(t.runs), [limits] "r"(t.limits), [lowers] "r"(lowers),                      \
        [stops] "r"(t.stops), [out_stride] "r"(out_stride),                                    \
        [residual_stride] "r"(residual_stride)                                                 \
      : "x9", "x10", "x11", "x12", "x13", "x14", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", \
        "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", \
        "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc",      \
        "memory")

/// `tiles` (one or more) of eight pixels, or four, packed one behind the other at a. Strides of
/// output and residual (or null) in bytes. Returns how many tiles are left: not 0 where the next
/// one has sums that are not finite, and nothing of it was stored.
template <int n>
__attribute__((noinline)) int64_t half_tiles(const HalfTile& t, int64_t tiles, const uint16_t* a,
                                             float* out, int64_t out_stride, const float* residual,
                                             int64_t residual_stride) {
  const int64_t lowers = t.limits && t.limits[1] != __builtin_inff();
  if constexpr (n == 8)
    INGOT_HALF_TILES(8);
  else
    INGOT_HALF_TILES(4);
  return tiles;
}
// clang-format on

INGOT_INLINE uint16x8_t round_to_f16(float32x4_t low, float32x4_t high) {
  return vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(low), high));
}

/// Both as asm: compilers move pointers by instructions of their own, which are a third of so short
/// a loop. `count` times 16 floats, as groups of eight that lie `stride` elements apart.
INGOT_INLINE void narrow_apart(const float* from, int64_t count, int64_t stride, uint16_t* to) {
  asm volatile(
      "0: ld1 {v0.4s-v3.4s}, [%[from]], #64\n\t"
      "subs %[count], %[count], #1\n\t"
      "fcvtn v4.4h, v0.4s\n\tfcvtn v5.4h, v2.4s\n\t"
      "fcvtn2 v4.8h, v1.4s\n\tfcvtn2 v5.8h, v3.4s\n\t"
      "st1 {v4.8h}, [%[to]], %[stride]\n\tst1 {v5.8h}, [%[to]], %[stride]\n\t"
      "b.ne 0b\n\t"
      : [from] "+&r"(from), [to] "+&r"(to), [count] "+&r"(count)
      : [stride] "r"(stride * 2)
      : "v0", "v1", "v2", "v3", "v4", "v5", "cc", "memory");
}
/// `count` times 32 floats, one behind the other.
INGOT_INLINE void narrow_dense(const float* from, int64_t count, uint16_t* to) {
  asm volatile(
      "0: ld1 {v0.4s-v3.4s}, [%[from]], #64\n\tld1 {v4.4s-v7.4s}, [%[from]], #64\n\t"
      "subs %[count], %[count], #1\n\t"
      "fcvtn v16.4h, v0.4s\n\tfcvtn v17.4h, v2.4s\n\t"
      "fcvtn v18.4h, v4.4s\n\tfcvtn v19.4h, v6.4s\n\t"
      "fcvtn2 v16.8h, v1.4s\n\tfcvtn2 v17.8h, v3.4s\n\t"
      "fcvtn2 v18.8h, v5.4s\n\tfcvtn2 v19.8h, v7.4s\n\t"
      "st1 {v16.8h-v19.8h}, [%[to]], #64\n\t"
      "b.ne 0b\n\t"
      : [from] "+&r"(from), [to] "+&r"(to), [count] "+&r"(count)
      :
      : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "cc", "memory");
}

/// Rows of a tile lie as [k / 8][row][8], panels as [k][16].
struct F16Format {
  static constexpr ReducedPrecision kPrecision = ReducedPrecision::kF16;
  static constexpr bool pays(int64_t, int64_t, int64_t, int64_t) { return true; }
  static constexpr bool may_run() { return true; }
  static constexpr bool kTakesBf16Weights = false;
  static constexpr int64_t kTogether = 8;

  INGOT_INLINE static void put(float32x4_t low, float32x4_t high, int64_t, uint16_t* to) {
    vst1q_u16(to, round_to_f16(low, high));
  }
  INGOT_INLINE static void put_pairs(const float* from, int64_t pairs, int64_t n, uint16_t* to) {
    narrow_apart(from, pairs, 8 * n, to);
  }
  INGOT_INLINE static uint16_t* put_panel(const float* from, int64_t rows, int64_t padding, int64_t,
                                          uint16_t* to) {
    if (rows > 1) narrow_dense(from, rows / 2, to);
    from += rows * kPanel, to += rows * kPanel;
    if (rows % 2) {
      put(vld1q_f32(from - 16), vld1q_f32(from - 12), 1, to - 16);
      put(vld1q_f32(from - 8), vld1q_f32(from - 4), 1, to - 8);
    }
    std::memset(to, 0, size_t(padding * kPanel) * 2);
    return to + padding * kPanel;
  }
  template <int n>
  INGOT_INLINE static int64_t tiles(const HalfTile& t, int64_t tiles, const uint16_t* a, float* out,
                                    int64_t out_stride, const float* residual,
                                    int64_t residual_stride) {
    return half_tiles<n>(t, tiles, a, out, out_stride, residual, residual_stride);
  }
};

}  // namespace
}  // namespace ingot::cpu
