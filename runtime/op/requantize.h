// SPDX-License-Identifier: Apache-2.0
// runtime/op/requantize.h - how the i32 sum of an integer product becomes a step of its output.
//
// A value q of u8 stands for (q - zero) * scale. What a signed source calls q lies in memory with
// 128 added, and so does its zero point (docs/decisions.md, D140): unsigned by signed bytes is what
// instructions multiply. Of a sum and the numbers of its output channel:
//   float_even  round(float(sum) * multiplier) to the nearest, ties to even; the multiplier is f32.
//               float(sum) is the nearest f32. XNNPACK's, so LiteRT's by default, and ONNX's
//   fixed_up    the multiplier is 31 bits m, and a shift s, 0 .. 31, that goes right:
//               d = (sum * m + 2^30) >> 31 of 64 bits, then (d + 2^(s-1)) >> s. A sum whose shift
//               goes left (s < 0, at least -31) is shifted before: sum * 2^-s, saturated to i32.
//               TFLite's optimized kernels
//   fixed_away  as fixed_up, but ties of the second go away from zero. TFLite's reference kernels
//   fixed_once  (sum * m + 2^(30 + s)) >> (31 + s) of 64 bits, s at least -30: one rounding, ties
//               upwards. TFLite's reference kernels of fully connected layers
//   fixed_wide  of 16-bit numbers: the sum has 64 bits, m is a multiplier of 16 and s -14 .. 47:
//               (sum * m + 2^(14 + s)) >> (15 + s) of 64 bits, of which the lower 32 are kept.
//               TFLite's kernels of 16-bit activations
//   double_away of 16-bit numbers: round(double(sum) * multiplier) of a sum of 64 bits, ties away
//               from zero, limited to i32; the multiplier is f64. LiteRT's fully connected layers
// A 16-bit number lies in memory as i16. Attributes have it with 32768 added (y_zero, low, high,
// x_zero), as bytes of a signed source have 128, and so have sums: sum of (x + 32768) * w. In every
// mode but these two a sum is kept modulo 2^32. float_even is of bytes alone.
// Then the output's zero is added and the result limited to low .. high, in that order, in numbers
// that do not overflow: y = max(low, min(high, step + zero)). Where -2^31 * 2^31 / 2^31 leaves i32
// (a sum and a multiplier of -2^31), the contract has refused the multiplier.
//
// Of bytes that were quantized in the same run (runtime/op/dynamic_quantize.h) the scale and the
// zero point of x are operands:
//   to_float    d = sum - zero * weight_sum[o] - row * weight_zero[o], modulo 2^32, where sum is
//               that of x * w and row that of x alone; y f32: float(d) * (scale * weight_scale[o])
//               + bias[o], each operation rounded to f32. y i32: d. Zero points of weights are
//               limited to -255 .. 255
#pragma once
#include <cstdint>

#include "runtime/op/contract.h"

namespace ingot {

enum class RequantMode : uint8_t {
  kFloatEven = 0,
  kFixedUp = 1,
  kFixedAway = 2,
  kFixedOnce = 3,
  kToFloat = 4,
  kFixedWide = 5,
  kDoubleAway = 6
};
/// Sums of 64 bits.
constexpr bool is_wide(RequantMode mode) {
  return uint8_t(mode) >= uint8_t(RequantMode::kFixedWide);
}

namespace quantized {

/// Numbers of an output of u8 or i16: zero and limits of that type, low <= high.
bool check_output_steps(DType type, uint32_t zero, uint32_t low, uint32_t high,
                        Violation* violation);
/// A mode of products whose operands are of this type.
bool check_requant(RequantMode mode, DType type, Violation* violation);
/// Numbers of o channels, i32 [2 to 4, o rounded up to 16]: a row of biases, one of multipliers
/// (the bits of an f32 with float_even), of fixed point one of shifts, and of sums of 64 bits one
/// of the upper halves of the biases. A multiplier of f64 is in the rows of multipliers and shifts,
/// its lower half first. With to_float: sums of weights less their zero points, scales and biases
/// (the bits of f32), and zero points where there are any. What lies behind o is not used.
bool check_channels(const TensorView& channels, int operand, RequantMode mode, int64_t o,
                    Violation* violation);
constexpr int kMaxChannelRows = 4;
/// Operand `operand`, there with to_float alone: scale and zero point of x, f32 [groups, 2], where
/// the groups are one, or divide `rows` and belong to as many rows each. A zero point is limited to
/// 0 .. 255; what is no number is 0.
bool check_steps(const OpArguments& arguments, int operand, RequantMode mode, int64_t rows,
                 Violation* violation);
/// What an output of this mode may be, x being of `type`.
bool check_output_type(RequantMode mode, DType type, const TensorType& y, Violation* violation);
/// What is added to a number of this type in attributes and sums.
constexpr int32_t number_offset(DType type) { return type == DType::kI16 ? 32768 : 0; }
constexpr uint32_t most_number(DType type) { return type == DType::kI16 ? 65535 : 255; }
/// A sum of k products of a byte and a weight fits i32.
bool check_sum(int64_t k, int operand, Violation* violation);
/// What the kernels subtract from weights; none with to_float and beside 16-bit numbers.
bool check_weight_zero(RequantMode mode, int32_t zero, DType type, Violation* violation);

constexpr int64_t kMaxProducts = 65793;  // 2^31 / (255 * 128), rounded down

}  // namespace quantized
}  // namespace ingot
