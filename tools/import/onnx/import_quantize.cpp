// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_quantize.cpp - tensors to integers and back.
#include <cmath>

#include "tools/import/onnx/call.h"
#include "tools/import/onnx/narrow.h"

namespace ingot::onnx {
namespace {

/// The type that the node states and the graph has not (narrow.h); 0: none.
int32_t stated_narrow_type(Call& call) {
  const int64_t stated = call.integer("output_dtype", 0);
  return narrow_type(stated) ? int32_t(stated) : 0;
}

/// Attributes that both directions have; false where one was refused.
bool read_quantization(Call& call, graph::Node& made) {
  made.attributes[attr::axis] = call.integer("axis", 1);
  made.attributes[attr::block_size] = call.integer("block_size", 0);
  const int64_t stated = call.integer("output_dtype", 0);
  const bool is_narrow = call.node().op == "QuantizeLinear" && stated_narrow_type(call);
  if (stated == 0 || is_narrow) return true;
  const DType dtype = dtype_of(stated);
  if (dtype == DType::kInvalid) {
    call.refuse("output_dtype", "element type " + element_type_name(stated) + " is not supported");
    return false;
  }
  made.attributes[attr::output_dtype] = int64_t(dtype);
  return true;
}

ValueId f32(Call& call, float number) {
  return call.translator().model.add_constant("number",
                                              graph::make_constant(DType::kF32, {}, &number));
}
ValueId made(Call& call, graph::Operator op, std::vector<ValueId> inputs) {
  const ValueId y = call.temporary(text(op));
  call.emit(op, std::move(inputs), {y});
  return y;
}

/// x in f32 to the numbers of a type of float8 or float4, ties to even.
ValueId rounded_to(Call& call, ValueId x, const NarrowType& type, bool saturates) {
  // The unit of the first place of a number is a power of two: |q - (1 - 2^-24) q| of
  // q = (2^23 + 1) x is exact (Rump, Ogita and Oishi 2008).
  const ValueId size = made(call, op::Abs, {x}),
                kept = made(call, op::Min, {size, f32(call, std::ldexp(type.most, 2))});
  const ValueId q = made(call, op::Mul, {kept, f32(call, 8388609.0f)}),
                less = made(call, op::Mul, {q, f32(call, 1 - std::ldexp(1.0f, -24))});
  const ValueId unit = made(call, op::Abs, {made(call, op::Sub, {q, less})}),
                normal =
                    made(call, op::Max, {unit, f32(call, std::ldexp(1.0f, type.least_exponent))}),
                step = made(call, op::Mul, {normal, f32(call, std::ldexp(1.0f, -type.mantissa))});
  const ValueId steps = made(call, op::Round, {made(call, op::Div, {kept, step})}),
                whole = made(call, op::Mul, {steps, step}), most = f32(call, type.most);
  const ValueId within = made(call, op::Min, {whole, most});
  // float4 has neither: what is no number is its minus zero, as ml_dtypes has it
  const float none = type.bits == 4 ? -0.0f : std::nanf(""),
              beyond = type.has_infinity ? INFINITY : none;
  const ValueId over = made(call, op::Greater, {whole, most});
  const ValueId limited =
      saturates ? within : made(call, op::Where, {over, f32(call, beyond), within});
  const ValueId signed_ = made(call, op::Mul, {made(call, op::Sign, {x}), limited});
  return made(call, op::Where, {made(call, op::IsNaN, {x}), f32(call, none), signed_});
}

/// To a type that the graph has not, in one that it has.
void quantize_narrow(Call& call, int32_t element_type, const graph::Node& made_by) {
  const NarrowType type = *narrow_type(element_type);
  const bool saturates = call.integer("saturate", 1) != 0;
  const ValueId y = call.output(0);
  call.translator().note_type(y, element_type);
  if (!type.is_float()) {  // of the wider type, then limited
    const ValueId wide = call.temporary("wide");
    graph::Node& in_bytes = call.emit(op::QuantizeLinear, call.inputs(), {wide});
    in_bytes.attributes = made_by.attributes;
    in_bytes.attributes[attr::output_dtype] = int64_t(type.widened);
    const ValueId numbers = call.temporary("numbers");
    call.emit(op::Cast, {wide}, {numbers}).attributes[attr::to] = int64_t(DType::kF32);
    const ValueId low = made(call, op::Max, {numbers, f32(call, float(type.low))}),
                  kept = made(call, op::Min, {low, f32(call, float(type.high))});
    call.emit(op::Cast, {kept}, {y}).attributes[attr::to] = int64_t(type.widened);
    return;
  }
  if (type.most == 0)
    return call.refuse(call.input(2) == kAbsent ? "output_dtype" : "y_zero_point",
                       "quantization to " + element_type_name(element_type));
  // the quotient, as DequantizeLinear by the reciprocal would not round it
  const ValueId quotient = call.temporary("quotient");
  graph::Node& divided = call.emit(op::QuantizeLinear, {call.input(0), call.input(1)}, {quotient});
  divided.attributes = made_by.attributes;
  divided.attributes[attr::to_floats] = int64_t(1);
  const ValueId rounded = rounded_to(call, quotient, type, saturates);
  call.emit(op::Identity, {rounded}, {y});
}

void quantize(Call& call) {
  graph::Node made;
  if (!read_quantization(call, made)) return;
  // The type in which x / scale is computed; f32 is what every runtime takes for narrower ones too.
  const int64_t precision = call.integer("precision", 0);
  if (precision != 0 && dtype_of(precision) != DType::kF32)
    return call.refuse("precision", "division in " + element_type_name(precision));
  const int64_t stated = call.integer("output_dtype", 0);
  const int32_t zero = call.narrow_type_of(2), narrow = zero ? zero : stated_narrow_type(call);
  if (narrow && call.input(2) != kAbsent && stated != 0 && stated != zero)
    call.translator().corrupt(describe(call.node()) + ": output_dtype is " +
                              element_type_name(stated) + ", its zero point is of another type");
  if (narrow) return quantize_narrow(call, narrow, made);
  call.emit(op::QuantizeLinear).attributes = made.attributes;
}
void dequantize(Call& call) {
  graph::Node made;
  if (!read_quantization(call, made)) return;
  if (const int32_t narrow = call.narrow_type_of(0); narrow && narrow_type(narrow)->is_float())
    made.attributes[attr::from_floats] = int64_t(1);
  call.emit(op::DequantizeLinear).attributes = made.attributes;
}

}  // namespace

namespace {

/// The lowest bits of a whole number.
void cast_to_few_bits(Call& call, int32_t element_type, const NarrowType& type) {
  const auto number = [&](int64_t n) {
    const int32_t one = int32_t(n);
    return call.translator().model.add_constant("number",
                                                graph::make_constant(DType::kI32, {}, &one));
  };
  const ValueId whole = call.temporary("whole"), y = call.output(0);
  call.emit(op::Cast, {call.input(0)}, {whole}).attributes[attr::to] = int64_t(DType::kI32);
  ValueId bits = made(call, op::BitwiseAnd, {whole, number((int64_t{1} << type.bits) - 1)});
  if (type.low < 0) {  // bits above the largest number are those below zero
    const ValueId wrapped = made(call, op::Sub, {bits, number(int64_t{1} << type.bits)});
    bits =
        made(call, op::Where, {made(call, op::Greater, {bits, number(type.high)}), wrapped, bits});
  }
  call.emit(op::Cast, {bits}, {y}).attributes[attr::to] = int64_t(type.widened);
  call.translator().note_type(y, element_type);
}

/// To a power of two, as float8e8m0 has them.
void cast_to_power(Call& call, int32_t element_type) {
  const std::string mode = call.text("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest")
    return call.refuse("round_mode", "'" + mode + "', known are up, down and nearest");
  call.integer("saturate", 1);  // what is beyond the largest power is no number either way
  const ValueId numbers = call.temporary("numbers");
  call.emit(op::Cast, {call.input(0)}, {numbers}).attributes[attr::to] = int64_t(DType::kF32);
  // The power of two below x is |q - (1 - 2^-24) q| of q = (2^23 + 1) x, where neither overflows
  // nor is subnormal.
  const ValueId size = made(call, op::Abs, {numbers}),
                is_large = made(call, op::Greater, {size, f32(call, std::ldexp(1.0f, 30))});
  const ValueId by = made(
                    call, op::Where,
                    {is_large, f32(call, std::ldexp(1.0f, -64)), f32(call, std::ldexp(1.0f, 32))}),
                back = made(
                    call, op::Where,
                    {is_large, f32(call, std::ldexp(1.0f, 64)), f32(call, std::ldexp(1.0f, -32))});
  const ValueId x = made(call, op::Mul, {size, by}),
                q = made(call, op::Mul, {x, f32(call, 8388609.0f)}),
                less = made(call, op::Mul, {q, f32(call, 1 - std::ldexp(1.0f, -24))}),
                below = made(call, op::Abs, {made(call, op::Sub, {q, less})});
  ValueId power = below;
  if (mode != "down") {
    const float limit = mode == "up" ? 1.0f : 1.5f;
    const ValueId least = made(call, op::Mul, {below, f32(call, limit)});
    const ValueId goes_up = made(call, mode == "up" ? op::Greater : op::GreaterOrEqual, {x, least});
    power = made(call, op::Where, {goes_up, made(call, op::Mul, {below, f32(call, 2)}), below});
  }
  const ValueId scaled = made(call, op::Mul, {power, back}),
                kept = made(call, op::Min,
                            {made(call, op::Max, {scaled, f32(call, std::ldexp(1.0f, -127))}),
                             f32(call, std::ldexp(1.0f, 127))});
  const ValueId finite = made(call, op::Less, {size, f32(call, INFINITY)}), y = call.output(0);
  call.emit(op::Where, {finite, kept, f32(call, std::nanf(""))}, {y});
  call.translator().note_type(y, element_type);
}

}  // namespace

void cast_narrow(Call& call, int32_t element_type) {
  const NarrowType type = *narrow_type(element_type);
  if (!type.is_float()) return cast_to_few_bits(call, element_type, type);
  if (type.most == 0) return cast_to_power(call, element_type);
  const bool saturates = call.integer("saturate", 1) != 0;
  const ValueId numbers = call.temporary("numbers");
  call.emit(op::Cast, {call.input(0)}, {numbers}).attributes[attr::to] = int64_t(DType::kF32);
  const ValueId rounded = rounded_to(call, numbers, type, saturates), y = call.output(0);
  call.emit(op::Identity, {rounded}, {y});
  call.translator().note_type(y, element_type);
}

void add_quantize(TranslateTable& table) {
  table["QuantizeLinear"] = {2, 3, quantize};
  table["DequantizeLinear"] = {2, 3, dequantize};
}

}  // namespace ingot::onnx
