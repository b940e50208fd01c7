// SPDX-License-Identifier: Apache-2.0
// runtime/op/quantized_matmul.h - products of matrices of bytes, both of which a run computes.
// Operands  a u8 [..., M, K], b u8 [..., K, N], of trans_b [..., N, K] -> y u8 [..., M, N]; the
//           dimensions before the last two are the same.
// Sum       of (a - a_zero) * (b - b_zero), modulo 2^32.
// Output    as runtime/op/requantize.h says: float_even by `scale`; fixed_* by `multiplier`, 0 ..
//           2^31 - 1, and `shift`, -31 .. 31 (-30 of fixed_once), with a scale of 0, which readers
//           refuse that know no fixed point here.
#pragma once
#include "runtime/op/requantize.h"

namespace ingot {

struct QuantizedMatMulAttributes {
  bool trans_b = false;
  uint32_t a_zero = 0, b_zero = 0, y_zero = 0, low = 0, high = 255;
  float scale = 1;
  RequantMode requant = RequantMode::kFloatEven;
  int32_t multiplier = 0, shift = 0;
};
extern const OpContract kQuantizedMatMulContract;

namespace quantized {

/// What one thread needs for a product of these extents: b in panels16x4 less 128, biases,
/// multipliers and shifts of N outputs, rows of a. Offsets from the start of its scratch.
struct MatMulScratch {
  uint64_t panels = 0, channels = 0, bytes = 0;
};
/// False on overflow.
bool matmul_scratch(int64_t k, int64_t n, MatMulScratch* out);

}  // namespace quantized
}  // namespace ingot
