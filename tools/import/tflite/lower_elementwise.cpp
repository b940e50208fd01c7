// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_elementwise.cpp - one element at a time: arithmetic, comparisons,
// logic, functions, types.
#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

using graph::Dims;

ValueId scalar_like(Call& call, ValueId x, double value) {
  return call.b.scalar(call.b.dtype(x), value);
}

/// Operators that the graph has under another name, some with numbers that TFLite does not state.
struct Plain {
  const char* name;
  graph::Operator op;
  size_t inputs;
  graph::Attributes attributes = {};
};
const std::vector<Plain> kPlain = {
    {"ABS", op::Abs, 1},
    {"CEIL", op::Ceil, 1},
    {"COS", op::Cos, 1},
    {"EXP", op::Exp, 1},
    {"FLOOR", op::Floor, 1},
    {"HARD_SWISH", op::HardSwish, 1},
    {"LOG", op::Log, 1},
    {"NEG", op::Neg, 1},
    {"LOGICAL_NOT", op::Not, 1},
    {"RELU", op::Relu, 1},
    {"ROUND", op::Round, 1},
    {"LOGISTIC", op::Sigmoid, 1},
    {"SIGN", op::Sign, 1},
    {"SIN", op::Sin, 1},
    {"SQRT", op::Sqrt, 1},
    {"TANH", op::Tanh, 1},
    {"LOGICAL_AND", op::And, 2},
    {"LOGICAL_OR", op::Or, 2},
    {"EQUAL", op::Equal, 2},
    {"GREATER", op::Greater, 2},
    {"GREATER_EQUAL", op::GreaterOrEqual, 2},
    {"LESS", op::Less, 2},
    {"LESS_EQUAL", op::LessOrEqual, 2},
    {"MAXIMUM", op::Max, 2},
    {"MINIMUM", op::Min, 2},
    {"POW", op::Pow, 2},
    {"BITWISE_XOR", op::BitwiseXor, 2},
    {"PRELU", op::PRelu, 2},
    {"SELECT_V2", op::Where, 3},
    {"ELU", op::Elu, 1, {{attr::alpha, 1.0}}},
    {"RELU6", op::Clip, 1, {{attr::min, 0.0}, {attr::max, 6.0}}},
    {"RELU_N1_TO_1", op::Clip, 1, {{attr::min, -1.0}, {attr::max, 1.0}}},
    {"RELU_0_TO_1", op::Clip, 1, {{attr::min, 0.0}, {attr::max, 1.0}}},
};
void plain(Call& call) {
  const std::string name = call.row.name;
  for (const Plain& row : kPlain) {
    if (name != row.name) continue;
    call.expect_inputs(row.inputs, row.inputs);
    std::vector<ValueId> values;
    for (size_t i = 0; i < row.inputs; i++) values.push_back(call.input(i));
    call.give(call.b.emit(row.op, values, row.attributes));
  }
}

/// With a function behind it.
void arithmetic(Call& call, graph::Operator op) {
  call.expect_inputs(2, 2);
  call.give(call.activated(call.b.emit(op, {call.input(0), call.input(1)})));
}
void add(Call& call) { arithmetic(call, op::Add); }
void subtract(Call& call) { arithmetic(call, op::Sub); }
void multiply(Call& call) { arithmetic(call, op::Mul); }
void divide(Call& call) { arithmetic(call, op::Div); }

void add_n(Call& call) {
  call.expect_inputs(1, SIZE_MAX);
  ValueId sum = call.input(0);
  for (size_t i = 1; i < call.input_count(); i++) sum = call.b.emit(op::Add, {sum, call.input(i)});
  call.give(sum);
}
void not_equal(Call& call) {
  call.expect_inputs(2, 2);
  call.give(call.b.emit(op::Not, {call.b.emit(op::Equal, {call.input(0), call.input(1)})}));
}
void squared_difference(Call& call) {
  call.expect_inputs(2, 2);
  const ValueId d = call.b.emit(op::Sub, {call.input(0), call.input(1)});
  call.give(call.b.emit(op::Mul, {d, d}));
}
void square(Call& call) {
  call.expect_inputs(1, 1);
  call.give(call.b.emit(op::Mul, {call.input(0), call.input(0)}));
}
void reciprocal_root(Call& call) {
  call.expect_inputs(1, 1);
  call.give(call.b.emit(op::Reciprocal, {call.b.emit(op::Sqrt, {call.input(0)})}));
}

struct Remainder {
  ValueId rest;        // of the sign of the dividend
  ValueId other_sign;  // where it is not zero and has another sign than the divisor
};
Remainder remainder_of(Call& call, ValueId x, ValueId y) {
  aten::Builder& b = call.b;
  const ValueId zero = scalar_like(call, y, 0),
                rest = b.emit(op::Mod, {x, y}, {{attr::fmod, int64_t(1)}});
  const ValueId signs =
      b.emit(op::Xor, {b.emit(op::Less, {y, zero}), b.emit(op::Less, {rest, zero})});
  return {rest, b.emit(op::And, {signs, b.emit(op::Not, {b.emit(op::Equal, {rest, zero})})})};
}
void floor_mod(Call& call) {
  call.expect_inputs(2, 2);
  const ValueId x = call.input(0), y = call.input(1);
  if (!graph::is_floating(call.b.dtype(x)))
    return call.give(call.b.emit(op::Mod, {x, y}, {{attr::fmod, int64_t(0)}}));
  const Remainder r = remainder_of(call, x, y);
  call.give(call.b.emit(op::Where, {r.other_sign, call.b.emit(op::Add, {r.rest, y}), r.rest}));
}
/// Of floating numbers the quotient is rounded before it is taken down, as TFLite does.
void floor_divide(Call& call) {
  call.expect_inputs(2, 2);
  const ValueId x = call.input(0), y = call.input(1);
  if (graph::is_floating(call.b.dtype(x)))
    return call.give(call.b.emit(op::Floor, {call.b.emit(op::Div, {x, y})}));
  // what is left over may lead out of 8 or 16 bits
  const DType dtype = call.b.dtype(x), wide = dtype_bytes(dtype) < 4 ? DType::kI32 : dtype;
  const ValueId a = call.b.cast(x, wide), b = call.b.cast(y, wide);
  const ValueId rest = call.b.emit(op::Mod, {a, b}, {{attr::fmod, int64_t(0)}});
  call.give(call.b.cast(call.b.emit(op::Div, {call.b.emit(op::Sub, {a, rest}), b}), dtype));
}

void leaky_relu(Call& call) {
  call.expect_inputs(1, 1);
  call.give(call.b.emit(op::LeakyRelu, {call.input(0)}, {{attr::alpha, call.number("alpha")}}));
}
void gelu(Call& call) {
  call.expect_inputs(1, 1);
  call.give(
      call.b.emit(op::Gelu, {call.input(0)},
                  {{attr::approximate, std::string(call.flag("approximate") ? "tanh" : "none")}}));
}

/// The condition chooses rows where it has one dimension and the others more.
void select(Call& call) {
  call.expect_inputs(3, 3);
  ValueId condition = call.input(0);
  const int64_t rank = call.rank(1);
  if (call.rank(0) == 1 && rank > 1) {
    Dims dims(size_t(rank), graph::Dim(1));
    dims[0] = call.b.dims(condition)[0];
    condition = call.b.reshape(condition, dims);
  }
  call.give(call.b.emit(op::Where, {condition, call.input(1), call.input(2)}));
}

void cast(Call& call) {
  call.expect_inputs(1, 1);
  // Of complex numbers the real parts, as LiteRT does.
  const ValueId x = call.is_complex(0) ? call.part_of_complex(0, 0) : call.input(0);
  call.give(call.b.cast(x, call.output_dtype(0)));
}

/// Of half-precision; what is quantized is numbers where it is read.
void dequantize(Call& call) {
  call.expect_inputs(1, 1);
  const ValueId x = call.input(0);
  const fb::Tensor& from = call.tensor(0);
  if (!graph::is_floating(call.b.dtype(x)))
    call.corrupt(std::string("its input is ") + ModelFile::type_name(from.type()) +
                 " without a scale");
  call.give(call.b.cast(x, call.output_dtype(0)));
}
/// What it gives is made bytes behind it.
void quantize(Call& call) {
  call.expect_inputs(1, 1);
  call.give(call.b.cast(call.input(0), DType::kF32));
}
/// A sparse constant is dense already (read_constant).
void densify(Call& call) {
  call.expect_inputs(1, 1);
  call.give(call.input(0));
}

/// By the signs of both; rounded like the function of one argument.
void atan2(Call& call) {
  call.expect_inputs(2, 2);
  aten::Builder& b = call.b;
  const ValueId y = call.input(0), x = call.input(1);
  const ValueId zero = scalar_like(call, x, 0), pi = scalar_like(call, x, 3.14159265358979323846),
                half = scalar_like(call, x, 1.57079632679489661923);
  const ValueId angle = b.emit(op::Atan, {b.emit(op::Div, {y, x})});
  const ValueId y_negative = b.emit(op::Less, {y, zero}), x_negative = b.emit(op::Less, {x, zero});
  const ValueId turned =
      b.emit(op::Where, {y_negative, b.emit(op::Sub, {angle, pi}), b.emit(op::Add, {angle, pi})});
  const ValueId upright =
      b.emit(op::Where, {y_negative, b.emit(op::Neg, {half}),
                         b.emit(op::Where, {b.emit(op::Greater, {y, zero}), half, zero})});
  const ValueId slanted = b.emit(op::Where, {x_negative, turned, angle});
  call.give(b.emit(op::Where, {b.emit(op::Equal, {x, zero}), upright, slanted}));
}

void right_shift(Call& call) {
  call.expect_inputs(2, 2);
  const DType dtype = call.b.dtype(call.input(0));
  if (dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64)
    call.refuse("", "shifts signed numbers");
  call.give(call.b.emit(op::BitShift, {call.input(0), call.input(1)},
                        {{attr::direction, std::string("RIGHT")}}));
}

}  // namespace

void add_elementwise(TranslateTable& table) {
  for (const Plain& row : kPlain) table[row.name] = plain;
  table["ADD"] = add;
  table["SUB"] = subtract;
  table["MUL"] = multiply;
  table["DIV"] = divide;
  table["ADD_N"] = add_n;
  table["NOT_EQUAL"] = not_equal;
  table["SQUARED_DIFFERENCE"] = squared_difference;
  table["SQUARE"] = square;
  table["RSQRT"] = reciprocal_root;
  table["FLOOR_MOD"] = floor_mod;
  table["FLOOR_DIV"] = floor_divide;
  table["LEAKY_RELU"] = leaky_relu;
  table["GELU"] = gelu;
  table["SELECT"] = select;
  table["CAST"] = cast;
  table["DEQUANTIZE"] = dequantize;
  table["QUANTIZE"] = quantize;
  table["DENSIFY"] = densify;
  table["ATAN2"] = atan2;
  table["RIGHT_SHIFT"] = right_shift;
}

}  // namespace ingot::tflite
