// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/winograd.cuh - F(4x4, 3x3): the transforms on both sides of 36 products, a
// channel of a tile a thread.
// Order  kernels/cpu/conv2d/winograd.inl, whose transforms these are.
#pragma once
#include "kernels/cuda/conv2d/conv2d_rows.cuh"
#include "kernels/cuda/conv2d/winograd_params.h"
// Below lane.h.
#include "kernels/cpu/conv2d/winograd_transform.inl"

namespace ingot::cuda {

INGOT_GPU_KERNEL(winograd_input, WinogradInputParams, 128) {
  for (int64_t i = grid_thread(); i < p.count * p.c; i += grid_threads()) {
    const int64_t t = quotient(i, p.c), c = i - t * p.c;
    const int64_t n = quotient(p.first + t, p.tiles), tile = p.first + t - n * p.tiles,
                  row = quotient(tile, p.tiles_w);
    const int64_t y = row * 4 - p.pad_top, x = (tile - row * p.tiles_w) * 4 - p.pad_left;
    const float* image = p.x + n * p.h * p.width * p.x_stride + c;
    float half[6][6], d[6], r[6];
    INGOT_UNROLL for (int k = 0; k < 6; k++) {
      INGOT_UNROLL for (int j = 0; j < 6; j++) {
        const bool inside = y + j >= 0 && y + j < p.h && x + k >= 0 && x + k < p.width;
        d[j] = inside ? image[((y + j) * p.width + x + k) * p.x_stride] : 0.0f;
      }
      cpu::input_transform<V>(d, r);
      INGOT_UNROLL for (int j = 0; j < 6; j++) half[j][k] = r[j];
    }
    float* v = p.v + t * p.v_row + c;
    INGOT_UNROLL for (int j = 0; j < 6; j++) {
      cpu::input_transform<V>(half[j], r);
      INGOT_UNROLL for (int k = 0; k < 6; k++) v[(j * 6 + k) * p.v_plane] = r[k];
    }
  }
}

INGOT_GPU_KERNEL(winograd_output, WinogradOutputParams, 128) {
  for (int64_t i = grid_thread(); i < p.count * p.o; i += grid_threads()) {
    const int64_t t = quotient(i, p.o), o = i - t * p.o;
    const int64_t n = quotient(p.first + t, p.tiles), tile = p.first + t - n * p.tiles,
                  row = quotient(tile, p.tiles_w);
    const int64_t y = row * 4, x = (tile - row * p.tiles_w) * 4;
    const float* m = p.m + t * p.m_row + o;
    float half[4][6], d[6], r[4];
    INGOT_UNROLL for (int k = 0; k < 6; k++) {
      INGOT_UNROLL for (int j = 0; j < 6; j++) d[j] = m[(j * 6 + k) * p.m_plane];
      cpu::output_transform<V>(d, r);
      INGOT_UNROLL for (int j = 0; j < 4; j++) half[j][k] = r[j];
    }
    const float bias = p.bias ? p.bias[o] : 0.0f;
    INGOT_UNROLL for (int j = 0; j < 4; j++) {
      if (y + j >= p.oh) break;
      cpu::output_transform<V>(half[j], r);
      INGOT_UNROLL for (int k = 0; k < 4; k++) {
        if (x + k >= p.ow) break;
        const int64_t pixel = (n * p.oh + y + j) * p.ow + x + k;
        finish_quad(p.epilogue, {{r[k] + bias}},
                    p.residual ? p.residual + pixel * p.residual_stride + o : nullptr,
                    p.y + pixel * p.y_stride + o, 1, false);
      }
    }
  }
}

}  // namespace ingot::cuda
