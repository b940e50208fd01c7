// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/quantize.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

using rules::refuse;

struct Limits {
  int64_t low, high;
};
/// What zero points a quantized type has; false of other types.
bool limits_of(DType t, Limits* limits) {
  switch (t) {
    case DType::kI8: *limits = {-128, 127}; return true;
    case DType::kU8: *limits = {0, 255}; return true;
    case DType::kI16: *limits = {-32768, 32767}; return true;
    case DType::kU16: *limits = {0, 65535}; return true;
    case DType::kI32: *limits = {0, 0}; return true;
    default: return false;
  }
}

bool check_quantization(float scale, int32_t zero, const TensorType& t, int operand, Violation* v) {
  Limits limits{};
  if (!limits_of(t.dtype, &limits))
    return refuse(v, "quantized elements are u8, i8, u16, i16 or i32", operand, int64_t(DType::kU8),
                  int64_t(t.dtype));
  if (!(scale >= 1.17549435e-38f) || !(scale - scale == 0))
    return refuse(v, "a scale is a positive normal number", Violation::kAttribute);
  if (zero < limits.low || zero > limits.high)
    return refuse(v, "a zero point is one of the type's numbers, 0 of i32", Violation::kAttribute,
                  limits.high, zero);
  return true;
}

bool check_quantize(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kQuantizeContract, {}, v)) return false;
  const QuantizeAttributes& t = a.as<QuantizeAttributes>();
  if (uint8_t(t.rounding) > uint8_t(QuantizeRounding::kAway))
    return refuse(v, "quantize.rounding is known", Violation::kAttribute, 1, int64_t(t.rounding));
  if (a.inputs[0].dtype != DType::kF32)
    return refuse(v, "quantize takes f32", 0, int64_t(DType::kF32), int64_t(a.inputs[0].dtype));
  return check_quantization(t.scale, t.zero_point, a.outputs[0], rules::output(0), v) &&
         rules::check_same_dims(a.inputs[0], a.outputs[0], rules::output(0), v);
}

bool check_dequantize(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kDequantizeContract, {}, v)) return false;
  const DequantizeAttributes& t = a.as<DequantizeAttributes>();
  if (a.outputs[0].dtype != DType::kF32)
    return refuse(v, "dequantize gives f32", rules::output(0), int64_t(DType::kF32),
                  int64_t(a.outputs[0].dtype));
  return check_quantization(t.scale, t.zero_point, a.inputs[0], 0, v) &&
         rules::check_same_dims(a.inputs[0], a.outputs[0], rules::output(0), v);
}

}  // namespace

const OpContract kQuantizeContract = {OpCode::kQuantize, 1,       1,       1, 1, 1,
                                      check_quantize,    nullptr, nullptr, 1, 1};
const OpContract kDequantizeContract = {OpCode::kDequantize, 1,       1,       1, 1, 1,
                                        check_dequantize,    nullptr, nullptr, 1, 1};

}  // namespace ingot
