// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv2d/depthwise3_neon.inl - depthwise windows of 3x3 on 64-bit Arm: four pixels of a
// row by sixteen channels in registers, from the biases to the store.
//
//   v0  .. v15   sums: pixel i has v4i .. v4i+3
//   v16 .. v27   the three taps of a row of the window
//   v28 .. v31   a column: 16 channels of one input pixel, used by up to three sums
//
// One instruction loads 16 channels of a pixel or of a tap and moves on to the next. Order and
// edges are those of depthwise.inl: the same bits. One asm statement, as gemm/tile_neon.inl.
#pragma once
#include "kernels/cpu/conv2d/direct.inl"

namespace ingot::cpu {
namespace {

/// Rows of a window and what its tiles share. Strides in bytes.
struct DepthwiseWindow {
  const float* const* lines;  // column 0 of each input row
  int64_t rows;               // >= 1
  const float* taps;          // of the first row
  int64_t tap_stride, pixel_stride;
  const float* bias;
  const float* limits;  // low and high, or null
  int64_t lowers;       // 0: the upper one is infinite
  int64_t out_stride;
};

// clang-format off
#define INGOT_TAPS(s0, s1, s2, s3, t0, t1, t2, t3)                                     \
  "fmla v" #s0 ".4s, v28.4s, v" #t0 ".4s\n\tfmla v" #s1 ".4s, v29.4s, v" #t1 ".4s\n\t" \
  "fmla v" #s2 ".4s, v30.4s, v" #t2 ".4s\n\tfmla v" #s3 ".4s, v31.4s, v" #t3 ".4s\n\t"
// The column in v28 .. v31 times a tap, for pixel 0, 1, 2 or 3.
#define INGOT_TAP_0(t0, t1, t2, t3) INGOT_TAPS(0, 1, 2, 3, t0, t1, t2, t3)
#define INGOT_TAP_1(t0, t1, t2, t3) INGOT_TAPS(4, 5, 6, 7, t0, t1, t2, t3)
#define INGOT_TAP_2(t0, t1, t2, t3) INGOT_TAPS(8, 9, 10, 11, t0, t1, t2, t3)
#define INGOT_TAP_3(t0, t1, t2, t3) INGOT_TAPS(12, 13, 14, 15, t0, t1, t2, t3)
#define INGOT_FIRST(pixel) INGOT_TAP_##pixel(16, 17, 18, 19)
#define INGOT_MIDDLE(pixel) INGOT_TAP_##pixel(20, 21, 22, 23)
#define INGOT_LAST(pixel) INGOT_TAP_##pixel(24, 25, 26, 27)
#define INGOT_COLUMN "ld1 {v28.4s-v31.4s}, [x10], %[pixel]\n\t"
#define INGOT_ZERO_COLUMN \
  "movi v28.4s, #0\n\tmovi v29.4s, #0\n\tmovi v30.4s, #0\n\tmovi v31.4s, #0\n\t"
// Columns between the first and the last one of four pixels, by stride.
#define INGOT_INNER_1                                         \
  INGOT_COLUMN INGOT_MIDDLE(0) INGOT_FIRST(1)                 \
  INGOT_COLUMN INGOT_LAST(0) INGOT_MIDDLE(1) INGOT_FIRST(2)   \
  INGOT_COLUMN INGOT_LAST(1) INGOT_MIDDLE(2) INGOT_FIRST(3)   \
  INGOT_COLUMN INGOT_LAST(2) INGOT_MIDDLE(3)
#define INGOT_INNER_2                                         \
  INGOT_COLUMN INGOT_MIDDLE(0)                                \
  INGOT_COLUMN INGOT_LAST(0) INGOT_FIRST(1)                   \
  INGOT_COLUMN INGOT_MIDDLE(1)                                \
  INGOT_COLUMN INGOT_LAST(1) INGOT_FIRST(2)                   \
  INGOT_COLUMN INGOT_MIDDLE(2)                                \
  INGOT_COLUMN INGOT_LAST(2) INGOT_FIRST(3)                   \
  INGOT_COLUMN INGOT_MIDDLE(3)
#define INGOT_WINDOW(stride)                                                                 \
  asm volatile(                                                                              \
      INGOT_BIAS_4                                                                           \
      "1: ldr x10, [%[lines]], #8\n\t"                                                       \
      "ld1 {v16.4s-v19.4s}, [%[taps]], %[tap_stride]\n\t"                                    \
      "ld1 {v20.4s-v23.4s}, [%[taps]], %[tap_stride]\n\t"                                    \
      "ld1 {v24.4s-v27.4s}, [%[taps]], %[tap_stride]\n\t"                                    \
      "add x10, x10, %[first]\n\t"                                                           \
      "cbnz %[left], 4f\n\t" INGOT_COLUMN                                                    \
      "2: " INGOT_FIRST(0) INGOT_INNER_##stride                                              \
      "cbnz %[right], 5f\n\t" INGOT_COLUMN                                                   \
      "3: subs %[rows], %[rows], #1\n\t" INGOT_LAST(3)                                       \
      "b.ne 1b\n\t"                                                                          \
      "cbz %[limits], 6f\n\t" INGOT_LIMITS_4                                                 \
      "b 6f\n\t"                                                                             \
      "4: " INGOT_ZERO_COLUMN "add x10, x10, %[pixel]\n\t"                                   \
      "b 2b\n\t"                                                                             \
      "5: " INGOT_ZERO_COLUMN "b 3b\n\t"                                                     \
      "6: 8: st1 {v0.4s-v3.4s}, [%[out]], %[out_stride]\n\t"                                 \
      "st1 {v4.4s-v7.4s}, [%[out]], %[out_stride]\n\t"                                       \
      "st1 {v8.4s-v11.4s}, [%[out]], %[out_stride]\n\t"                                      \
      "st1 {v12.4s-v15.4s}, [%[out]]\n\t"                                                    \
      : [lines] "+&r"(lines), [rows] "+&r"(rows), [taps] "+&r"(taps), [out] "+&r"(out)       \
      : [first] "r"(first), [left] "r"(left), [right] "r"(right), [bias] "r"(n.bias),        \
        [tap_stride] "r"(n.tap_stride), [pixel] "r"(n.pixel_stride), [limits] "r"(n.limits), \
        [lowers] "r"(n.lowers), [out_stride] "r"(n.out_stride)                               \
      : INGOT_CLOBBERS)
// clang-format on

/// Four pixels whose windows begin `first` bytes from column 0. left, right: their first or their
/// last column is outside of the image.
template <int stride>
INGOT_INLINE void depthwise_window(const DepthwiseWindow& n, int64_t first, int64_t left,
                                   int64_t right, float* out) {
  static_assert(stride == 1 || stride == 2, "strides that there are");
  const float* const* lines = n.lines;
  const float* taps = n.taps;
  int64_t rows = n.rows;
  if constexpr (stride == 1)
    INGOT_WINDOW(1);
  else
    INGOT_WINDOW(2);
}

/// A row of sixteen channels: four pixels at a time, the last ones again where some are left.
template <int stride>
void depthwise_window_row(const DepthwiseWindow& n, int64_t pad, int64_t w, float* out,
                          int64_t out_w) {
  for (int64_t x = 0; x < out_w; x += 4) {
    x = min_of(x, out_w - 4);
    const int64_t first = x * stride - pad;
    depthwise_window<stride>(n, first * n.pixel_stride, first < 0, first + 3 * stride + 2 >= w,
                             out + x * (n.out_stride / 4));
  }
}

/// Whether rows of the job are made so: windows leave the image by one column at most, and each has
/// a row inside.
inline bool depthwise_window_takes(const ConvJob& j) {
  const Conv2dAttributes& t = *j.t;
  return t.kernel_h == 3 && t.kernel_w == 3 && t.stride_w <= 2 && t.dilation_h == 1 &&
         t.dilation_w == 1 && t.pad_left <= 1 && t.pad_right <= 1 && t.pad_top <= 2 &&
         t.pad_bottom <= 2 && j.in.h > 0 && j.out.w >= 4 && !j.residual && j.epilogue->in_registers;
}

/// Sixteen channels of an output row.
inline void depthwise3_row_neon(const ConvJob& j, int64_t y, int64_t channel) {
  const Conv2dAttributes& t = *j.t;
  const int64_t top = y * t.stride_h - t.pad_top;
  const float* lines[3];
  int64_t begin = 3, rows = 0;
  for (int64_t k = 0; k < 3; k++) {
    const int64_t at = top + k;
    if (at < 0 || at >= j.in.h) continue;
    begin = min_of(begin, k);
    lines[rows++] = j.in.row(at) + channel;
  }
  DepthwiseWindow n;
  n.lines = lines, n.rows = rows, n.tap_stride = round_up(j.out.c, kPanel) * 4;
  n.taps = j.weights + begin * 3 * n.tap_stride / 4 + channel;
  n.pixel_stride = j.in.pixel_stride * 4, n.out_stride = j.out.pixel_stride * 4;
  n.bias = j.bias ? j.bias + channel : kZeros;
  n.limits = j.epilogue->clamps ? &j.epilogue->low : nullptr;
  n.lowers = j.epilogue->high != __builtin_inff();
  float* out = j.out.row(y) + channel;
  if (t.stride_w == 1)
    depthwise_window_row<1>(n, t.pad_left, j.in.w, out, j.out.w);
  else
    depthwise_window_row<2>(n, t.pad_left, j.in.w, out, j.out.w);
}

}  // namespace
}  // namespace ingot::cpu
