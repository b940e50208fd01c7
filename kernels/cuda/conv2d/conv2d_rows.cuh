// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/conv2d_rows.cuh - k-tiles of a convolution: windows of pixels by (ky, kx, c)
// without im2col, zeros outside the image; and k-tiles of weight panels.
#pragma once
#include "kernels/cuda/conv2d/conv2d_params.h"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/gemm/tile.cuh"

namespace ingot::cuda {

/// Quotient of numbers that are nearly always small.
GPU_FN int64_t quotient(int64_t n, int64_t d) {
  return uint64_t(n | d) >> 32 ? n / d : int64_t(uint32_t(n) / uint32_t(d));
}

/// Where in the window the summand k lies.
struct WindowStep {
  int c, kx, ky;
  GPU_FN WindowStep first(const WindowParams& t, int k) {
    WindowStep s = {0, 0, 0};
    s.advance(t, k);
    return s;
  }
  INGOT_INLINE void advance(const WindowParams& t, int k) {
    c += k;
    GPU_ROLLED
    while (c >= t.c) {
      c -= t.c;
      if (++kx == t.kernel_w) kx = 0, ky++;
    }
  }
};

/// The window of one output pixel: its corner, and whether a tap of it is inside.
struct WindowCorner {
  int64_t at;  // elements from x; may lie outside
  int y, x;
  GPU_FN WindowCorner of(const ConvParams& p, int64_t pixel) {
    const WindowParams& t = p.window;
    if (pixel >= p.pixels) return {0, INT32_MIN, 0};  // no tap is inside
    const int64_t n = quotient(pixel, p.plane), rest = pixel - n * p.plane,
                  row = quotient(rest, t.ow);
    const int y = int(row) * t.stride_h - t.pad_top,
              x = int(rest - row * t.ow) * t.stride_w - t.pad_left;
    return {n * p.image_stride + y * p.row_stride + x * p.pixel_stride, y, x};
  }
  INGOT_INLINE bool has(const WindowParams& t, int dy, int dx) const {
    return unsigned(y + dy) < unsigned(t.h) && unsigned(x + dx) < unsigned(t.w);
  }
};

/// Copies quads of channels (kVector: c, strides and addresses are multiples of four elements) or
/// single elements. A thread keeps its pixels; it walks along k. Quads: neighbouring threads are
/// neighbouring quads of a pixel. Elements: eight neighbouring pixels by four k, which no two banks
/// share.
template <class T, bool kVector>
struct ConvRows {
  static constexpr int kQuads = T::kDepth / 4;
  static constexpr int kPixelStep = kVector ? T::kThreads / kQuads : T::kThreads / 4,
                       kOwn = T::kPixels / kPixelStep;
  static_assert(T::kThreads % kQuads == 0 && T::kPixels % kPixelStep == 0, "");
  const ConvParams& p;
  const float* x;
  int pixel, k;  // the first that this thread copies
  WindowStep step;
  WindowCorner corners[kOwn];

  INGOT_INLINE ConvRows(const ConvParams& params, const float* image, int64_t first_pixel)
      : p(params), x(image) {
    const int t = int(threadIdx.x);
    pixel = kVector ? t / kQuads : t % 8 + t / 32 * 8;
    k = kVector ? t % kQuads * 4 : t / 8 % 4;
    step = WindowStep::first(p.window, k);
    INGOT_UNROLL for (int i = 0; i < kOwn; i++) corners[i] =
        WindowCorner::of(p, first_pixel + pixel + i * kPixelStep);
  }
  INGOT_INLINE void copy(float* a) {
    const WindowParams& t = p.window;
    constexpr int kSteps = kVector ? 1 : T::kDepth / 4;
    GPU_UNROLL_BY(2)  // whole, CUDA 11.8 spills for sm_87
    for (int s = 0; s < kSteps; s++) {
      const int dy = step.ky * t.dilation_h, dx = step.kx * t.dilation_w;
      const int64_t tap = dy * p.row_stride + dx * p.pixel_stride + step.c * p.channel_stride;
      const bool ends = step.ky >= t.kernel_h;
      INGOT_UNROLL for (int i = 0; i < kOwn; i++) {
        const WindowCorner& corner = corners[i];
        const bool valid = !ends && corner.has(t, dy, dx);
        const float* from = x + (valid ? corner.at + tap : 0);
        float* to = a + (pixel + i * kPixelStep) * T::kPitchA + k + s * 4;
        if constexpr (kVector)
          copy_async16(to, from, valid);
        else
          copy_async4(to, from, valid);
      }
      step.advance(t, kVector ? T::kDepth : 4);
    }
  }
};

/// Panels [k][16] side by side.
template <class T>
struct PanelColumns {
  const float* w;  // the first panel of the block
  int64_t panel_stride;
  int panels;  // of the block that exist
  INGOT_INLINE PanelColumns(const float* first, int64_t stride, int64_t outputs)
      : w(first),
        panel_stride(stride),
        panels(outputs > T::kChannels ? T::kChannels / 16 : int(outputs + 15) / 16) {}
  /// The k-tile from first_k on, of which the first `count` exist.
  INGOT_INLINE void copy(float* b, int64_t first_k, int count) const {
    constexpr int kQuads = T::kDepth * T::kChannels / 4;
    static_assert(kQuads % T::kThreads == 0 || kQuads < T::kThreads, "");
    INGOT_UNROLL for (int i = 0; i < kQuads; i += T::kThreads) {
      const int q = i + int(threadIdx.x);
      if (kQuads < T::kThreads && q >= kQuads) break;
      const int lane = q % 4 * 4, row = q / 4 % T::kDepth, panel = q / (4 * T::kDepth);
      const bool valid = panel < panels && row < count;
      const float* from = w + (valid ? panel * panel_stride + first_k * 16 + (row * 16 + lane) : 0);
      copy_async16(b + row * T::kPitchB + panel * 16 + lane, from, valid);
    }
  }
};

}  // namespace ingot::cuda
