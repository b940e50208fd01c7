// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_activation.cpp - activations, and what does nothing in inference.
#include "tools/import/aten/operands.h"
#include "tools/import/aten/promotion.h"

namespace ingot::aten {
namespace {

Results silu(Operands& o) {
  const ValueId x = o.read("self");
  return o.result(o.b.emit(op::Mul, {x, o.b.emit(op::Sigmoid, {x})}));
}
Results gelu(Operands& o) {
  const std::string form = o.text("approximate");
  if (form != "none" && form != "tanh") o.refuse("approximate", "'" + form + "' is not known");
  return o.result(o.b.emit(op::Gelu, {o.read("self")}, {{attr::approximate, form}}));
}
Results elu(Operands& o) {
  if (o.number("input_scale") != 1) o.refuse("input_scale", "only 1 is supported");
  const ValueId x = o.read("self");
  const double scale = o.number("scale");
  if (scale == 1) return o.result(o.b.emit(op::Elu, {x}, {{attr::alpha, o.number("alpha")}}));
  return o.result(
      o.b.emit(op::Selu, {x}, {{attr::alpha, o.number("alpha")}, {attr::gamma, scale}}));
}
/// Beyond its threshold PyTorch takes x itself, which is the same number from 20 on where nothing
/// is multiplied.
Results softplus(Operands& o) {
  const ValueId x = o.read("self");
  const double beta = o.number("beta"), threshold = o.number("threshold");
  if (beta == 1 && threshold >= 20) return o.result(o.b.emit(op::Softplus, {x}));
  const DType dtype = o.b.dtype(x);
  const ValueId scaled = o.b.emit(op::Mul, {x, o.b.scalar(dtype, beta)});
  const ValueId made =
      o.b.emit(op::Div, {o.b.emit(op::Softplus, {scaled}), o.b.scalar(dtype, beta)});
  const ValueId above = o.b.emit(op::Greater, {scaled, o.b.scalar(dtype, threshold)});
  return o.result(o.b.emit(op::Where, {above, x, made}));
}
Results log_sigmoid(Operands& o) {
  const ValueId x = o.read("self");
  return o.result(o.b.emit(op::Neg, {o.b.emit(op::Softplus, {o.b.emit(op::Neg, {x})})}));
}
Results tanh_shrink(Operands& o) {
  const ValueId x = o.read("self");
  return o.result(o.b.emit(op::Sub, {x, o.b.emit(op::Tanh, {x})}));
}
/// NaN stays NaN.
Results shrink(Operands& o) {
  const ValueId x = o.read("self");
  const DType dtype = o.b.dtype(x);
  const double lambda = o.number("lambd");
  if (o.op() == "hardshrink") {
    const ValueId small =
        o.b.emit(op::LessOrEqual, {o.b.emit(op::Abs, {x}), o.b.scalar(dtype, lambda)});
    return o.result(o.b.emit(op::Where, {small, o.b.scalar(dtype, 0), x}));
  }
  const ValueId made = o.b.emit(op::Shrink, {x}, {{attr::lambd, lambda}, {attr::bias, lambda}});
  return o.result(o.b.emit(op::Where, {o.b.emit(op::IsNaN, {x}), x, made}));
}
Results threshold(Operands& o) {
  const ValueId x = o.read("self");
  const DType dtype = o.b.dtype(x);
  const ValueId below = o.b.emit(op::LessOrEqual, {x, o.b.scalar(dtype, o.number("threshold"))});
  return o.result(o.b.emit(op::Where, {below, o.b.scalar(dtype, o.number("value")), x}));
}
/// Slopes belong to dimension 1.
Results prelu(Operands& o) {
  const ValueId x = o.read("self");
  ValueId slope = o.read("weight");
  const int64_t rank = o.b.rank(x);
  if (o.b.rank(slope) == 1 && rank > 2) {
    Dims dims(size_t(rank - 1), Dim(1));
    dims[0] = o.b.dims(slope)[0];
    slope = o.b.reshape(slope, dims);
  }
  return o.result(o.b.emit(op::PRelu, {x, slope}));
}
Results glu(Operands& o) {
  const ValueId x = o.read("self");
  const int64_t axis = o.axis("dim", o.b.rank(x));
  const std::vector<ValueId> halves =
      o.b.emit_many(op::Split, {x}, {{attr::axis, axis}, {attr::num_outputs, int64_t(2)}}, 2);
  return o.result(o.b.emit(op::Mul, {halves[0], o.b.emit(op::Sigmoid, {halves[1]})}));
}

/// The same tensor object.
Results same(Operands& o) { return {o.value(o.has("self") ? "self" : "input")}; }
Results dropout(Operands& o) {
  if (o.flag("train"))
    o.b.note(
        "Dropout was saved in training mode; converted in inference form, where it does nothing");
  return {o.value("input")};
}
Results native_dropout(Operands& o) {
  if (o.flag("train"))
    o.b.note(
        "Dropout was saved in training mode; converted in inference form, where it does nothing");
  return {o.value("input"),
          Value::unavailable("the mask of a dropout is not made in inference form")};
}
Results copied(Operands& o) { return o.result(o.read(o.has("self") ? "self" : "input")); }
/// A tensor of another memory format is a tensor of its own, or the same one where both formats
/// mean the same strides.
Results in_format(Operands& o) {
  constexpr int64_t kRowMajor = 0, kPreserve = 1;
  const Tensor x = o.tensor("self");
  const ValueId value = o.b.read(x);
  const int64_t format = o.given("memory_format") ? o.integer("memory_format") : kRowMajor;
  if (format == kPreserve) return same(o);
  const Shared shared =
      format == kRowMajor ? is_row_major(o.b.dims(value), o.b.strides(x)) : Shared::kUnknown;
  if (shared == Shared::kYes) return same(o);
  if (shared == Shared::kNo) return o.result(value);
  const Tensor made = o.b.view_or_copy(x, value);
  if (format != kRowMajor) Builder::forget_strides(made);
  return {Value::of(made)};
}
/// Nothing to compute: what it checks was checked when the program was exported.
Results nothing(Operands&) { return {}; }

/// The same tensor where type and memory stay, as PyTorch does.
Results converted(Operands& o, DType to) {
  const ValueId x = o.read("self");
  if (o.b.dtype(x) == to && !(o.has("copy") && o.given("copy") && o.flag("copy")))
    return o.has("memory_format") && o.given("memory_format") ? in_format(o) : same(o);
  return o.result(o.b.cast(x, to));
}
Results to(Operands& o) {
  const ValueId x = o.read("self");
  return converted(o, o.given("other") ? o.b.dtype(o.read("other"))
                      : o.has("dtype") ? o.dtype("dtype", o.b.dtype(x))
                                       : o.b.dtype(x));
}
Results to_copy(Operands& o) {
  const ValueId x = o.read("self");
  const DType to = o.dtype("dtype", o.b.dtype(x));
  const graph::Constant* const held = o.b.model.constant(x);
  // A matrix of bytes as weights: computed now it would lie in the file as f32.
  if (to == DType::kF32 && held && held->dtype == DType::kI8 && held->dims.size() == 2)
    return o.result(
        o.b.emit(op::DequantizeLinear, {x, o.b.scalar(DType::kF32, 1), o.b.scalar(DType::kI8, 0)}));
  return o.result(o.b.cast(x, to));
}
Results named_type(Operands& o) {
  static const std::map<std::string, DType> kTypes = {
      {"float", DType::kF32},     {"double", DType::kF64},      {"half", DType::kF16},
      {"bfloat16", DType::kBF16}, {"int", DType::kI32},         {"long", DType::kI64},
      {"bool", DType::kBool},     {"_cast_Float", DType::kF32}, {"_cast_Long", DType::kI64},
      {"_cast_Int", DType::kI32}, {"_cast_Half", DType::kF16},  {"_cast_Double", DType::kF64}};
  return converted(o, kTypes.at(o.op()));
}
/// The pure form of writing: what self holds afterwards.
Results copy(Operands& o) {
  const ValueId self = o.read("self");
  return o.result(o.b.expand(o.b.cast(o.read("src"), o.b.dtype(self)), o.b.dims(self)));
}

}  // namespace

void add_activations(Table& table) {
  table.add("hardswish", "Tensor self", one_node(op::HardSwish));
  table.add("mish", "Tensor self", one_node(op::Mish));
  table.add_all("silu swish", "Tensor self", silu);
  table.add("hardsigmoid", "Tensor self",
            one_node(op::HardSigmoid, {{attr::alpha, 1.0 / 6}, {attr::beta, 0.5}}));
  table.add("relu6", "Tensor self", one_node(op::Clip, {{attr::min, 0.0}, {attr::max, 6.0}}));
  table.add("hardtanh", "Tensor self, Scalar min_val=-1, Scalar max_val=1",
            one_node(op::Clip, {}, {{attr::min, "min_val"}, {attr::max, "max_val"}}));
  table.add("gelu", "Tensor self, *, str approximate='none'", gelu);
  table.add("leaky_relu", "Tensor self, Scalar negative_slope=0.01",
            one_node(op::LeakyRelu, {}, {{attr::alpha, "negative_slope"}}));
  table.add("elu", "Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1", elu);
  table.add(
      "selu", "Tensor self",
      one_node(op::Selu, {{attr::alpha, 1.6732632423543772}, {attr::gamma, 1.0507009873554805}}));
  table.add("celu", "Tensor self, Scalar alpha=1.0",
            one_node(op::Celu, {}, {{attr::alpha, "alpha"}}));
  table.add("softplus", "Tensor self, Scalar beta=1, Scalar threshold=20", softplus);
  table.add("softsign", "Tensor self", one_node(op::Softsign));
  table.add("log_sigmoid", "Tensor self", log_sigmoid);
  table.add("tanhshrink", "Tensor self", tanh_shrink);
  table.add_all("softshrink hardshrink", "Tensor self, Scalar lambd=0.5", shrink);
  table.add("threshold", "Tensor self, Scalar threshold, Scalar value", threshold);
  table.add_all("prelu _prelu_kernel", "Tensor self, Tensor weight", prelu);
  table.add("glu", "Tensor self, int dim=-1", glu);

  table.add_all("dropout feature_dropout alpha_dropout feature_alpha_dropout",
                "Tensor input, float p, bool train", dropout);
  table.add("native_dropout", "Tensor input, float p, bool? train", native_dropout);
  table.add_all("alias detach lift_fresh lift resolve_conj resolve_neg positive", "Tensor self",
                same);
  table.add("requires_grad_", "Tensor self, bool requires_grad=True", same);
  table.add_all("cpu", "Tensor self", same);
  table.add("contiguous", "Tensor self, *, Any memory_format=None", in_format);
  table.add_all("clone", "Tensor self, *, Any memory_format=None", copied);
  table.add_all("lift_fresh_copy detach_copy alias_copy", "Tensor self", copied);
  table.add_all(
      "_assert_tensor_metadata",
      "Tensor a, Any size=None, Any stride=None, Any dtype=None, Any device=None, Any layout=None",
      nothing);
  table.add_all("_assert_async", "Any self, Any assert_msg=None", nothing);
  table.add_all("_assert_scalar", "Any self, Any assert_msg=None", nothing);
  table.add_all("sym_constrain_range sym_constrain_range_for_size",
                "Any size, *, Any min=None, Any max=None", nothing);

  const std::string tail = ", bool non_blocking=False, bool copy=False, Any memory_format=None";
  table.add("to.dtype", "Tensor self, int dtype" + tail, to);
  table.add("to.device", "Tensor self, str device, int dtype" + tail, to);
  table.add("to.other", "Tensor self, Tensor other" + tail, to);
  table.add(
      "to.dtype_layout",
      "Tensor self, *, int? dtype=None, Any layout=None, Any device=None, Any pin_memory=None" +
          tail,
      to);
  table.add("to.prim_Device",
            "Tensor self, str? device, int? dtype=None, bool non_blocking=False, bool copy=False",
            to);
  table.add("to.prim_dtype",
            "Tensor self, int? dtype=None, bool non_blocking=False, bool copy=False", to);
  table.add("_to_copy",
            "Tensor self, *, int? dtype=None, Any layout=None, Any device=None, Any "
            "pin_memory=None, bool "
            "non_blocking=False, Any memory_format=None",
            to_copy);
  table.add("type_as", "Tensor self, Tensor other", to);
  table.add_all("float double half bfloat16 int long bool", "Tensor self, Any memory_format=None",
                named_type);
  table.add_all("_cast_Float _cast_Long _cast_Int _cast_Half _cast_Double",
                "Tensor self, bool non_blocking=False", named_type);
  table.add_all("copy", "Tensor self, Tensor src, bool non_blocking=False", copy);
}

}  // namespace ingot::aten
