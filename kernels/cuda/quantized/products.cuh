// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/products.cuh - QuantizedConv2d and QuantizedLinear, one output a thread:
// every shape, packing and mode. Sums are whole numbers, so their order decides no bit. Contract:
// runtime/op/quantized_conv2d.h, runtime/op/requantize.h.
#pragma once
#include "kernels/cuda/device/dot.cuh"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/quantized/finish.cuh"

namespace ingot::cuda {

/// Byte 0 of run r of output o; bytes of a run lie `next` apart, of panels in fours.
GPU_FN int64_t weight_at(const QuantizedProductParams& p, int64_t o, int64_t r, int64_t i) {
  if (p.packing == Packing::kPanels16x4)
    return (((o / 16 * p.runs + r) * ((p.length + 3) / 4) + i / 4) * 16 + o % 16) * 4 + i % 4;
  if (p.packing == Packing::kDepthwise16)
    return (r * p.length + i) * ((p.outputs.divisor + 15) / 16 * 16) + o;
  return (o * p.runs + r) * p.length + i;
}

/// One tap of the window: `depth` channels from `at` on, weights from byte i of run r.
template <bool kWords, class Sum>
GPU_FN void add_tap(const QuantizedProductParams& p, int64_t at, bool inside, int32_t outside,
                    int64_t o, int64_t r, int64_t i, ProductSums<Sum>* sums) {
  if constexpr (!kWords) {
    if (p.in_fours) {
      const uint32_t* x = reinterpret_cast<const uint32_t*>(static_cast<const uint8_t*>(p.x) + at);
      const uint32_t border = uint32_t(outside) * 0x01010101u;
      GPU_ROLLED for (int64_t c = 0; c < p.depth; c += 4) {
        const uint32_t numbers = inside ? x[c / 4] : border;
        const uint32_t weights =
            *reinterpret_cast<const uint32_t*>(p.w + weight_at(p, o, r, i + c));
        sums->products = Sum(dot4(numbers, weights, int32_t(sums->products)));
        sums->numbers = Sum(dot4(numbers, 0x01010101u, int32_t(sums->numbers)));
      }
      return;
    }
  }
  GPU_ROLLED for (int64_t c = 0; c < p.depth; c++) {
    const int32_t number = inside ? load_quantized(p.x, at + c, kWords) : outside;
    sums->products += Sum(int64_t(number) * p.w[weight_at(p, o, r, i + c)]);
    sums->numbers += Sum(number);
  }
}

/// Sums of one output -> an element of y.
template <bool kWords, class Sum>
GPU_FN void finish_product(const QuantizedFinish& f, const ImageQuantParams& steps, int64_t o,
                           const ProductSums<Sum>& sums, int64_t to) {
  if constexpr (kWords)
    store_quantized(f.y, to, true,
                    is_wide(f.requant) ? finish_wide_number(f, o, uint64_t(sums.products))
                                       : finish_number(f, o, sums));
  else if (f.requant == RequantMode::kToFloat)
    finish_float(f, steps, o, sums, to);
  else
    store_quantized(f.y, to, false, finish_number(f, o, sums));
}

/// `Sum`: modulo 2^32, of 16-bit numbers 2^64.
template <bool kWords, class Sum>
GPU_FN void quantized_product(const QuantizedProductParams& p) {
  GPU_ROLLED for (int64_t item = grid_thread(); item < p.count; item += grid_threads()) {
    uint64_t rest = uint64_t(item);
    const int64_t o = int64_t(take_remainder(&rest, p.outputs)), pixel = int64_t(rest);
    const int64_t ox = int64_t(take_remainder(&rest, p.width)),
                  oy = int64_t(take_remainder(&rest, p.height)), image = int64_t(rest);
    const int64_t first = int64_t(divide(uint64_t(o), p.group_outputs)) * p.depth;
    const ImageQuantParams steps = quant_params_of(p.finish, image);
    const int32_t outside =
        p.finish.requant == RequantMode::kToFloat ? steps.zero : int32_t(p.t.x_zero);
    ProductSums<Sum> sums = {0, 0};
    GPU_ROLLED for (int64_t ky = 0; ky < p.t.kernel_h; ky++)
        GPU_ROLLED for (int64_t kx = 0; kx < p.t.kernel_w; kx++) {
      const int64_t iy = oy * p.t.stride_h + ky * p.t.dilation_h - p.t.pad_top,
                    ix = ox * p.t.stride_w + kx * p.t.dilation_w - p.t.pad_left;
      const bool inside = iy >= 0 && iy < p.in_h && ix >= 0 && ix < p.in_w;
      const int64_t at = ((image * p.in_h + iy) * p.in_w + ix) * p.x_pixel + first;
      // A run is a row of the window, or one tap of it.
      const bool by_row = p.runs == p.t.kernel_h;
      add_tap<kWords>(p, inside ? at : 0, inside, outside, o, by_row ? ky : ky * p.t.kernel_w + kx,
                      by_row ? kx * p.depth : 0, &sums);
    }
    finish_product<kWords>(p.finish, steps, o, sums, pixel * p.finish.y_pixel + o);
  }
}

INGOT_GPU_KERNEL(quantized_product_u8, QuantizedProductParams, 128) {
  quantized_product<false, uint32_t>(p);
}
INGOT_GPU_KERNEL(quantized_product_i16, QuantizedProductParams, 128) {
  quantized_product<true, uint64_t>(p);
}

INGOT_GPU_KERNEL(quantized_matmul, QuantizedMatMulParams, 128) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i);
    const int64_t column = int64_t(take_remainder(&rest, p.n)), row = int64_t(rest),
                  batch = int64_t(divide(rest, p.m));
    const uint8_t* a = p.a + row * p.a_row;
    const int64_t b =
        p.t.trans_b ? (batch * p.n.divisor + column) * p.b_row : batch * p.k * p.b_row + column;
    const int64_t next = p.t.trans_b ? 1 : p.b_row;
    uint32_t sum = 0;
    GPU_ROLLED for (int64_t k = 0; k < p.k; k++) sum += uint32_t(
        (int32_t(a[k]) - int32_t(p.t.a_zero)) * (int32_t(p.b[b + k * next]) - int32_t(p.t.b_zero)));
    p.y[row * p.y_row + column] =
        uint8_t(limited_number(float_step(int32_t(sum), p.t.scale), p.t.y_zero, p.t.low, p.t.high));
  }
}

}  // namespace ingot::cuda
