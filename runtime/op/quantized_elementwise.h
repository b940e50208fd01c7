// SPDX-License-Identifier: Apache-2.0
// runtime/op/quantized_elementwise.h - sums, differences and products of two quantized tensors,
// each with a scale of its own: a and b of u8 or i16 -> y of their type, which both broadcast to.
//
// add, sub    float_even: (da * a_multiplier +- db * b_multiplier + 2^(y_shift - 1)) >> y_shift,
//             where da = a - a_zero and db = b - b_zero; multipliers are -2^21 .. 2^21, y_shift is
//             1 .. 30. XNNPACK's, in whole numbers in spite of the name of its mode.
//             fixed_*: rescale(rescale(da * 2^20, a) +- rescale(db * 2^20, b), y), of i16 2^15
//             for 2^20, where rescale
//             is what runtime/op/requantize.h says of the mode with the operand's multiplier
//             (0 .. 2^31 - 1) and shift. fixed_away is what TFLite's reference kernels do, and its
//             optimized ones but for their vectors, which shift the terms of a sum of uint8 without
//             rounding and wrap products that leave 16 bits.
// mul         float_even: round(float(da * db) * scale), ties to even.
//             fixed_*: rescale(da * db, y).
//
// a_shift and b_shift are 0 .. 31, that of y -31 .. 31 (-30 of fixed_once); scale is a positive
// normal number of at most 2^14. Then y_zero is added and the result limited to low .. high. What a
// function and mode do not name is not read. Numbers of i16 have fixed point alone and 32768 for
// each zero (runtime/op/requantize.h).
#pragma once
#include "runtime/op/requantize.h"

namespace ingot {

enum class QuantizedFunction : uint8_t { kAdd = 0, kSub = 1, kMul = 2 };
/// Fixed point: what terms of a sum are shifted by.
constexpr int quantized_sum_shift(DType type) { return type == DType::kI16 ? 15 : 20; }
constexpr int32_t kMaxSumMultiplier = 1 << 21;  // float_even

struct QuantizedElementwiseAttributes {
  QuantizedFunction function = QuantizedFunction::kAdd;
  RequantMode requant = RequantMode::kFloatEven;
  uint32_t a_zero = 0, b_zero = 0, y_zero = 0, low = 0, high = 255;
  int32_t a_multiplier = 0, b_multiplier = 0, y_multiplier = 0;
  int32_t a_shift = 0, b_shift = 0, y_shift = 0;
  float scale = 1;
};
extern const OpContract kQuantizedElementwiseContract;

}  // namespace ingot
