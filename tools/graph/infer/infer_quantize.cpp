// tools/graph/infer/infer_quantize.cpp - quantisation of tensors as ONNX has it, spelled out in
// floating point: a graph of QuantizeLinear and DequantizeLinear means just that arithmetic.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

struct Limits {
  double low, high;
};
/// What a quantised element can be; none for a type that nothing is quantised to.
std::optional<Limits> limits_of(DType dtype) {
  switch (dtype) {
    case DType::kU8: return Limits{0, 255};
    case DType::kI8: return Limits{-128, 127};
    case DType::kU16: return Limits{0, 65535};
    case DType::kI16: return Limits{-32768, 32767};
    default: return std::nullopt;
  }
}

ValueId to_f32(NodeContext& context, ValueId x) {
  return context.run().value(x).dtype == DType::kF32 ? x : context.cast(x, DType::kF32);
}

/// A scale or zero point [C] of an axis of x as [1, .., C, .., 1]; one in blocks, repeated to the
/// extent; one number as it is.
ValueId along_axis(NodeContext& context, size_t input, const char* name) {
  const Dims x = context.dims(0), given = context.dims(input);
  const int64_t block = context.node.integer("block_size", 0);
  if (block < 0)
    context.corrupt("block_size is " + std::to_string(block) + ", expected at least 0");
  if (given.empty() || (given.size() == 1 && given[0] == Dim(1) && block == 0))
    return given.empty() ? context.in(input) : context.reshape(context.in(input), {});
  const int64_t axis = context.axis(context.node.integer("axis", 1), int64_t(x.size()));
  const auto mismatch = [&](const Dims& expected) {
    context.corrupt(std::string("its ") + name + " has shape " + text(given) + ", expected " +
                    text(expected));
  };
  if (block == 0) {
    if (given.size() != 1 ||
        (given[0] != x[size_t(axis)] && given[0].is_static() && x[size_t(axis)].is_static()))
      mismatch({x[size_t(axis)]});
    Dims shape(x.size(), Dim(1));
    shape[size_t(axis)] = given[0];
    return context.reshape(context.in(input), shape);
  }
  const auto extent = x[size_t(axis)].value();
  if (!extent)
    context.refuse("block_size",
                   "the dimension in blocks is symbolic (" + x[size_t(axis)].text() + ")",
                   "bind it with --dim");
  Dims expected = x;
  const int64_t blocks = *extent / block + (*extent % block != 0);
  const int64_t repeats = std::min(block, std::max<int64_t>(*extent, 1));
  expected[size_t(axis)] = blocks;
  if (given != expected) mismatch(expected);
  Dims split = expected;
  split.insert(split.begin() + axis + 1, Dim(1));
  const ValueId column = context.reshape(context.in(input), split);
  split[size_t(axis) + 1] = repeats;
  const ValueId repeated = context.expand(column, split);
  Dims joined = expected;
  joined[size_t(axis)] = blocks * repeats;
  const ValueId whole = context.reshape(repeated, joined);
  if (blocks * repeats == *extent) return whole;
  return context.make("Slice", {whole},
                      {{"starts", std::vector<int64_t>{0}},
                       {"ends", std::vector<int64_t>{*extent}},
                       {"axes", std::vector<int64_t>{axis}},
                       {"steps", std::vector<int64_t>{1}}});
}

/// Scales as numbers of the source; those that the run computes are what they are.
ValueId scale_of(NodeContext& context) {
  if (const Constant* given = context.model().constant(context.in(1)))
    if (is_floating(given->dtype))
      for (int64_t i = 0; i < given->elements(); i++) {
        const double scale = read_number(*given, i);
        if (!(scale >= double(std::numeric_limits<float>::min()) && std::isfinite(scale)))
          context.corrupt("its scale is " + std::to_string(scale) + " at element " +
                          std::to_string(i) + ", expected a positive number");
      }
  return to_f32(context, along_axis(context, 1, "scale"));
}

/// round(x / scale) + zero point, between the limits of `to`; ties to even.
void quantize_to(NodeContext& context, ValueId x, ValueId scale, ValueId zero, DType to) {
  const Limits limits = *limits_of(to);
  ValueId steps = context.make("Round", {context.make("Div", {x, scale})});
  if (zero != kAbsent) steps = context.make("Add", {steps, to_f32(context, zero)});
  const ValueId kept = context.make("Clip", {steps}, {{"min", limits.low}, {"max", limits.high}});
  context.finish("Cast", {kept}, {{"to", int64_t(to)}});
}

void quantize(NodeContext& context) {
  const DType stated = DType(context.node.integer("output_dtype", 0));
  const DType to = context.has(2)              ? context.dtype(2)
                   : stated != DType::kInvalid ? stated
                                               : DType::kU8;
  if (context.has(2) && stated != DType::kInvalid && stated != to)
    context.corrupt(std::string("output_dtype is ") + dtype_text(stated) + ", its zero point is " +
                    dtype_text(to));
  if (!limits_of(to))
    context.refuse("y_zero_point", std::string("quantisation to ") + dtype_text(to));
  if (!is_floating(context.dtype(0)) && context.dtype(0) != DType::kI32)
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) +
                    ", expected a floating type or i32");
  const ValueId scale = scale_of(context);
  const ValueId zero = context.has(2) ? along_axis(context, 2, "zero point") : kAbsent;
  quantize_to(context, to_f32(context, context.in(0)), scale, zero, to);
}

/// (x - zero point) * scale
void dequantize(NodeContext& context) {
  const DType from = context.dtype(0), scaled = context.dtype(1);
  const DType stated = DType(context.node.integer("output_dtype", 0));
  if (!limits_of(from) && from != DType::kI32)
    context.corrupt(std::string("its input is ") + dtype_text(from) +
                    ", expected a quantised type or i32");
  if (!is_floating(scaled))
    context.corrupt(std::string("its scale is ") + dtype_text(scaled) +
                    ", expected a floating type");
  ValueId x = context.in(0);
  if (context.has(2)) {
    if (context.dtype(2) != from)
      context.corrupt(std::string("its zero point is ") + dtype_text(context.dtype(2)) +
                      ", its input " + dtype_text(from));
    const ValueId zero = along_axis(context, 2, "zero point");
    x = from == DType::kI32 ? context.make("Sub", {x, zero})
                            : context.make("Sub", {to_f32(context, x), to_f32(context, zero)});
  }
  const ValueId product = context.make("Mul", {to_f32(context, x), scale_of(context)});
  const DType to = stated != DType::kInvalid ? stated : scaled;
  if (to == DType::kF32) return context.same(0, product);
  context.finish("Cast", {product}, {{"to", int64_t(to)}});
}

/// Scale and zero point of what a tensor holds, zero included, as onnxruntime has them: a tensor of
/// zeros has the scale 1.
void dynamic(NodeContext& context) {
  if (context.dtype(0) != DType::kF32)
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) + ", expected f32");
  const ValueId x = context.in(0), nothing = context.scalar(DType::kF32, 0);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < context.rank(0); i++) axes.push_back(i);
  const auto extreme = [&](const char* reduce, const char* with_zero) {
    const ValueId found =
        axes.empty() ? x : context.make(reduce, {x}, {{"axes", axes}, {"keepdims", int64_t(0)}});
    return context.make(with_zero, {found, nothing});
  };
  const ValueId high = extreme("ReduceMax", "Max"), low = extreme("ReduceMin", "Min");
  const ValueId range = context.make("Sub", {high, low});
  const ValueId scale = context.make(
      "Where", {context.make("Equal", {range, nothing}), context.scalar(DType::kF32, 1),
                context.make("Div", {range, context.scalar(DType::kF32, 255)})});
  const ValueId offset = context.make(
      "Clip", {context.make("Round", {context.make("Div", {context.make("Neg", {low}), scale})})},
      {{"min", 0.0}, {"max", 255.0}});
  const ValueId zero = context.cast(offset, DType::kU8);
  const std::vector<ValueId> outputs = context.node.outputs;
  if (outputs.size() > 1 && outputs[1] != kAbsent) context.run().replace(outputs[1], scale);
  if (outputs.size() > 2 && outputs[2] != kAbsent) context.run().replace(outputs[2], zero);
  context.node.outputs.resize(1);
  if (outputs[0] == kAbsent) context.refuse("", "only its scale or zero point is used");
  quantize_to(context, x, scale, zero, DType::kU8);
}

}  // namespace

void add_quantize_rules(InferTable& table) {
  table["QuantizeLinear"] = quantize;
  table["DequantizeLinear"] = dequantize;
  table["DynamicQuantizeLinear"] = dynamic;
}

}  // namespace ingot::graph
