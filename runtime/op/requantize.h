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
  kToFloat = 4
};

namespace quantized {

/// Numbers of an output: requant known, zero and limits of a byte, low <= high.
bool check_output_steps(RequantMode mode, uint32_t zero, uint32_t low, uint32_t high,
                        Violation* violation);
/// Numbers of o channels, i32 [2 to 4, o rounded up to 16]: a row of biases, one of multipliers
/// (the bits of an f32 with float_even) and, of fixed point, one of shifts. With to_float: sums of
/// weights less their zero points, scales and biases (the bits of f32), and zero points where
/// there are any. What lies behind o is not used.
bool check_channels(const TensorView& channels, int operand, RequantMode mode, int64_t o,
                    Violation* violation);
constexpr int kMaxChannelRows = 4;
/// Operand `operand`, there with to_float alone: scale and zero point of x, f32 [groups, 2], where
/// the groups are one, or divide `rows` and belong to as many rows each. A zero point is limited to
/// 0 .. 255; what is no number is 0.
bool check_steps(const OpArguments& arguments, int operand, RequantMode mode, int64_t rows,
                 Violation* violation);
/// What an output of this mode may be.
bool check_output_type(RequantMode mode, const TensorType& y, Violation* violation);
/// A sum of k products of a byte and a weight fits i32.
bool check_sum(int64_t k, int operand, Violation* violation);
/// What the kernels subtract from weights.
bool check_weight_zero(RequantMode mode, int32_t zero, Violation* violation);

constexpr int64_t kMaxProducts = 65793;  // 2^31 / (255 * 128), rounded down

}  // namespace quantized
}  // namespace ingot
