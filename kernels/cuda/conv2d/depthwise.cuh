// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/depthwise.cuh - one filter a channel: a thread has four channels of a few
// neighbouring pixels of a row.
// Order  as kernels/cpu/conv2d/depthwise.inl: from the bias, rows inside the image only, all
//        columns of the window, zero outside.
#pragma once
#include "kernels/cuda/conv2d/conv2d_rows.cuh"
#include "kernels/cuda/conv2d/depthwise_params.h"
#include "kernels/cuda/device/f16.cuh"

namespace ingot::cuda {

/// What one thread computes: pixels x .. of output row `row` of the batch, channels c .. c + 3.
struct DepthwiseItem {
  int64_t n, oy, x, c, lanes;
  GPU_FN DepthwiseItem of(const DepthwiseParams& p, int64_t i, int64_t pixels) {
    const int64_t quads = (p.c + 3) / 4, across = (p.ow + pixels - 1) / pixels;
    const int64_t rest = quotient(i, quads), row = quotient(rest, across), n = quotient(row, p.oh);
    const int64_t c = (i - rest * quads) * 4;
    return {n, row - n * p.oh, (rest - row * across) * pixels, c, p.c - c};
  }
};

GPU_FN Quad fma_quads(const Quad& a, const Quad& b, Quad c) {
  INGOT_UNROLL for (int i = 0; i < 4; i++) c.v[i] = V::fma(a.v[i], b.v[i], c.v[i]);
  return c;
}

GPU_FN void finish_pixel(const DepthwiseParams& p, const DepthwiseItem& item, int64_t x,
                         const Quad& sum) {
  const int64_t pixel = (item.n * p.oh + item.oy) * p.ow + x;
  Quad v = sum, residual = {};
  if (p.residual) {
    residual = load_four<Quad>(p.residual, pixel * p.residual_stride + item.c, p.residual_f16,
                               item.lanes, p.vector_y);
    if (p.epilogue.residual_first) v = add_quads(v, residual);
  }
  v = activate_quad(p.epilogue, v);
  if (p.residual && !p.epilogue.residual_first) v = add_quads(v, residual);
  store_four(p.y, pixel * p.y_stride + item.c, p.y_f16, item.lanes, p.vector_y, v);
}

/// Four channels of x from element `at` on.
template <bool kF16>
GPU_FN Quad load_window(const DepthwiseParams& p, const DepthwiseItem& item, int64_t at) {
  if constexpr (!kF16) return load_quad(p.x + at, item.lanes, p.vector_x);
  const FourFloats x = load_f16s(p.x, at, item.lanes, p.vector_x);
  return {{x.x[0], x.x[1], x.x[2], x.x[3]}};
}

/// K x K windows without horizontal dilation, horizontal stride S: sums of R pixels of a row from x
/// on, channels c .. + 3. A column is loaded once for all of them.
template <int K, int S, int R, bool kF16 = false>
GPU_FN void depthwise_sums(const DepthwiseParams& p, const DepthwiseItem& item, Quad (&sums)[R]) {
  const Quad bias = p.bias ? *reinterpret_cast<const Quad*>(p.bias + item.c) : Quad{};
  INGOT_UNROLL for (int r = 0; r < R; r++) sums[r] = bias;
  const int64_t left = item.x * S - p.pad_left;
  const int64_t image = item.n * p.h * p.width * p.x_stride + item.c;
  GPU_ROLLED
  for (int ky = 0; ky < K; ky++) {
    const int64_t iy = item.oy * p.stride_h - p.pad_top + ky * p.dilation_h;
    if (iy < 0 || iy >= p.h) continue;
    Quad taps[K];
    INGOT_UNROLL for (int k = 0; k < K; k++) taps[k] =
        *reinterpret_cast<const Quad*>(p.w + (ky * K + k) * p.tap_stride + item.c);
    const int64_t row = image + iy * p.width * p.x_stride;
    INGOT_UNROLL for (int column = 0; column < (R - 1) * S + K; column++) {
      const int64_t ix = left + column;
      const bool inside = ix >= 0 && ix < p.width;
      const Quad v = inside ? load_window<kF16>(p, item, row + ix * p.x_stride) : Quad{};
      INGOT_UNROLL for (int k = 0; k < K;
                        k++) if (column >= k && (column - k) % S == 0 && (column - k) / S < R)
          sums[(column - k) / S] = fma_quads(v, taps[k], sums[(column - k) / S]);
    }
  }
}

/// R pixels a thread.
template <int K, int S, int R, bool kF16 = false>
GPU_FN void depthwise_line(const DepthwiseParams& p) {
  for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    const DepthwiseItem item = DepthwiseItem::of(p, i, R);
    Quad sums[R];
    depthwise_sums<K, S, R, kF16>(p, item, sums);
    GPU_ROLLED
    for (int r = 0; r < R; r++) {
      if (item.x + r >= p.ow) break;
      Quad sum = sums[0];
      INGOT_UNROLL for (int k = 1; k < R; k++) if (r == k) sum = sums[k];
      finish_pixel(p, item, item.x + r, sum);
    }
  }
}

INGOT_GPU_KERNEL_BLOCKS(depthwise_3x3, DepthwiseParams, 128, 4) { depthwise_line<3, 1, 4>(p); }
INGOT_GPU_KERNEL(depthwise_3x3_stride2, DepthwiseParams, 128) { depthwise_line<3, 2, 4>(p); }
INGOT_GPU_KERNEL(depthwise_5x5, DepthwiseParams, 128) { depthwise_line<5, 1, 4>(p); }
INGOT_GPU_KERNEL(depthwise_5x5_stride2, DepthwiseParams, 128) { depthwise_line<5, 2, 4>(p); }

INGOT_GPU_KERNEL_BLOCKS(depthwise_f16_3x3, DepthwiseParams, 128, 4) {
  depthwise_line<3, 1, 4, true>(p);
}
INGOT_GPU_KERNEL(depthwise_f16_3x3_stride2, DepthwiseParams, 128) {
  depthwise_line<3, 2, 4, true>(p);
}
INGOT_GPU_KERNEL(depthwise_f16_5x5, DepthwiseParams, 128) { depthwise_line<5, 1, 4, true>(p); }
INGOT_GPU_KERNEL(depthwise_f16_5x5_stride2, DepthwiseParams, 128) {
  depthwise_line<5, 2, 4, true>(p);
}

/// One pixel a thread, any window.
template <bool kF16>
GPU_FN void depthwise_pixel(const DepthwiseParams& p) {
  for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    const DepthwiseItem item = DepthwiseItem::of(p, i, 1);
    Quad sum = p.bias ? load_quad(p.bias + item.c, 4, false) : Quad{};
    const int64_t image = item.n * p.h * p.width * p.x_stride + item.c;
    for (int64_t ky = 0; ky < p.kernel_h; ky++) {
      const int64_t iy = item.oy * p.stride_h - p.pad_top + ky * p.dilation_h;
      if (iy < 0 || iy >= p.h) continue;
      for (int64_t kx = 0; kx < p.kernel_w; kx++) {
        const int64_t ix = item.x * p.stride_w - p.pad_left + kx * p.dilation_w;
        const bool inside = ix >= 0 && ix < p.width;
        const Quad v =
            inside ? load_window<kF16>(p, item, image + (iy * p.width + ix) * p.x_stride) : Quad{};
        sum = fma_quads(
            v, load_quad(p.w + (ky * p.kernel_w + kx) * p.tap_stride + item.c, 4, false), sum);
      }
    }
    finish_pixel(p, item, item.x, sum);
  }
}
INGOT_GPU_KERNEL(depthwise_any, DepthwiseParams, 128) { depthwise_pixel<false>(p); }
INGOT_GPU_KERNEL(depthwise_f16_any, DepthwiseParams, 128) { depthwise_pixel<true>(p); }

}  // namespace ingot::cuda
