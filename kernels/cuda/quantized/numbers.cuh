// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/numbers.cuh - numbers of u8 and i16 in memory.
#pragma once
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/quantized/quantized_params.h"

namespace ingot::cuda {

/// A number as attributes count it: of i16 with 32768 added.
GPU_FN int32_t load_quantized(const void* x, int64_t at, bool words) {
  return words ? static_cast<const int16_t*>(x)[at] + 32768 : static_cast<const uint8_t*>(x)[at];
}
GPU_FN void store_quantized(void* y, int64_t at, bool words, int32_t number) {
  if (words)
    static_cast<int16_t*>(y)[at] = int16_t(number - 32768);
  else
    static_cast<uint8_t*>(y)[at] = uint8_t(number);
}
/// A step of the output -> a number of it.
GPU_FN int32_t limited_number(int64_t step, uint32_t zero, uint32_t low, uint32_t high) {
  const int64_t number = step + zero;
  return int32_t(number < low ? low : number > high ? high : number);
}

/// To the nearest, ties away from zero.
GPU_FN float round_away(float x) {
  const float whole = V::trunc(x);
  return whole + (V::abs(x - whole) >= 0.5f ? __builtin_copysignf(1.0f, x) : 0.0f);
}

}  // namespace ingot::cuda
