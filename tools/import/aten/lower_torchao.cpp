// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_torchao.cpp - quantization as torchao spells it (namespace torchao):
// steps of blocks, which are whole tensors, rows, channels or groups of a row. Known weights become
// DequantizeLinear, behind which passes find the integers; what each run quantizes is arithmetic
// that ends in (numbers of bytes - zero) * scale, which passes find too.
#include <limits>

#include "tools/import/aten/operands.h"

namespace ingot::aten {
namespace {

/// x as blocks: a dimension of which a block takes a part becomes two.
struct Blocks {
  Dims dims;                     // of x
  Dims after;                    // with a scale of each block
  Dims scales;                   // the same without the dimensions that blocks take whole
  std::vector<int64_t> reduced;  // the dimensions of a block
};
Blocks blocks_of(Operands& o, const Dims& x) {
  const Dims sizes = o.dims("block_size");
  if (sizes.size() != x.size())
    o.corrupt("its input has shape " + graph::text(x) + ", its blocks " + graph::text(sizes));
  Blocks out;
  const auto reduce = [&](const Dim& extent) {
    out.reduced.push_back(int64_t(out.dims.size()));
    out.dims.push_back(extent), out.after.push_back(Dim(1));
  };
  for (size_t i = 0; i < x.size(); i++) {
    if (sizes[i] == x[i] && x[i] != Dim(1)) {
      reduce(x[i]);
      continue;
    }
    const auto size = sizes[i].value(), extent = x[i].value();
    if (!size || *size < 1 || (*size > 1 && (!extent || *extent % *size != 0)))
      o.refuse("block_size", graph::text(sizes) + " of a tensor of shape " + graph::text(x));
    const Dim count = *size == 1 ? x[i] : Dim(*extent / *size);
    out.dims.push_back(count), out.after.push_back(count), out.scales.push_back(count);
    if (*size > 1) reduce(sizes[i]);
  }
  return out;
}

struct QuantizedRange {
  double low, high;
};
/// Of i8 or u8, or a part of it.
QuantizedRange range_of(Operands& o, const char* type) {
  const DType dtype = o.dtype(type, DType::kI8);
  if (dtype != DType::kI8 && dtype != DType::kU8)
    o.refuse(type, std::string("quantization to ") + dtype_name(dtype));
  QuantizedRange range = dtype == DType::kI8 ? QuantizedRange{-128, 127} : QuantizedRange{0, 255};
  const double low = o.given("quant_min") ? o.number("quant_min") : range.low,
               high = o.given("quant_max") ? o.number("quant_max") : range.high;
  if (!(low >= range.low && high <= range.high && low < high))
    o.refuse("quant_min", "and quant_max are " + std::to_string(low) + " and " +
                              std::to_string(high) + ", which no " + dtype_name(dtype) + " holds");
  return {low, high};
}
ValueId floats_of(Builder& b, ValueId x) { return b.cast(x, DType::kF32); }
ValueId number(Builder& b, double x) { return b.scalar(DType::kF32, x); }

ValueId in_blocks(Operands& o, const char* name, const Dims& dims) {
  const ValueId x = o.read(name);
  if (graph::product(o.b.dims(x)) != graph::product(dims))
    o.corrupt(std::string(name) + " has shape " + graph::text(o.b.dims(x)) + ", expected " +
              graph::text(dims));
  return o.b.reshape(x, dims);
}

Results choose_parameters(Operands& o) {
  Builder& b = o.b;
  const QuantizedRange range = range_of(o, "target_dtype");
  const ValueId x = floats_of(b, o.read("input"));
  const Blocks blocks = blocks_of(o, b.dims(x));
  const std::string kind = o.text("mapping_type");
  const double least = o.given("eps") ? o.number("eps") : double(std::numeric_limits<float>::min());
  const ValueId split = b.reshape(x, blocks.dims), nothing = number(b, 0);
  const auto extreme = [&](graph::Operator reduce, graph::Operator op) {
    return b.emit(op, {b.reduce(reduce, split, blocks.reduced, true), nothing});
  };
  const ValueId low = extreme(op::ReduceMin, op::Min), high = extreme(op::ReduceMax, op::Max);
  const double steps = range.high - range.low;
  ValueId scale = graph::kAbsent, zero = graph::kAbsent;
  if (kind == "ASYMMETRIC") {
    const ValueId width = b.emit(op::Div, {b.emit(op::Sub, {high, low}), number(b, steps)});
    scale = b.emit(op::Max, {width, number(b, least)});
    const ValueId below = b.emit(op::Round, {b.emit(op::Div, {low, scale})});
    zero = b.emit(op::Clip, {b.emit(op::Sub, {number(b, range.low), below})},
                  {{attr::min, range.low}, {attr::max, range.high}});
  } else if (kind == "SYMMETRIC" || kind == "SYMMETRIC_NO_CLIPPING_ERR") {
    ValueId width;
    if (kind == "SYMMETRIC")
      width =
          b.emit(op::Div, {b.emit(op::Max, {b.emit(op::Neg, {low}), high}), number(b, steps / 2)});
    else
      width = b.emit(op::Max, {b.emit(op::Div, {low, number(b, range.low)}),
                               b.emit(op::Div, {high, number(b, range.high)})});
    scale = b.emit(op::Max, {width, number(b, least)});
    const double middle = double(int64_t((range.high + range.low + 1) / 2));
    zero = b.emit(op::Add, {b.emit(op::Mul, {scale, nothing}), number(b, middle)});
  } else {
    o.refuse("mapping_type", "'" + kind + "' is not known");
  }
  Dims dims = blocks.scales;
  if (o.flag("keepdim")) {
    dims.clear();
    const Dims all = b.dims(x), sizes = o.dims("block_size");
    for (size_t i = 0; i < all.size(); i++)
      dims.push_back(sizes[i] == all[i] ? Dim(1) : all[i] / sizes[i]);
  }
  const auto as = [&](ValueId id, const char* name, DType otherwise) {
    return Value::of(b.own(b.cast(b.reshape(id, dims), o.dtype(name, otherwise))));
  };
  return {as(scale, "scale_dtype", DType::kF32), as(zero, "zero_point_dtype", DType::kI32)};
}

Results quantize_blocks(Operands& o) {
  Builder& b = o.b;
  const QuantizedRange range = range_of(o, "output_dtype");
  const ValueId x = floats_of(b, o.read("input"));
  const Blocks blocks = blocks_of(o, b.dims(x));
  const ValueId by =
      b.emit(op::Div, {number(b, 1), floats_of(b, in_blocks(o, "scale", blocks.after))});
  ValueId steps = b.emit(op::Round, {b.emit(op::Mul, {b.reshape(x, blocks.dims), by})});
  if (o.given("zero_point"))
    steps = b.emit(op::Add, {steps, floats_of(b, in_blocks(o, "zero_point", blocks.after))});
  const ValueId kept = b.emit(op::Clip, {steps}, {{attr::min, range.low}, {attr::max, range.high}});
  return o.result(b.reshape(b.cast(kept, o.dtype("output_dtype", DType::kI8)), b.dims(x)));
}

/// Weights whose rows have one scale each, or one of each group.
std::optional<ValueId> dequantized_weights(Operands& o, ValueId x, const Blocks& blocks) {
  Builder& b = o.b;
  const graph::Constant *const held = b.model.constant(x), *const scale =
                                                               b.model.constant(o.read("scale"));
  if (!held || !scale || held->dims.size() != 2 || blocks.after[0] != Dim(held->dims[0]))
    return std::nullopt;
  const bool in_groups = blocks.scales.size() == 2;
  if (!in_groups && blocks.reduced != std::vector<int64_t>{1}) return std::nullopt;
  const ValueId scales = floats_of(b, in_blocks(o, "scale", blocks.scales));
  std::vector<ValueId> inputs = {x, scales};
  if (o.given("zero_point"))
    inputs.push_back(b.cast(in_blocks(o, "zero_point", blocks.scales), held->dtype));
  Attributes attributes = {{attr::axis, int64_t(in_groups)}};
  if (in_groups) attributes[attr::block_size] = *o.dims("block_size")[1].value();
  return b.emit(op::DequantizeLinear, inputs, attributes);
}

Results dequantize_blocks(Operands& o) {
  Builder& b = o.b;
  (void)range_of(o, "input_dtype");
  const ValueId x = o.read("input");
  if (b.dtype(x) != o.dtype("input_dtype", DType::kI8))
    o.corrupt(std::string("its input is ") + dtype_name(b.dtype(x)) + ", its input_dtype says " +
              dtype_name(o.dtype("input_dtype", DType::kI8)));
  const Blocks blocks = blocks_of(o, b.dims(x));
  const auto typed = [&](ValueId y) {
    return o.result(b.cast(y, o.dtype("output_dtype", DType::kF32)));
  };
  if (const auto known = dequantized_weights(o, x, blocks)) return typed(*known);
  ValueId numbers = floats_of(b, b.reshape(x, blocks.dims));
  if (o.given("zero_point"))
    numbers = b.emit(op::Sub, {numbers, floats_of(b, in_blocks(o, "zero_point", blocks.after))});
  const ValueId scale = floats_of(b, in_blocks(o, "scale", blocks.after));
  return typed(b.reshape(b.emit(op::Mul, {numbers, scale}), b.dims(x)));
}

/// Sums of 32 bits of products of integers.
Results multiply_integers(Operands& o) {
  return o.result(o.b.emit(op::MatMulInteger, {o.read("self"), o.read("mat2")}));
}

}  // namespace

void add_torchao(Table& table) {
  const std::string blocks = "int[] block_size, ", scale = "Tensor scale, Tensor? zero_point, ",
                    range = "Scalar? quant_min=None, Scalar? quant_max=None";
  table.add("torchao::choose_qparams_affine",
            "Tensor input, str mapping_type, " + blocks + "int target_dtype, " + range +
                ", float? eps=None, int? scale_dtype=None, int? zero_point_dtype=None, bool "
                "keepdim=False",
            choose_parameters);
  table.add("torchao::quantize_affine",
            "Tensor input, " + blocks + scale + "int output_dtype, " + range, quantize_blocks);
  table.add(
      "torchao::dequantize_affine",
      "Tensor input, " + blocks + scale + "int input_dtype, " + range + ", int output_dtype=6",
      dequantize_blocks);
  table.add("_int_mm", "Tensor self, Tensor mat2", multiply_integers);
}

}  // namespace ingot::aten
