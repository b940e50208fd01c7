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

void add_n(Call& call) {
  ValueId sum = call.input(0);
  for (size_t i = 1; i < call.input_count(); i++) sum = call.b.emit(op::Add, {sum, call.input(i)});
  call.give(sum);
}
void not_equal(Call& call) {
  call.give(call.b.emit(op::Not, {call.b.emit(op::Equal, {call.input(0), call.input(1)})}));
}
void squared_difference(Call& call) {
  const ValueId d = call.b.emit(op::Sub, {call.input(0), call.input(1)});
  call.give(call.b.emit(op::Mul, {d, d}));
}
void square(Call& call) { call.give(call.b.emit(op::Mul, {call.input(0), call.input(0)})); }
void reciprocal_root(Call& call) {
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
  const ValueId x = call.input(0), y = call.input(1);
  if (!graph::is_floating(call.b.dtype(x)))
    return call.give(call.b.emit(op::Mod, {x, y}, {{attr::fmod, int64_t(0)}}));
  const Remainder r = remainder_of(call, x, y);
  call.give(call.b.emit(op::Where, {r.other_sign, call.b.emit(op::Add, {r.rest, y}), r.rest}));
}
/// Of floating numbers the quotient is rounded before it is taken down, as TFLite does.
void floor_divide(Call& call) {
  const ValueId x = call.input(0), y = call.input(1);
  if (graph::is_floating(call.b.dtype(x)))
    return call.give(call.b.emit(op::Floor, {call.b.emit(op::Div, {x, y})}));
  // what is left over may lead out of 8 or 16 bits
  const DType dtype = call.b.dtype(x), wide = dtype_bytes(dtype) < 4 ? DType::kI32 : dtype;
  const ValueId a = call.b.cast(x, wide), b = call.b.cast(y, wide);
  const ValueId rest = call.b.emit(op::Mod, {a, b}, {{attr::fmod, int64_t(0)}});
  call.give(call.b.cast(call.b.emit(op::Div, {call.b.emit(op::Sub, {a, rest}), b}), dtype));
}

void gelu(Call& call) {
  call.give(
      call.b.emit(op::Gelu, {call.input(0)},
                  {{attr::approximate, std::string(call.flag("approximate") ? "tanh" : "none")}}));
}

/// The condition chooses rows where it has one dimension and the others more.
void select(Call& call) {
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
  // Of complex numbers the real parts, as LiteRT does.
  const ValueId x = call.is_complex(0) ? call.part_of_complex(0, 0) : call.input(0);
  call.give(call.b.cast(x, call.output_dtype(0)));
}

/// Of half-precision; what is quantized is numbers where it is read.
void dequantize(Call& call) {
  const ValueId x = call.input(0);
  const fb::Tensor& from = call.tensor(0);
  if (!graph::is_floating(call.b.dtype(x)))
    call.corrupt(std::string("its input is ") + ModelFile::type_name(from.type()) +
                 " without a scale");
  call.give(call.b.cast(x, call.output_dtype(0)));
}
/// What it gives is made bytes behind it.
void quantize(Call& call) { call.give(call.b.cast(call.input(0), DType::kF32)); }
/// A sparse constant is dense already (read_constant).
void densify(Call& call) { call.give(call.input(0)); }

/// By the signs of both; rounded like the function of one argument.
void atan2(Call& call) {
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
  const DType dtype = call.b.dtype(call.input(0));
  if (dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 || dtype == DType::kI64)
    call.refuse("", "shifts signed numbers");
  call.give(call.b.emit(op::BitShift, {call.input(0), call.input(1)},
                        {{attr::direction, std::string("RIGHT")}}));
}

}  // namespace

void add_elementwise(TranslateTable& table) {
  table["ADD_N"] = {1, SIZE_MAX, add_n};
  table["NOT_EQUAL"] = {2, 2, not_equal};
  table["SQUARED_DIFFERENCE"] = {2, 2, squared_difference};
  table["SQUARE"] = {1, 1, square};
  table["RSQRT"] = {1, 1, reciprocal_root};
  table["FLOOR_MOD"] = {2, 2, floor_mod};
  table["FLOOR_DIV"] = {2, 2, floor_divide};
  table["GELU"] = {1, 1, gelu};
  table["SELECT"] = {3, 3, select};
  table["CAST"] = {1, 1, cast};
  table["DEQUANTIZE"] = {1, 1, dequantize};
  table["QUANTIZE"] = {1, 1, quantize};
  table["DENSIFY"] = {1, 1, densify};
  table["ATAN2"] = {2, 2, atan2};
  table["RIGHT_SHIFT"] = {2, 2, right_shift};
}

}  // namespace ingot::tflite
