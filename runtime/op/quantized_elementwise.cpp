// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/quantized_elementwise.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

using rules::refuse;
constexpr int kAttribute = Violation::kAttribute;

bool check_between(const char* rule, int64_t low, int64_t high, int64_t found, Violation* v) {
  return (found >= low && found <= high) ||
         refuse(v, rule, kAttribute, found < low ? low : high, found);
}

bool check_rescale(int32_t multiplier, int32_t shift, int32_t least_shift, Violation* v) {
  return check_between("a multiplier of fixed point is not negative", 0, INT32_MAX, multiplier,
                       v) &&
         check_between("a shift of fixed point is in its range", least_shift, 31, shift, v);
}

bool check_numbers(const QuantizedElementwiseAttributes& t, Violation* v) {
  const bool sums = t.function != QuantizedFunction::kMul;
  if (t.requant == RequantMode::kFloatEven) {
    if (sums)
      return check_between("a_multiplier is at most 2^21", -kMaxSumMultiplier, kMaxSumMultiplier,
                           t.a_multiplier, v) &&
             check_between("b_multiplier is at most 2^21", -kMaxSumMultiplier, kMaxSumMultiplier,
                           t.b_multiplier, v) &&
             check_between("y_shift is 1 .. 30", 1, 30, t.y_shift, v);
    return (t.scale >= 1.17549435e-38f && t.scale <= 16384.0f) ||
           refuse(v, "quantized_elementwise.scale is positive, normal and at most 2^14",
                  kAttribute);
  }
  const int32_t least = t.requant == RequantMode::kFixedOnce ? -30 : -31;
  return check_rescale(t.y_multiplier, t.y_shift, least, v) &&
         (!sums || (check_rescale(t.a_multiplier, t.a_shift, 0, v) &&
                    check_rescale(t.b_multiplier, t.b_shift, 0, v)));
}

bool check_quantized_elementwise(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kQuantizedElementwiseContract, {}, v)) return false;
  const QuantizedElementwiseAttributes& t = a.as<QuantizedElementwiseAttributes>();
  const TensorType& y = a.outputs[0];
  const DType type = a.inputs[0].dtype;
  const bool is_int16 = type == DType::kI16;
  for (int i = 0; i < 2; i++) {
    if (a.inputs[i].dtype != (is_int16 ? type : DType::kU8))
      return refuse(v, "quantized_elementwise takes u8 or i16", i, int64_t(DType::kU8),
                    int64_t(a.inputs[i].dtype));
    if (!rules::broadcasts_to(a.inputs[i], y))
      return refuse(v, "operands broadcast to the output", i, y.rank, a.inputs[i].rank);
  }
  if (!rules::check_same_dtype(a.inputs[0], y, rules::output(0), v)) return false;
  if (uint8_t(t.function) > uint8_t(QuantizedFunction::kMul))
    return refuse(v, "quantized_elementwise.function is known", kAttribute, 2, int64_t(t.function));
  if (t.requant == RequantMode::kToFloat)
    return refuse(v, "quantized_elementwise gives bytes", kAttribute, 3, int64_t(t.requant));
  if (is_wide(t.requant) && t.requant <= RequantMode::kDoubleAway)
    return refuse(v, "quantized_elementwise has no sums of 64 bits", kAttribute, 3,
                  int64_t(t.requant));
  const int64_t low = is_int16 ? 32768 : 0, high = is_int16 ? 32768 : 255;
  return quantized::check_requant(t.requant, type, v) &&
         check_between("a_zero is a byte, or 32768 of i16", low, high, t.a_zero, v) &&
         check_between("b_zero is a byte, or 32768 of i16", low, high, t.b_zero, v) &&
         quantized::check_output_steps(type, t.y_zero, t.low, t.high, v) &&
         (!is_int16 || check_between("y_zero of i16 is 32768", low, high, t.y_zero, v)) &&
         check_numbers(t, v);
}

uint32_t quantized_elementwise_in_place(const OpArguments& a) {
  return (rules::overlays(a.inputs[0], a.outputs[0]) ? 1u : 0u) |
         (rules::overlays(a.inputs[1], a.outputs[0]) ? 2u : 0u);
}

}  // namespace

const OpContract kQuantizedElementwiseContract = {
    OpCode::kQuantizedElementwise,  1,       2,    2,   1, 1, check_quantized_elementwise,
    quantized_elementwise_in_place, nullptr, 0x3u, 0x1u};

}  // namespace ingot
