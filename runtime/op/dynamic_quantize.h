// SPDX-License-Identifier: Apache-2.0
// runtime/op/dynamic_quantize.h - floats to bytes by a scale and a zero point of what the tensor
// holds in this run.
// Operands  x f32 [...] -> y u8 same dims, steps f32 [groups, 2]: scale and zero point. The first
//           `axis` dimensions count the groups: 0, one for the tensor; 1, one of each image; all
//           but the last, one of each row.
// Range     low and high of a group's numbers with 0, NaN left out. Of no range: scale 1, and the
//           zero point that 0 has. In f32 by default, each operation rounded:
//   full        scale = (high - low) / 255, zero = round(limited(0 - low / scale)) in 0 .. 255;
//               y = round(limited(x / scale)) + zero, limited to what leaves a byte. Ties to even.
//               DynamicQuantizeLinear of ONNX
//   symmetric   scale = most / 127 where most = max(high, -low), zero = 128;
//               y = round(limited(x * (127 / most))) + 128, limited to -127 .. 127. Ties away from
//               zero. TFLite's
//   asymmetric  in f64 scale = (high - low) / 255 and zero = round(-128 - low / scale), or
//               127 - high / scale where that is nearer to 0 in its terms; then in f32
//               y = round(limited(zero + x * (1 / scale))) + 128, limited to -128 .. 127, and the
//               zero point has 128 added. Ties away from zero. TFLite's with zero points
//           What is no number becomes the zero point; a zero point that is none is 0.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class DynamicRange : uint8_t { kFull = 0, kSymmetric = 1, kAsymmetric = 2 };
struct DynamicQuantizeAttributes {
  DynamicRange range = DynamicRange::kFull;
  uint32_t axis = 0;
};
extern const OpContract kDynamicQuantizeContract;

}  // namespace ingot
