// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_decomposed.cpp - quantization as programs of torch.export spell it
// (namespace quantized_decomposed: PT2E), and as training imitates it (fake_quantize). Known steps
// become QuantizeLinear and DequantizeLinear, between which passes find the integers; those that
// each run computes are arithmetic in floating point.
#include "tools/graph/tensor_math.h"
#include "tools/import/aten/promotion.h"
#include "tools/import/aten/quantized_tensor.h"

namespace ingot::aten {
namespace {

struct Range {
  double low, high;
};
std::optional<Range> range_of(DType type) {
  switch (type) {
    case DType::kU8: return Range{0, 255};
    case DType::kI8: return Range{-128, 127};
    case DType::kU16: return Range{0, 65535};
    case DType::kI16: return Range{-32768, 32767};
    default: return std::nullopt;
  }
}
/// The range that the program states, inside that of the type.
Range stated_range(Operands& o, DType type) {
  const auto whole = range_of(type);
  if (!whole) o.refuse("dtype", std::string("quantization to ") + dtype_name(type));
  const Range range = {o.known_number("quant_min"), o.known_number("quant_max")};
  if (!(range.low >= whole->low && range.high <= whole->high && range.low < range.high))
    o.refuse("quant_min", "and quant_max are " + std::to_string(range.low) + " and " +
                              std::to_string(range.high) + ", which no " + dtype_name(type) +
                              " holds");
  return range;
}
bool is_whole(const Range& range, DType type) {
  return range.low == range_of(type)->low && range.high == range_of(type)->high;
}

/// A number or a tensor as a value of that type; of one element: of rank 0.
ValueId value_of(Operands& o, const char* name, DType type) {
  const Value& v = o.value(name);
  if (!v.is(Value::Kind::kTensor)) return o.b.scalar(type, o.number(name));
  const ValueId id = o.b.read(v.tensor);
  if (const graph::Constant* const held = o.b.model.constant(id); held && !graph::is_floating(type))
    for (int64_t i = 0; i < held->elements(); i++) {
      const double number = graph::read_number(*held, i);
      const auto range = range_of(type);
      if (range && !(number >= range->low && number <= range->high))
        o.corrupt(std::string(name) + " is " + std::to_string(number) + " at element " +
                  std::to_string(i) + ", which no " + dtype_name(type) + " holds");
    }
  const ValueId made = o.b.cast(id, type);
  return o.b.dims(made) == Dims{Dim(1)} ? o.b.reshape(made, {}) : made;
}
/// [C] of an axis of x as [1, .., C, .., 1].
ValueId along(Builder& b, ValueId numbers, ValueId x, int64_t axis) {
  if (b.rank(numbers) != 1) return numbers;
  Dims dims(size_t(b.rank(x)), Dim(1));
  dims[size_t(axis)] = b.dims(numbers)[0];
  return b.reshape(numbers, dims);
}
ValueId floats(Builder& b, ValueId x) { return b.cast(x, DType::kF32); }

/// round(x / scale) + zero, in a range that is not that of a type.
ValueId steps_of(Builder& b, ValueId x, ValueId scale, ValueId zero, const Range& range) {
  const ValueId steps = b.emit(
      op::Add, {b.emit(op::Round, {b.emit(op::Div, {floats(b, x), scale})}), floats(b, zero)});
  return b.emit(op::Clip, {steps}, {{attr::min, range.low}, {attr::max, range.high}});
}

struct Names {
  const char *x, *scale, *zero_point;
};
ValueId quantized_along(Operands& o, const Names& names, DType type, int64_t axis) {
  Builder& b = o.b;
  const ValueId x = o.read(names.x), scale = value_of(o, names.scale, DType::kF32),
                zero = value_of(o, names.zero_point, type);
  const Range range = stated_range(o, type);
  if (is_whole(range, type))
    return b.emit(op::QuantizeLinear, {floats(b, x), scale, zero}, {{attr::axis, axis}});
  const graph::Constant *const known = b.model.constant(scale), *const at = b.model.constant(zero);
  if (known && at && known->elements() == 1 && at->elements() == 1) {
    const double by = graph::read_number(*known, 0), from = graph::read_number(*at, 0);
    const ValueId kept = b.emit(op::Clip, {floats(b, x)},
                                {{attr::min, double(float(range.low - from) * float(by))},
                                 {attr::max, double(float(range.high - from) * float(by))}});
    return b.emit(op::QuantizeLinear, {kept, scale, zero}, {{attr::axis, axis}});
  }
  return b.cast(steps_of(b, x, along(b, scale, x, axis), along(b, zero, x, axis), range), type);
}

DType stated_type(Operands& o) { return o.dtype("dtype", DType::kU8); }
Results typed(Operands& o, ValueId x, const char* name) {
  return o.result(o.b.cast(x, o.dtype(name, DType::kF32)));
}
void check_type(Operands& o, ValueId x) {
  if (o.b.dtype(x) != stated_type(o))
    o.corrupt(std::string("its input is ") + dtype_name(o.b.dtype(x)) + ", its dtype says " +
              dtype_name(stated_type(o)));
}

Results quantize_per_tensor(Operands& o) {
  return o.result(quantized_along(o, {"input", "scale", "zero_point"}, stated_type(o), 0));
}
Results quantize_per_channel(Operands& o) {
  const int64_t axis = o.axis("axis", o.b.rank(o.read("input")));
  return o.result(quantized_along(o, {"input", "scales", "zero_points"}, stated_type(o), axis));
}
Results dequantize_per_tensor(Operands& o) {
  const ValueId x = o.read("input");
  check_type(o, x);
  const ValueId scale = value_of(o, "scale", DType::kF32),
                zero = value_of(o, "zero_point", o.b.dtype(x));
  return typed(o, o.b.emit(op::DequantizeLinear, {x, scale, zero}), "out_dtype");
}
/// Zero points of embeddings are no whole numbers.
Results dequantize_per_channel(Operands& o) {
  Builder& b = o.b;
  const ValueId x = o.read("input");
  check_type(o, x);
  const int64_t axis = o.axis("axis", b.rank(x));
  const ValueId scale = value_of(o, "scales", DType::kF32);
  ValueId zero = o.read_or_absent("zero_points");
  if (zero >= 0 && graph::is_floating(b.dtype(zero))) {
    const ValueId apart = b.emit(op::Sub, {floats(b, x), along(b, floats(b, zero), x, axis)});
    return typed(o, b.emit(op::Mul, {apart, along(b, scale, x, axis)}), "out_dtype");
  }
  if (zero >= 0) zero = value_of(o, "zero_points", b.dtype(x));
  return typed(o, b.emit(op::DequantizeLinear, {x, scale, zero}, {{attr::axis, axis}}),
               "out_dtype");
}

/// Groups of elements of the last dimension, [.., K / group] scales.
Results dequantize_per_group(Operands& o) {
  Builder& b = o.b;
  const ValueId x = o.read("input");
  check_type(o, x);
  const ValueId scale = b.cast(o.read("scales"), DType::kF32);
  const ValueId zero =
      o.given("zero_points") ? value_of(o, "zero_points", b.dtype(x)) : graph::kAbsent;
  const int64_t group = o.integer("group_size"), axis = b.rank(x) - 1;
  if (group < 1 || axis < 0) o.corrupt("has groups of " + std::to_string(group) + " elements");
  return typed(o,
               b.emit(op::DequantizeLinear, {x, scale, zero},
                      {{attr::axis, axis}, {attr::block_size, group}}),
               "output_dtype");
}

/// Scale and zero point of what x holds, zero included.
struct Chosen {
  ValueId scale, zero;
};
Results give(Operands& o, const Chosen& chosen, Dims dims) {
  const auto as = [&](ValueId id, DType type) {
    const ValueId made = o.b.cast(id, type);
    return Value::of(o.b.own(dims.empty() ? o.b.reshape(made, {Dim(1)}) : made));
  };
  return {as(chosen.scale, DType::kF64), as(chosen.zero, DType::kI64)};
}
ValueId at_least(Builder& b, ValueId x, double number) {
  return b.emit(op::Max, {x, b.scalar(DType::kF32, number)});
}
Results choose_qparams(Operands& o) {
  Builder& b = o.b;
  const Range range = stated_range(o, stated_type(o));
  const ValueId x = floats(b, o.read("input")), nothing = b.scalar(DType::kF32, 0);
  const ValueId high = b.emit(op::Max, {b.reduce(op::ReduceMax, x, {}, false), nothing}),
                low = b.emit(op::Min, {b.reduce(op::ReduceMin, x, {}, false), nothing});
  const double steps = range.high - range.low;
  Chosen chosen;
  if (o.op().find("symmetric") != std::string::npos) {
    if (stated_type(o) != DType::kI8) o.refuse("dtype", "of symmetric steps is not int8");
    const ValueId most = b.emit(op::Max, {high, b.emit(op::Neg, {low})});
    chosen.scale =
        at_least(b, b.emit(op::Div, {most, b.scalar(DType::kF32, steps / 2)}), o.number("eps"));
    chosen.zero = b.scalar(DType::kI64, 0);
    return give(o, chosen, {});
  }
  chosen.scale =
      at_least(b, b.emit(op::Div, {b.emit(op::Sub, {high, low}), b.scalar(DType::kF32, steps)}),
               o.number("eps"));
  const ValueId below = b.emit(op::Round, {b.emit(op::Div, {low, chosen.scale})});
  chosen.zero = b.emit(op::Clip, {b.emit(op::Sub, {b.scalar(DType::kF32, range.low), below})},
                       {{attr::min, range.low}, {attr::max, range.high}});
  return give(o, chosen, {});
}
/// One of each row of the last dimension, over all steps of i8.
Results choose_per_token(Operands& o) {
  Builder& b = o.b;
  if (stated_type(o) != DType::kI8) o.refuse("dtype", "of rows is not int8");
  const ValueId x = floats(b, o.read("input"));
  const std::vector<int64_t> last = {b.rank(x) - 1};
  Chosen chosen;
  if (o.op().find("asymmetric") == std::string::npos) {
    const ValueId most = b.reduce(op::ReduceMax, b.emit(op::Abs, {x}), last, true);
    chosen.scale = b.emit(op::Div, {at_least(b, most, 1e-5), b.scalar(DType::kF32, 127)});
    chosen.zero = b.emit(op::Mul, {chosen.scale, b.scalar(DType::kF32, 0)});
    return give(o, chosen, b.dims(chosen.scale));
  }
  const ValueId nothing = b.scalar(DType::kF32, 0);
  const ValueId high = b.emit(op::Max, {b.reduce(op::ReduceMax, x, last, true), nothing}),
                low = b.emit(op::Min, {b.reduce(op::ReduceMin, x, last, true), nothing});
  constexpr double kEpsilon = 1.1920928955078125e-07;
  chosen.scale = at_least(
      b, b.emit(op::Div, {b.emit(op::Sub, {high, low}), b.scalar(DType::kF32, 255)}), kEpsilon);
  const ValueId down = b.emit(op::Div, {low, chosen.scale}),
                up = b.emit(op::Div, {high, chosen.scale});
  const ValueId least = b.scalar(DType::kF32, -128), most = b.scalar(DType::kF32, 127);
  const ValueId errors =
      b.emit(op::Add, {b.emit(op::Add, {least, down}), b.emit(op::Add, {most, up})});
  const ValueId zero =
      b.emit(op::Where, {b.emit(op::Greater, {errors, nothing}), b.emit(op::Sub, {least, down}),
                         b.emit(op::Sub, {most, up})});
  chosen.zero =
      b.emit(op::Round, {b.emit(op::Clip, {zero}, {{attr::min, -128.0}, {attr::max, 127.0}})});
  return give(o, chosen, b.dims(chosen.scale));
}
Results quantize_per_token(Operands& o) {
  Builder& b = o.b;
  const DType type = stated_type(o);
  const Range range = stated_range(o, type);
  const ValueId scale = floats(b, o.read("scales")), zero = floats(b, o.read("zero_points"));
  const ValueId steps =
      b.emit(op::Round, {b.emit(op::Add, {b.emit(op::Div, {o.read("input"), scale}), zero})});
  return o.result(
      b.cast(b.emit(op::Clip, {steps}, {{attr::min, range.low}, {attr::max, range.high}}), type));
}
Results dequantize_per_token(Operands& o) {
  Builder& b = o.b;
  check_type(o, o.read("input"));
  const ValueId apart =
      b.emit(op::Sub, {floats(b, o.read("input")), floats(b, o.read("zero_points"))});
  return typed(o, b.emit(op::Mul, {apart, floats(b, o.read("scales"))}), "output_dtype");
}

/// Rows of bytes, which become numbers behind the choice.
Results embed(Operands& o) {
  Builder& b = o.b;
  const ValueId indices = o.read("indices");
  const auto rows = [&](const char* name) {
    ValueId table = floats(b, o.read(name));
    if (b.rank(table) == 1) table = b.reshape(table, {b.dims(table)[0], Dim(1)});
    return table;
  };
  const auto chosen = [&](ValueId table) {
    return b.emit(op::Gather, {table, indices}, {{attr::axis, int64_t(0)}});
  };
  if (b.rank(o.read("weight")) != 2 || b.dims(rows("weight_scales")).back() != Dim(1))
    o.refuse("weight_scales", "are in groups of a row");
  ValueId numbers = floats(b, chosen(o.read("weight")));
  if (o.given("weight_zero_points"))
    numbers = b.emit(op::Sub, {numbers, chosen(rows("weight_zero_points"))});
  return typed(o, b.emit(op::Mul, {numbers, chosen(rows("weight_scales"))}), "dtype");
}

// What training imitates.

/// The type that has this range, or nearly.
std::optional<DType> type_of(const Range& range) {
  if (range.low >= 0 && range.high <= 255) return DType::kU8;
  if (range.low >= -128 && range.high <= 127) return DType::kI8;
  return std::nullopt;
}
Results imitate(Operands& o) {
  Builder& b = o.b;
  const Range range = {o.known_number("quant_min"), o.known_number("quant_max")};
  const auto type = type_of(range);
  const ValueId x = o.read("self");
  const bool in_channels = o.has("axis");
  const int64_t axis = in_channels ? o.axis("axis", b.rank(x)) : 0;
  const bool is_float = o.value("zero_point").is(Value::Kind::kTensor) &&
                        graph::is_floating(b.dtype(o.read("zero_point")));
  ValueId made;
  if (type && !is_float) {
    const ValueId bytes = quantized_along(o, {"self", "scale", "zero_point"}, *type, axis);
    made = b.emit(op::DequantizeLinear,
                  {bytes, value_of(o, "scale", DType::kF32), value_of(o, "zero_point", *type)},
                  {{attr::axis, axis}});
  } else {
    const ValueId scale = along(b, value_of(o, "scale", DType::kF32), x, axis),
                  zero = along(b, value_of(o, "zero_point", DType::kF32), x, axis);
    made = b.emit(op::Mul, {b.emit(op::Sub, {steps_of(b, x, scale, zero, range), zero}), scale});
  }
  const Value mask = Value::unavailable("the mask of a gradient is not made");
  if (o.op().find("cachemask") != std::string::npos) return {Value::of(b.own(made)), mask};
  return o.result(made);
}

}  // namespace

void add_decomposed(Table& table) {
  const std::string space = "quantized_decomposed::",
                    range = "int quant_min, int quant_max, int dtype",
                    tensors = "Tensor quant_min, Tensor quant_max, int dtype",
                    one = "Tensor input, float scale, int zero_point, ",
                    held = "Tensor input, Tensor scale, Tensor zero_point, ",
                    each = "Tensor input, Tensor scales, Tensor zero_points, ";
  table.add(space + "quantize_per_tensor", one + range, quantize_per_tensor);
  table.add(space + "quantize_per_tensor.tensor", held + range, quantize_per_tensor);
  table.add(space + "quantize_per_tensor.tensor2", held + tensors, quantize_per_tensor);
  const std::string out = ", *, int? out_dtype=None";
  table.add(space + "dequantize_per_tensor", one + range + out, dequantize_per_tensor);
  table.add(space + "dequantize_per_tensor.tensor", held + range + out, dequantize_per_tensor);
  table.add(space + "dequantize_per_tensor.tensor2", held + tensors + out, dequantize_per_tensor);
  table.add(space + "quantize_per_channel", each + "int axis, " + range, quantize_per_channel);
  table.add(space + "dequantize_per_channel",
            "Tensor input, Tensor scales, Tensor? zero_points, int axis, " + range + out,
            dequantize_per_channel);
  table.add(space + "dequantize_per_channel_group",
            "Tensor input, Tensor scales, Tensor? zero_points, " + range +
                ", int group_size=128, int? output_dtype=None",
            dequantize_per_group);
  for (const char* name : {"choose_qparams.tensor", "choose_qparams_symmetric.tensor"})
    table.add(space + name, "Tensor input, int quant_min, int quant_max, float eps, int dtype",
              choose_qparams);
  for (const char* name : {"choose_qparams_per_token", "choose_qparams_per_token_asymmetric",
                           "_choose_qparams_per_token_asymmetric_impl"})
    table.add(space + name, "Tensor input, int dtype", choose_per_token);
  table.add(space + "quantize_per_token", each + range, quantize_per_token);
  table.add(space + "dequantize_per_token", each + range + ", int output_dtype",
            dequantize_per_token);
  const std::string rows =
      "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int "
      "weight_quant_max, Tensor indices, *, int? dtype=None";
  table.add(space + "embedding_byte", rows, embed);
  table.add(space + "embedding_byte.dtype", rows, embed);

  const std::string limits = "int quant_min, int quant_max",
                    mine = "Tensor self, float scale, int zero_point, ",
                    its = "Tensor self, Tensor scale, Tensor zero_point, ";
  table.add_all("fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask",
                mine + limits, imitate);
  table.add("fake_quantize_per_tensor_affine.tensor_qparams", its + limits, imitate);
  table.add_all("fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask",
                its + "int axis, " + limits, imitate);
}

}  // namespace ingot::aten
