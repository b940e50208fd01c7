// SPDX-License-Identifier: Apache-2.0
// runtime/op/quantize.h - between floats and the integers that stand for them, with one scale and
// one zero point for the whole tensor.
//   Quantize    x f32 -> y u8, i8, u16, i16 or i32, same dims: limited(round(x / scale) +
//               zero_point). `reciprocal`: x * (1 / scale), 1 / scale rounded to f32 once. The
//               product or quotient is f32; it is limited to what y holds less the zero point, then
//               rounded, ties as `rounding` says, then the zero point is added. NaN gives the
//               zero point. i32 is limited to +-(2^31 - 128) and has no zero point but 0.
//   Dequantize  x of those types -> y f32: float(x - zero_point) * scale, the difference exact and
//               rounded to f32 once.
// The scale is a positive normal number.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class QuantizeRounding : uint8_t { kEven = 0, kAway = 1 };
struct QuantizeAttributes {
  float scale = 1;
  int32_t zero_point = 0;
  QuantizeRounding rounding = QuantizeRounding::kEven;
  bool reciprocal = false;
};
struct DequantizeAttributes {
  float scale = 1;
  int32_t zero_point = 0;
};
extern const OpContract kQuantizeContract;
extern const OpContract kDequantizeContract;

}  // namespace ingot
