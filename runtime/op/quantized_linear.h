// SPDX-License-Identifier: Apache-2.0
// runtime/op/quantized_linear.h - product of bytes, or of 16-bit numbers, with constant weights.
// Operands  x u8 or i16 [..., K], w i8 panels16x4 [O,K] (dense for the oracle), channels i32 [2 to
//           4, O rounded up to 16] (biases, multipliers, shifts: runtime/op/requantize.h), with
//           to_float steps f32 [groups, 2] (scale and zero point of as many rows each) -> y of x's
//           type [..., O]; with to_float f32 or i32.
// Sum       bias[o] + sum of x * (w - w_zero), modulo 2^32, those of 64 bits modulo 2^64; the zero
//           point of x is in the bias. x of i16 counts with 32768 added, and w_zero is 0. to_float
//           has no w_zero but those of the channels.
// Output    as runtime/op/requantize.h says.
#pragma once
#include "runtime/op/requantize.h"

namespace ingot {

struct QuantizedLinearAttributes {
  RequantMode requant = RequantMode::kFloatEven;
  int32_t w_zero = 0;
  uint32_t y_zero = 0, low = 0, high = 255;
};
extern const OpContract kQuantizedLinearContract;

}  // namespace ingot
