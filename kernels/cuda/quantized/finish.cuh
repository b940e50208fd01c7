// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/finish.cuh - from the sums of a product to an element of y. Contract:
// runtime/op/requantize.h.
#pragma once
#include "kernels/cpu/quantized/requantize_one.inl"
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/quantized/numbers.cuh"

namespace ingot::cuda {

/// What images, or rows, of x are quantized with.
struct ImageQuantParams {
  float scale;
  int32_t zero;
};
GPU_FN ImageQuantParams quant_params_of(const QuantizedFinish& f, int64_t image) {
  if (!f.steps) return {1, 0};
  const int64_t group = int64_t(divide(uint64_t(image), f.step_images));
  const float zero = f.steps[2 * group + 1];
  return {f.steps[2 * group], zero >= 255.0f ? 255 : zero > 0.0f ? int32_t(zero) : 0};
}

/// Sums of one output: x * w, and of x alone where a zero point of weights needs it.
template <class Sum>
struct ProductSums {
  Sum products, numbers;
};

/// What kToFloat subtracts from the weights of an output, and what every other mode does.
GPU_FN int32_t weight_zero(const QuantizedFinish& f, int64_t o) {
  if (f.requant != RequantMode::kToFloat) return f.w_zero;
  const int32_t zero = f.rows[3] ? f.rows[3][o] : 0;
  return zero < -255 ? -255 : zero > 255 ? 255 : zero;
}

/// Of RequantMode::kFloatEven.
GPU_FN int64_t float_step(int32_t sum, float multiplier) {
  const float step = float(sum) * multiplier;
  if (step != step) return 1000000;  // as limits do: what is no number is above them
  return V::to_int_nearest(V::max(V::min(step, 1e6f), -1e6f));
}
/// Of sums modulo 2^32: a step of the output.
GPU_FN int64_t product_step(const QuantizedFinish& f, int64_t o, uint32_t sum) {
  return f.requant == RequantMode::kFloatEven
             ? float_step(int32_t(sum), reinterpret_cast<const float*>(f.rows[1])[o])
             : cpu::requantize_fixed(f.requant, int32_t(sum), f.rows[1][o], f.rows[2][o]);
}
GPU_FN int64_t wide_step(const QuantizedFinish& f, int64_t o, uint64_t sum) {
  const int32_t first = f.rows[1][o], second = f.rows[2][o];
  return f.requant == RequantMode::kFixedWide ? cpu::step_of_fixed_wide(sum, first, second)
                                              : cpu::step_of_double(int64_t(sum), first, second);
}

/// Sums of one output -> a number of y. @pre not kToFloat
template <class Sum>
GPU_FN int32_t finish_number(const QuantizedFinish& f, int64_t o, const ProductSums<Sum>& sums) {
  const uint32_t sum = uint32_t(sums.products) - uint32_t(sums.numbers) * uint32_t(f.w_zero) +
                       uint32_t(f.rows[0][o]);
  return limited_number(product_step(f, o, sum), f.y_zero, f.low, f.high);
}
GPU_FN int32_t finish_wide_number(const QuantizedFinish& f, int64_t o, uint64_t sum) {
  const uint64_t bias = uint64_t(uint32_t(f.rows[3][o])) << 32 | uint32_t(f.rows[0][o]);
  return limited_number(wide_step(f, o, sum + bias), f.y_zero, f.low, f.high);
}
/// Of RequantMode::kToFloat: sums of one output -> an element of y.
template <class Sum>
GPU_FN void finish_float(const QuantizedFinish& f, const ImageQuantParams& steps, int64_t o,
                         const ProductSums<Sum>& sums, int64_t to) {
  const uint32_t whole = uint32_t(sums.products) -
                         uint32_t(sums.numbers) * uint32_t(weight_zero(f, o)) -
                         uint32_t(steps.zero) * uint32_t(f.rows[0][o]);
  if (f.is_whole)
    static_cast<int32_t*>(f.y)[to] = int32_t(whole);
  else
    static_cast<float*>(f.y)[to] =
        float(int32_t(whole)) * (steps.scale * reinterpret_cast<const float*>(f.rows[1])[o]) +
        reinterpret_cast<const float*>(f.rows[2])[o];
}

/// Up to four neighbouring outputs of u8, from o on, a multiple of 4: put() each, then store().
struct FourNumbers {
  uint32_t bytes = 0;
  GPU_MEMBER void put(const QuantizedFinish& f, const ImageQuantParams& steps, int64_t o, int e,
                      const ProductSums<int32_t>& sums, int64_t to) {
    if (f.requant == RequantMode::kToFloat)
      finish_float(f, steps, o + e, sums, to + e);
    else
      bytes |= uint32_t(finish_number(f, o + e, sums)) << 8 * e;
  }
  GPU_MEMBER void store(const QuantizedFinish& f, int count, int64_t to) const {
    if (f.requant == RequantMode::kToFloat) return;
    uint8_t* y = static_cast<uint8_t*>(f.y) + to;
    if (f.in_fours && count == 4)
      *reinterpret_cast<uint32_t*>(y) = bytes;
    else
      GPU_ROLLED for (int e = 0; e < count; e++) y[e] = uint8_t(bytes >> 8 * e);
  }
};

}  // namespace ingot::cuda
