// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/conv2d_each.cuh - convolutions that tiles do not suit, one output a thread;
// and panels made on the device.
#pragma once
#include "kernels/cuda/conv2d/conv2d_rows.cuh"

namespace ingot::cuda {

INGOT_GPU_KERNEL_BLOCKS(conv2d_each, ConvEachParams, 128, 6) {
  const int64_t all = p.groups * p.outputs;
  for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    const int64_t pixel = quotient(i, all), channel = i - pixel * all;
    const int64_t group = quotient(channel, p.outputs), o = channel - group * p.outputs;
    const int64_t row = quotient(pixel, p.ow), n = quotient(row, p.oh);
    const int64_t top = (row - n * p.oh) * p.stride_h - p.pad_top,
                  left = (pixel - row * p.ow) * p.stride_w - p.pad_left;
    const float* x = p.x + n * p.image_stride + group * p.c * p.channel_stride;
    const float* w = p.w + group * p.w_group + o / 16 * p.panel_stride + o % 16 * p.lane_stride;
    float sum = p.bias ? p.bias[channel] : 0.0f;
    for (int64_t ky = 0; ky < p.kernel_h; ky++)
      for (int64_t kx = 0; kx < p.kernel_w; kx++) {
        const int64_t iy = top + ky * p.dilation_h, ix = left + kx * p.dilation_w;
        const bool inside = iy >= 0 && iy < p.h && ix >= 0 && ix < p.width;
        const float* from = x + (inside ? iy * p.row_stride + ix * p.pixel_stride : 0);
        GPU_ROLLED  // else ptxas 13.0 spills for sm_100
        for (int64_t c = 0; c < p.c; c++, w += p.step)
          sum = V::fma(inside ? from[c * p.channel_stride] : 0.0f, *w, sum);
      }
    finish_quad(p.epilogue, {{sum}},
                p.residual ? p.residual + pixel * p.residual_stride + channel : nullptr,
                p.y + pixel * p.y_stride + channel, 1, false);
  }
}

INGOT_GPU_KERNEL(pack_panels, PackPanelsParams, 256) {
  const int64_t panels = (p.outputs + 15) / 16, rows = p.groups * panels * p.k;
  for (int64_t i = grid_thread(); i < rows * 16; i += grid_threads()) {
    const int64_t lane = i % 16, row = i / 16, panel = quotient(row, p.k),
                  group = quotient(panel, panels);
    const int64_t o = (panel - group * panels) * 16 + lane;
    p.to[i] = o < p.outputs ? p.from[(group * p.outputs + o) * p.k + (row - panel * p.k)] : 0.0f;
  }
}

}  // namespace ingot::cuda
