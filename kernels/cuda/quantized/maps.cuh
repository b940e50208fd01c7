// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/maps.cuh - operators of integers that are no products, an element a
// thread. Contracts: runtime/op/quantize.h, lookup.h, quantized_elementwise.h, quantized_pool2d.h.
#pragma once
#include "kernels/cpu/quantized/requantize_one.inl"
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/quantized/numbers.cuh"

namespace ingot::cuda {

GPU_FN int32_t load_step(DType type, const void* x, int64_t at) {
  switch (type) {
    case DType::kU8: return static_cast<const uint8_t*>(x)[at];
    case DType::kI8: return static_cast<const int8_t*>(x)[at];
    case DType::kU16: return static_cast<const uint16_t*>(x)[at];
    case DType::kI16: return static_cast<const int16_t*>(x)[at];
    default: return static_cast<const int32_t*>(x)[at];
  }
}
GPU_FN void store_step(DType type, void* y, int64_t at, int32_t number) {
  switch (type) {
    case DType::kU8:
    case DType::kI8: static_cast<uint8_t*>(y)[at] = uint8_t(number); return;
    case DType::kU16:
    case DType::kI16: static_cast<uint16_t*>(y)[at] = uint16_t(number); return;
    default: static_cast<int32_t*>(y)[at] = number; return;
  }
}

GPU_FN int32_t quantized(const QuantizedMapParams& p, float x) {
  const float quotient = p.reciprocal ? x * p.scale : x / p.scale,
              number = quotient != quotient ? 0.0f : quotient,
              step = V::max(V::min(number, p.high), p.low);
  return V::to_int(p.away ? round_away(step) : V::round(step)) + p.zero;
}

INGOT_GPU_KERNEL(quantized_map, QuantizedMapParams, 256) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t row = uint64_t(i);
    const int64_t column = int64_t(take_remainder(&row, p.columns));
    const int64_t from = int64_t(row) * p.x_row + column, to = int64_t(row) * p.y_row + column;
    if (p.map == QuantizedMap::kQuantize) {
      store_step(p.y_type, p.y, to, quantized(p, static_cast<const float*>(p.x)[from]));
    } else if (p.map == QuantizedMap::kDequantize) {
      const int64_t steps = int64_t(load_step(p.x_type, p.x, from)) - p.zero;
      static_cast<float*>(p.y)[to] = float(steps) * p.scale;
    } else {
      const bool words = p.x_type == DType::kI16;
      const int32_t at = load_quantized(p.x, from, words);
      store_step(p.y_type, p.y, to, load_step(p.y_type, p.table, at));
    }
  }
}

/// The result less its zero point.
GPU_FN int64_t binary_step(const QuantizedElementwiseAttributes& t, int shift, int32_t a,
                           int32_t b) {
  const bool is_sub = t.function == QuantizedFunction::kSub;
  if (t.requant == RequantMode::kFloatEven) {
    if (t.function == QuantizedFunction::kMul) return V::to_int_nearest(float(a * b) * t.scale);
    const int64_t second = int64_t(b) * t.b_multiplier;
    return (int64_t(a) * t.a_multiplier + (is_sub ? -second : second) +
            (int64_t{1} << (t.y_shift - 1))) >>
           t.y_shift;
  }
  int32_t sum = a * b;
  if (t.function != QuantizedFunction::kMul) {
    const int32_t first =
                      cpu::requantize_fixed(t.requant, a * (1 << shift), t.a_multiplier, t.a_shift),
                  second =
                      cpu::requantize_fixed(t.requant, b * (1 << shift), t.b_multiplier, t.b_shift);
    sum = is_sub ? first - second : first + second;
  }
  return cpu::requantize_fixed(t.requant, sum, t.y_multiplier, t.y_shift);
}

INGOT_GPU_KERNEL(quantized_binary, QuantizedBinaryParams, 256) {
  const int shift = p.words ? 15 : 20;
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i);
    int64_t a = 0, b = 0, y = 0;
    GPU_ROLLED for (int64_t d = p.rank - 1; d >= 0; d--) {
      const int64_t at = int64_t(take_remainder(&rest, p.dims[d]));
      a += at * p.a_strides[d], b += at * p.b_strides[d], y += at * p.y_strides[d];
    }
    const int64_t step =
        binary_step(p.t, shift, load_quantized(p.a, a, p.words) - int32_t(p.t.a_zero),
                    load_quantized(p.b, b, p.words) - int32_t(p.t.b_zero));
    store_quantized(p.y, y, p.words, limited_number(step, p.t.y_zero, p.t.low, p.t.high));
  }
}

INGOT_GPU_KERNEL(quantized_pool2d, QuantizedPoolParams, 128) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i);
    const int64_t channel = int64_t(take_remainder(&rest, p.channels)), pixel = int64_t(rest);
    const int64_t ox = int64_t(take_remainder(&rest, p.width)),
                  oy = int64_t(take_remainder(&rest, p.height)), image = int64_t(rest);
    int64_t most = 0, sum = 0, taps = 0;
    GPU_ROLLED for (int64_t ky = 0; ky < p.t.kernel_h; ky++)
        GPU_ROLLED for (int64_t kx = 0; kx < p.t.kernel_w; kx++) {
      const int64_t iy = oy * p.t.stride_h - p.t.pad_top + ky * p.t.dilation_h,
                    ix = ox * p.t.stride_w - p.t.pad_left + kx * p.t.dilation_w;
      if (iy < 0 || iy >= p.in_h || ix < 0 || ix >= p.in_w) continue;
      const int64_t from = ((image * p.in_h + iy) * p.in_w + ix) * p.x_pixel + channel,
                    number = load_quantized(p.x, from, p.words);
      most = number > most ? number : most;
      sum += number - int64_t(p.t.offset);
      taps++;
    }
    const int64_t n = taps > 0 ? taps : 1,
                  mean = (sum > 0 ? sum + n / 2 : sum - n / 2) / n + int64_t(p.t.offset);
    const int64_t number = p.t.kind == PoolKind::kMax ? most : mean;
    store_quantized(p.y, pixel * p.y_pixel + channel, p.words,
                    limited_number(number, 0, p.t.low, p.t.high));
  }
}

}  // namespace ingot::cuda
