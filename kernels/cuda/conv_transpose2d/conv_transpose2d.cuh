// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv_transpose2d/conv_transpose2d.cuh - transposed convolutions, gathered at the
// output: a thread has four channels of four pixels of a row that are a stride apart, so that the
// same taps reach them and a weight is loaded once for four.
// Order    as kernels/cpu/conv_transpose2d: from the bias, taps upward; rows outside the image
//          are left out, columns outside are zeros.
#pragma once
#include "kernels/cuda/conv2d/conv2d_rows.cuh"
#include "kernels/cuda/conv_transpose2d/conv_transpose2d_params.h"
#include "kernels/cuda/device/f16.cuh"

namespace ingot::cuda {

/// Quotient rounded down.
GPU_FN int64_t floor_quotient(int64_t a, int64_t b) {
  return a >= 0 ? quotient(a, b) : -quotient(-a + b - 1, b);
}

/// Four channels of weight k. A quad of channels does not leave its panel.
GPU_FN Quad load_weights(const ConvTransposeParams& p, const float* w, int64_t lanes) {
  if (p.vector_w) return *reinterpret_cast<const Quad*>(w);  // panels are padded
  Quad q = {};
  INGOT_UNROLL for (int i = 0; i < 4; i++) if (i < lanes) q.v[i] = w[i * p.lane_stride];
  return q;
}

template <bool kF16>
GPU_FN void transposed_window(const ConvTransposeParams& p) {
  constexpr int R = kTransposePixels;
  const int64_t quads = (p.outputs + 3) / 4, phases = p.stride_w < p.ow ? p.stride_w : p.ow;
  const int64_t across = (p.ow + p.stride_w - 1) / p.stride_w, runs = (across + R - 1) / R;
  for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    int64_t rest = i;
    const auto take = [&](int64_t extent) {
      const int64_t outer = quotient(rest, extent), own = rest - outer * extent;
      rest = outer;
      return own;
    };
    const int64_t o = take(quads) * 4, group = take(p.groups), phase = take(phases),
                  first = take(runs) * R, oy = take(p.oh), n = rest;
    const int64_t channel = group * p.outputs + o, lanes = p.outputs - o;
    const float* w = p.w + group * p.w_group + o / 16 * p.panel_stride + o % 16 * p.lane_stride;
    const int64_t image = n * p.h * p.width * p.x_stride + group * p.c;
    const Quad start = p.bias ? load_quad(p.bias + channel, lanes, false) : Quad{};
    Quad sums[R];
    INGOT_UNROLL for (int r = 0; r < R; r++) sums[r] = start;
    for (int64_t ky = 0; ky < p.kernel_h; ky++) {
      const int64_t y = oy + p.pad_top - ky * p.dilation_h, iy = floor_quotient(y, p.stride_h);
      if (iy < 0 || iy >= p.h || iy * p.stride_h != y) continue;
      for (int64_t kx = 0; kx < p.kernel_w; kx++) {
        const int64_t x = phase + p.pad_left - kx * p.dilation_w,
                      column = floor_quotient(x, p.stride_w);
        if (column * p.stride_w != x) continue;
        const int64_t from = image + (iy * p.width + column + first) * p.x_stride;
        const float* weights = w + (ky * p.kernel_w + kx) * p.c * p.step;
        bool inside[R];
        INGOT_UNROLL for (int r = 0; r < R; r++) inside[r] =
            column + first + r >= 0 && column + first + r < p.width;
        GPU_UNROLL_BY(2)
        for (int64_t c = 0; c < p.c; c++) {
          const Quad tap = load_weights(p, weights + c * p.step, lanes);
          INGOT_UNROLL for (int r = 0; r < R; r++) {
            const float v = inside[r] ? load_float(p.x, from + r * p.x_stride + c, kF16) : 0.0f;
            INGOT_UNROLL for (int k = 0; k < 4; k++) sums[r].v[k] =
                V::fma(v, tap.v[k], sums[r].v[k]);
          }
        }
      }
    }
    GPU_ROLLED
    for (int r = 0; r < R; r++) {
      const int64_t ox = phase + (first + r) * p.stride_w;
      if (ox >= p.ow) break;
      Quad sum = sums[0];
      INGOT_UNROLL for (int k = 1; k < R; k++) if (r == k) sum = sums[k];
      store_four(p.y, ((n * p.oh + oy) * p.ow + ox) * p.y_stride + channel, p.y_f16, lanes,
                 p.vector_y, activate_quad(p.epilogue, sum));
    }
  }
}
INGOT_GPU_KERNEL_BLOCKS(conv_transpose, ConvTransposeParams, 128, 4) {
  transposed_window<false>(p);
}
INGOT_GPU_KERNEL_BLOCKS(conv_transpose_f16, ConvTransposeParams, 128, 4) {
  transposed_window<true>(p);
}

}  // namespace ingot::cuda
