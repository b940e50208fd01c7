// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/depthwise.cuh - QuantizedConv2d with one filter a channel: a thread has
// four channels of four neighbouring pixels, so that a word of weights is read once for sixteen
// products. Contract: runtime/op/quantized_conv2d.h.
#pragma once
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/quantized/finish.cuh"

namespace ingot::cuda {

/// Zero points of four channels' weights.
struct WeightZeros {
  int32_t of[4];
};
GPU_FN WeightZeros weight_zeros(const QuantizedFinish& f, int64_t c) {
  WeightZeros zeros;
  INGOT_UNROLL for (int e = 0; e < 4; e++) zeros.of[e] = weight_zero(f, c + e);
  return zeros;
}

INGOT_GPU_KERNEL(quantized_depthwise, QuantizedDepthwiseParams, 128) {
  constexpr int kPixels = kDepthwisePixels;
  GPU_ROLLED for (int64_t item = grid_thread(); item < p.count; item += grid_threads()) {
    uint64_t rest = uint64_t(item);
    const int64_t c = int64_t(take_remainder(&rest, p.quads)) * 4,
                  first = int64_t(take_remainder(&rest, p.across)) * kPixels;
    const int64_t row = int64_t(rest), oy = int64_t(take_remainder(&rest, p.height)),
                  image = int64_t(rest);
    const WeightZeros zeros = weight_zeros(p.finish, c);
    const ImageQuantParams steps = quant_params_of(p.finish, image);
    const uint32_t border = p.finish.steps ? uint32_t(steps.zero) * 0x01010101u : p.border;
    int32_t sums[kPixels][4] = {};
    GPU_ROLLED for (int64_t ky = 0; ky < p.t.kernel_h; ky++) {
      const int64_t iy = oy * p.t.stride_h + ky * p.t.dilation_h - p.t.pad_top;
      const bool has_row = iy >= 0 && iy < p.in_h;
      const uint8_t* line = p.x + (image * p.in_h + (has_row ? iy : 0)) * p.in_w * p.x_pixel + c;
      GPU_ROLLED for (int64_t kx = 0; kx < p.t.kernel_w; kx++) {
        const uint32_t w =
            *reinterpret_cast<const uint32_t*>(p.w + (ky * p.t.kernel_w + kx) * p.tap_stride + c);
        INGOT_UNROLL for (int r = 0; r < kPixels; r++) {
          const int64_t ix = (first + r) * p.t.stride_w + kx * p.t.dilation_w - p.t.pad_left;
          const bool inside = has_row && ix >= 0 && ix < p.in_w;
          const uint32_t x =
              inside ? *reinterpret_cast<const uint32_t*>(line + ix * p.x_pixel) : border;
          INGOT_UNROLL for (int e = 0; e < 4; e++) sums[r][e] +=
              int32_t(uint8_t(x >> 8 * e)) * (int8_t(uint8_t(w >> 8 * e)) - zeros.of[e]);
        }
      }
    }
    GPU_ROLLED for (int r = 0; r < kPixels && first + r < p.width; r++) {
      const int64_t to = (row * p.width + first + r) * p.finish.y_pixel + c;
      FourNumbers four;
      INGOT_UNROLL for (int e = 0; e < 4; e++) {
        int32_t sum = sums[0][e];
        INGOT_UNROLL for (int k = 1; k < kPixels; k++) if (r == k) sum = sums[k][e];
        four.put(p.finish, steps, c, e, {sum, 0}, to);
      }
      four.store(p.finish, 4, to);
    }
  }
}

}  // namespace ingot::cuda
