// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/half_job.inl - products of halves: rows times panels, where both are rounded on
// the way into the scratch. Rows are what lies there, or windows of images: the sum of an output is
// over (tap, channel) either way. How it is cut, and in which order it is added:
// runtime/op/half_products.h. half_gemm.inl multiplies them on 64-bit Arm, pairs_gemm.inl on x86.
// Every Format has
//   kPrecision                 attributes that ask for it
//   pays(taps, c, o, rows)     whether it is quicker than f32, where half_products::takes() it
//   may_run()                  whether the system lets it; asked when a kernel is chosen
//   kTakesBf16Weights          whether weights may be bf16
#pragma once
#include "kernels/cpu/gemm/gemm.inl"
#include "runtime/op/half_products.h"

namespace ingot::cpu {
namespace {

/// Images that windows read; strides in elements. With ring > 0 rows lie in slots as those of
/// conv2d/band.inl.
struct HalfImages {
  const float* at = nullptr;
  int64_t h = 0, w = 0, pixel_stride = 0, row_stride = 0, image_stride = 0, ring = 0, origin = 0;
  const float* row(int64_t image, int64_t y) const {
    return at + image * image_stride + (ring ? (y - origin) % ring : y) * row_stride;
  }
};

struct HalfJob {
  const Conv2dAttributes* windows = nullptr;  // null: rows as they lie at a
  HalfImages in;
  int64_t oh = 1, ow = 1;
  const float* a = nullptr;  // of row `first`
  int64_t a_stride = 0;
  int64_t taps = 1, c = 0;
  half_products::Blocks blocks;
  const void* weights = nullptr;  // panels16 [.][tap][channel][16]
  bool has_bf16_weights = false;  // of bf16; else of f32
  const float* bias = nullptr;    // vector16 or null
  // Output and residual (or null) of row `first`; those behind it lie behind it.
  float* out = nullptr;
  const float* residual = nullptr;
  int64_t first = 0, out_stride = 0, o = 0;
  const Epilogue* epilogue = nullptr;
  char* scratch = nullptr;

  float* out_at(int64_t row) const { return out + (row - first) * out_stride; }
  const float* residual_at(int64_t row) const {
    return residual ? residual + (row - first) * epilogue->residual_stride : nullptr;
  }
};

/// Calls f(channels) for each tap of a row: where they lie, or null outside of the image.
template <class F>
INGOT_INLINE void for_taps(const HalfJob& j, int64_t row, F f) {
  if (!j.windows) return f(j.a + (row - j.first) * j.a_stride);
  const Conv2dAttributes& t = *j.windows;
  const int64_t line = row / j.ow, x = (row - line * j.ow) * t.stride_w - t.pad_left,
                image = line / j.oh, y = (line - image * j.oh) * t.stride_h - t.pad_top;
  for (int64_t ky = 0; ky < t.kernel_h; ky++) {
    const int64_t iy = y + ky * t.dilation_h;
    const bool is_inside = iy >= 0 && iy < j.in.h;
    const float* const from = is_inside ? j.in.row(image, iy) : nullptr;
    for (int64_t kx = 0; kx < t.kernel_w; kx++) {
      const int64_t ix = x + kx * t.dilation_w;
      f(is_inside && ix >= 0 && ix < j.in.w ? from + ix * j.in.pixel_stride : nullptr);
    }
  }
}

/// Rows [rows) times panels [panels).
template <class Format>
void half_gemm(const HalfJob& j, Range rows, Range panels);

/// The whole product, divided among the team.
template <class Format>
void half_gemm_team(const HalfJob& j, int64_t rows, const Team& team);

}  // namespace
}  // namespace ingot::cpu
