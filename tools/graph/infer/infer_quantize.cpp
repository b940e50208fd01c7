// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_quantize.cpp - quantization of tensors as ONNX has it. With numbers that
// are known, one of the tensor or one of each element of an axis, QuantizeLinear and
// DequantizeLinear stay: passes find integer arithmetic between them. So do DynamicQuantizeLinear,
// and MatMulInteger and ConvInteger with constant weights. Anything else is spelled out in floating
// point, which is what they mean.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

struct Limits {
  double low, high;
};
/// What a quantized element can be; none for a type that nothing is quantized to.
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
  const int64_t block = context.node.integer(attr::block_size, 0);
  if (block < 0)
    context.corrupt("block_size is " + std::to_string(block) + ", expected at least 0");
  if (given.empty() || (given.size() == 1 && given[0] == Dim(1) && block == 0))
    return given.empty() ? context.in(input) : context.reshape(context.in(input), {});
  const int64_t axis = context.axis(context.node.integer(attr::axis, 1), int64_t(x.size()));
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
  return context.make(op::Slice, {whole},
                      {{attr::starts, std::vector<int64_t>{0}},
                       {attr::ends, std::vector<int64_t>{*extent}},
                       {attr::axes, std::vector<int64_t>{axis}},
                       {attr::steps, std::vector<int64_t>{1}}});
}

/// Scales as numbers of the source; those that the run computes are what they are. Weights with
/// several may have negative ones: onnxruntime's 4-bit quantizer gives the largest number of a
/// block to -8, NNCF's symmetric one that of a channel to -128.
ValueId scale_of(NodeContext& context) {
  const bool may_be_negative = context.node.op == op::DequantizeLinear &&
                               !context.dims(1).empty() && context.model().constant(context.in(0));
  if (const Constant* given = context.model().constant(context.in(1)))
    if (is_floating(given->dtype))
      for (int64_t i = 0; i < given->elements(); i++) {
        const double given_scale = read_number(*given, i),
                     scale = may_be_negative ? std::fabs(given_scale) : given_scale;
        if (!(scale >= double(std::numeric_limits<float>::min()) && std::isfinite(scale))) {
          std::ostringstream found;
          found << given_scale;
          context.corrupt("its scale is " + found.str() + " at element " + std::to_string(i) +
                          ", expected a positive normal number");
        }
      }
  return to_f32(context, along_axis(context, 1, "scale"));
}

/// A constant of scales or zero points: of rank 0 where it is one number; none known: `otherwise`.
std::optional<Constant> known_numbers(NodeContext& context, size_t input, DType dtype,
                                      const Dims& otherwise) {
  Constant made;
  if (context.has(input)) {
    const Constant* given = context.model().constant(context.in(input));
    if (!given || given->dtype != dtype) return std::nullopt;
    made = *given;
  } else {
    std::vector<int64_t> dims;
    for (const Dim& d : otherwise) dims.push_back(*d.value());
    made = make_integer(dtype, dims, std::vector<int64_t>(size_t(count_of(dims)), 0));
  }
  if (made.dims == std::vector<int64_t>{1}) made.dims.clear();
  return made;
}

/// Whether some scale of an axis is negative. No integer kernel multiplies by one.
bool has_negative_scale(const Constant& scales) {
  for (int64_t i = 0; i < scales.elements(); i++)
    if (read_number(scales, i) < 0) return true;
  return false;
}

/// In normal form, as x, scale and zero point; false where some number of it is not known, or in
/// blocks and no constant is dequantized. Shapes were compared.
bool stays(NodeContext& context, DType integers, DType floats, DType to) {
  if (floats != DType::kF32) return false;
  const int64_t block = context.node.integer(attr::block_size, 0);
  const Dims& given = context.dims(1);
  const bool is_known = block != 0 && given.size() > 1 && to == DType::kF32 &&
                        context.model().constant(context.in(0));
  if ((block != 0 || given.size() > 1) && !is_known) return false;
  if (!graph::product(given).is_static()) return false;
  const auto scale = known_numbers(context, 1, DType::kF32, {});
  const auto zero = known_numbers(context, 2, integers, given);
  if (!scale || !zero || scale->dims != zero->dims) return false;
  if (block == 0 && has_negative_scale(*scale)) {
    context.note("its weights have negative scales, and are stored as f32");
    return false;
  }
  const int64_t axis = scale->dims.empty() && block == 0
                           ? 0
                           : context.axis(context.node.integer(attr::axis, 1), context.rank(0));
  context.node.inputs = {context.in(0), context.constant(*scale), context.constant(*zero)};
  context.node.attributes = {{attr::axis, axis}};
  if (block != 0) context.node.attributes[attr::block_size] = block;
  context.set(0, to, context.dims(0));
  return true;
}

/// round(x / scale) + zero point, between the limits of `to`; ties to even.
void quantize_to(NodeContext& context, ValueId x, ValueId scale, ValueId zero, DType to) {
  const Limits limits = *limits_of(to);
  ValueId steps = context.make(op::Round, {context.make(op::Div, {x, scale})});
  if (zero != kAbsent) steps = context.make(op::Add, {steps, to_f32(context, zero)});
  const ValueId kept =
      context.make(op::Clip, {steps}, {{attr::min, limits.low}, {attr::max, limits.high}});
  context.finish(op::Cast, {kept}, {{attr::to, int64_t(to)}});
}

void quantize(NodeContext& context) {
  if (context.node.integer(attr::to_floats, 0) != 0) {  // x / scale; an importer rounds it further
    const ValueId scale = scale_of(context);
    return context.finish(op::Div, {to_f32(context, context.in(0)), scale});
  }
  const DType stated = DType(context.node.integer(attr::output_dtype, 0));
  const DType to = context.has(2)              ? context.dtype(2)
                   : stated != DType::kInvalid ? stated
                                               : DType::kU8;
  if (context.has(2) && stated != DType::kInvalid && stated != to)
    context.corrupt(std::string("output_dtype is ") + dtype_text(stated) + ", its zero point is " +
                    dtype_text(to));
  if (!limits_of(to))
    context.refuse("y_zero_point", std::string("quantization to ") + dtype_text(to));
  if (!is_floating(context.dtype(0)) && context.dtype(0) != DType::kI32)
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) +
                    ", expected a floating type or i32");
  const ValueId scale = scale_of(context);
  const ValueId zero = context.has(2) ? along_axis(context, 2, "zero point") : kAbsent;
  if (stays(context, to, context.dtype(0), to)) return;
  quantize_to(context, to_f32(context, context.in(0)), scale, zero, to);
}

/// (x - zero point) * scale
void dequantize(NodeContext& context) {
  const DType from = context.dtype(0), scaled = context.dtype(1);
  const DType stated = DType(context.node.integer(attr::output_dtype, 0));
  // numbers of a floating type that is narrower than any of the graph
  const bool from_floats = context.node.integer(attr::from_floats, 0) != 0;
  if (from_floats ? from != DType::kF32 : !limits_of(from) && from != DType::kI32)
    context.corrupt(std::string("its input is ") + dtype_text(from) +
                    ", expected a quantized type or i32");
  if (!is_floating(scaled))
    context.corrupt(std::string("its scale is ") + dtype_text(scaled) +
                    ", expected a floating type");
  ValueId x = context.in(0);
  const DType to = stated != DType::kInvalid ? stated : scaled;
  if (context.has(2) && context.dtype(2) != from)
    context.corrupt(std::string("its zero point is ") + dtype_text(context.dtype(2)) +
                    ", its input " + dtype_text(from));
  const ValueId scale = scale_of(context);
  if (context.has(2)) along_axis(context, 2, "zero point");
  if (!from_floats && to == scaled && stays(context, from, scaled, DType::kF32)) return;
  if (context.has(2)) {
    const ValueId zero = along_axis(context, 2, "zero point");
    x = from == DType::kI32 ? context.make(op::Sub, {x, zero})
                            : context.make(op::Sub, {to_f32(context, x), to_f32(context, zero)});
  }
  const ValueId product = context.make(op::Mul, {to_f32(context, x), scale});
  if (to == DType::kF32) return context.same(0, product);
  context.finish(op::Cast, {product}, {{attr::to, int64_t(to)}});
}

/// Scale and zero point of what a tensor holds: bytes, f32, u8.
void dynamic(NodeContext& context) {
  if (context.dtype(0) != DType::kF32)
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) + ", expected f32");
  context.node.outputs.resize(3, kAbsent);
  if (context.node.outputs[0] != kAbsent) context.set(0, DType::kU8, context.dims(0));
  if (context.node.outputs[1] != kAbsent) context.set(1, DType::kF32, {});
  if (context.node.outputs[2] != kAbsent) context.set(2, DType::kU8, {});
}

/// Type and zero point of an operand of integers. `dims`: of a zero point that is no single number.
void expect_integers(NodeContext& context, size_t input, size_t zero, const Dims& dims) {
  const DType from = context.dtype(input);
  if (from != DType::kU8 && from != DType::kI8)
    context.corrupt("its input " + std::to_string(input) + " is " + dtype_text(from) +
                    ", expected i8 or u8");
  if (!context.has(zero)) return;
  if (context.dtype(zero) != from)
    context.corrupt("its zero point is " + std::string(dtype_text(context.dtype(zero))) +
                    ", its input " + dtype_text(from));
  const Dims given = context.dims(zero);
  if (graph::product(given) != Dim(1) && (given.size() != 1 || given[0] != graph::product(dims)))
    context.corrupt("its zero point has shape " + text(given) + ", expected " +
                    text({graph::product(dims)}));
}
/// Integers less their zero point, as f32.
ValueId whole_numbers(NodeContext& context, size_t input, size_t zero, const Dims& dims) {
  const ValueId x = to_f32(context, context.in(input));
  if (!context.has(zero)) return x;
  const bool one = graph::product(context.dims(zero)) == Dim(1);
  const ValueId by = context.reshape(to_f32(context, context.in(zero)), one ? Dims{} : dims);
  return context.make(op::Sub, {x, by});
}

/// There are integer kernels: constant weights, one zero point of x, sums of `count` products that
/// fit 32 bits.
bool has_constant_weights(NodeContext& context, const Dim& count) {
  constexpr int64_t kMaxProducts = 65793;
  const auto products = count.value();
  return context.model().constant(context.in(1)) &&
         (!context.has(3) || context.model().constant(context.in(3))) &&
         (!context.has(2) || graph::product(context.dims(2)) == Dim(1)) && products &&
         *products >= 1 && *products <= kMaxProducts;
}

/// The i32 sums that `op` makes of whole numbers x and w, `count` products each. f32 holds them
/// below 2^24; longer ones are the sum of two, with the upper and the lower 4 bits of x.
void sums_of(NodeContext& context, Operator op, ValueId x, ValueId w, const Dim& count,
             const Attributes& attributes) {
  constexpr int64_t kWhole = int64_t(1) << 24, kMaxByte = 255;
  const auto products = count.value();
  const auto sum = [&](ValueId part) {
    return context.cast(context.make(op, {part, w}, attributes), DType::kI32);
  };
  if (products && *products <= kWhole / (kMaxByte * kMaxByte)) return context.same(0, sum(x));
  const bool is_long = !products || *products > kWhole / (kMaxByte * 16);
  if (is_long && op == op::MatMul)  // in whole numbers, slower
    return context.same(
        0, context.make(op, {context.cast(x, DType::kI32), context.cast(w, DType::kI32)}));
  if (is_long)
    context.refuse("", "sums of " + count.text() + " products of bytes, at most " +
                           std::to_string(kWhole / (kMaxByte * 16)) + " are supported");
  const ValueId sixteen = context.scalar(DType::kF32, 16);
  const ValueId upper = context.make(op::Floor, {context.make(op::Div, {x, sixteen})});
  const ValueId lower = context.make(op::Sub, {x, context.make(op::Mul, {upper, sixteen})});
  const ValueId whole = context.make(op::Mul, {sum(upper), context.scalar(DType::kI32, 16)});
  context.same(0, context.make(op::Add, {whole, sum(lower)}));
}

void multiply_integers(NodeContext& context) {
  const Dims a = context.dims(0), b = context.dims(1);
  if (a.empty() || b.empty()) context.corrupt("its operands have no dimensions");
  const Dims rows = a.size() > 1 ? Dims{a[a.size() - 2], Dim(1)} : Dims{Dim(1)};
  expect_integers(context, 0, 2, rows), expect_integers(context, 1, 3, {b.back()});
  if (a.size() > 1 && b.size() == 2 && a.back() == b[0] && has_constant_weights(context, b[0])) {
    Dims y = a;
    y.back() = b[1];
    return context.set(0, DType::kI32, std::move(y));
  }
  const ValueId x = whole_numbers(context, 0, 2, rows),
                w = whole_numbers(context, 1, 3, {b.back()});
  sums_of(context, op::MatMul, x, w, a.back(), {});
}
void convolve_integers(NodeContext& context) {
  const Dims w = context.dims(1);
  if (w.size() < 3) context.corrupt("its weight has shape " + text(w));
  Dims outputs(w.size(), Dim(1));
  outputs[0] = w[0];
  expect_integers(context, 0, 2, {Dim(1)}), expect_integers(context, 1, 3, outputs);
  const Dim count = graph::product(Dims(w.begin() + 1, w.end()));
  if (w.size() <= 4 && context.rank(0) == int64_t(w.size()) && has_constant_weights(context, count))
    return infer_conv_integer(context);
  const ValueId x = whole_numbers(context, 0, 2, {Dim(1)}),
                weight = whole_numbers(context, 1, 3, outputs);
  const Attributes attributes = context.node.attributes;
  sums_of(context, op::Conv, x, weight, count, attributes);
}

}  // namespace

void add_quantize_rules(InferTable& table) {
  table[op::MatMulInteger] = multiply_integers;
  table[op::ConvInteger] = convolve_integers;
  table[op::QuantizeLinear] = quantize;
  table[op::DequantizeLinear] = dequantize;
  table[op::DynamicQuantizeLinear] = dynamic;
}

}  // namespace ingot::graph
