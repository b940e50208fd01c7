// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/fixed_point.h - functions of 32-bit fixed point, as TFLite Micro computes
// them. Qn.m has n bits before the point and m behind it, and a sign.
#pragma once
#include <cstdint>
#include <optional>

#include "tools/import/tflite/quantization.h"

namespace ingot::tflite {

/// A number times a scale, with `integer_bits` before the point.
struct FixedInput {
  FixedPoint by;
  int32_t radius = 0;  // what is as far from zero as this is at the end of the range
};
/// None where the scale is too small for it.
std::optional<FixedInput> fixed_input(double scale, int integer_bits);

/// exp of a number of at most 0 with `integer_bits` (at most 5): Q0.31.
int32_t fixed_exp(int32_t x, int integer_bits);
/// Of Q4.27: Q0.31.
int32_t fixed_logistic(int32_t x);
int32_t fixed_tanh(int32_t x);
/// 1 / sqrt(x) of 1 <= x by five steps of Newton's method.
FixedPoint fixed_inverse_root(int32_t x);
/// 1 / (1 + x) of Q0.31: Q0.31.
int32_t fixed_reciprocal(int32_t x);

// Of 16 bits: Q0.15 of Q3.12, and of a number with `integer_bits` before the point, as LiteRT's
// LSTM computes them.
int32_t fixed_logistic16(int32_t x);
int32_t fixed_tanh16(int32_t x, int integer_bits);
// By a table of 256 and lines between, as TFLite Micro computes them: of x * multiplier / 2^shift,
// or of 3 * x * 2^shift where the multiplier is 0.
int32_t interpolated_logistic(int32_t x, int32_t multiplier, int shift);
int32_t interpolated_tanh(int32_t x, int32_t multiplier, int shift);

}  // namespace ingot::tflite
