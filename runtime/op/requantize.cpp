// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/requantize.h"

#include "runtime/op/conv_rules.h"

namespace ingot::quantized {

using rules::refuse;

bool check_output_steps(DType type, uint32_t zero, uint32_t low, uint32_t high, Violation* v) {
  constexpr int kAttribute = Violation::kAttribute;
  const uint32_t most = most_number(type);
  if (zero > most) return refuse(v, "y_zero is a number of y", kAttribute, most, zero);
  if (high > most) return refuse(v, "high is a number of y", kAttribute, most, high);
  if (low > high) return refuse(v, "low is at most high", kAttribute, high, low);
  return true;
}

bool check_requant(RequantMode mode, DType type, Violation* v) {
  constexpr int kAttribute = Violation::kAttribute;
  if (uint8_t(mode) > uint8_t(RequantMode::kDoubleAway))
    return refuse(v, "requant is known", kAttribute, int64_t(RequantMode::kDoubleAway),
                  int64_t(mode));
  const bool is_int16 = type == DType::kI16;
  if (is_int16 && (mode == RequantMode::kFloatEven || mode == RequantMode::kToFloat))
    return refuse(v, "16-bit numbers are requantized in fixed point", kAttribute, 1, int64_t(mode));
  if (!is_int16 && is_wide(mode))
    return refuse(v, "sums of 64 bits are of 16-bit numbers", kAttribute, 3, int64_t(mode));
  return true;
}

bool check_channels(const TensorView& channels, int operand, RequantMode mode, int64_t o,
                    Violation* v) {
  if (channels.dtype != DType::kI32)
    return refuse(v, "numbers of channels are i32", operand, int64_t(DType::kI32),
                  int64_t(channels.dtype));
  if (channels.rank != 2)
    return refuse(v, "numbers of channels are rows", operand, 2, channels.rank);
  const int64_t rows = channels.dims[0];
  if (mode == RequantMode::kToFloat) {
    if (rows != kMaxChannelRows && rows != kMaxChannelRows - 1)
      return refuse(v, "sums, scales, biases and perhaps zero points of weights are there", operand,
                    kMaxChannelRows, rows);
  } else {
    const int64_t expected = mode == RequantMode::kFloatEven ? 2
                             : is_wide(mode)                 ? kMaxChannelRows
                                                             : 3;
    if (rows != expected)
      return refuse(v, "biases, multipliers and, of fixed point, shifts are there", operand,
                    expected, rows);
  }
  const int64_t padded = (o + kPanel - 1) / kPanel * kPanel;
  if (channels.dims[1] != padded)
    return refuse(v, "a row has a number an output, rounded up to 16", operand, padded,
                  channels.dims[1]);
  return true;
}

bool check_steps(const OpArguments& a, int operand, RequantMode mode, int64_t rows, Violation* v) {
  if (mode != RequantMode::kToFloat)
    return !a.optional(operand) || refuse(v, "steps are an operand of to_float alone", operand);
  const TensorView* const steps = a.optional(operand);
  if (!steps) return refuse(v, "x has steps with to_float", operand);
  if (steps->dtype != DType::kF32)
    return refuse(v, "steps are f32", operand, int64_t(DType::kF32), int64_t(steps->dtype));
  if (steps->rank != 2 || steps->dims[1] != 2)
    return refuse(v, "steps are scale and zero point of each group", operand, 2,
                  steps->rank ? int64_t{steps->dims[steps->rank - 1]} : 0);
  const int64_t groups = steps->dims[0];
  if (groups == 1 || (groups == 0 && rows == 0)) return true;
  return (groups > 0 && rows % groups == 0) ||
         refuse(v, "groups of steps divide the rows", operand, rows, groups);
}

bool check_output_type(RequantMode mode, DType type, const TensorType& y, Violation* v) {
  const bool is_float = mode == RequantMode::kToFloat;
  if (is_float && y.dtype != DType::kF32 && y.dtype != DType::kI32)
    return refuse(v, "y of to_float is f32 or i32", rules::output(0), int64_t(DType::kF32),
                  int64_t(y.dtype));
  if (!is_float && y.dtype != type)
    return refuse(v, "quantized y has the type of x", rules::output(0), int64_t(type),
                  int64_t(y.dtype));
  return true;
}

bool check_sum(int64_t k, int operand, Violation* v) {
  return k <= kMaxProducts ||
         refuse(v, "a sum of products of bytes fits 32 bits", operand, kMaxProducts, k);
}

bool check_weight_zero(RequantMode mode, int32_t zero, DType type, Violation* v) {
  if (mode == RequantMode::kToFloat && zero != 0)
    return refuse(v, "w_zero is 0 with to_float", Violation::kAttribute, 0, zero);
  if (type == DType::kI16 && zero != 0)
    return refuse(v, "weights beside 16-bit numbers have no zero point", Violation::kAttribute, 0,
                  zero);
  return (zero >= -255 && zero <= 255) ||
         refuse(v, "w_zero is at most 255", Violation::kAttribute, 255, zero);
}

}  // namespace ingot::quantized
