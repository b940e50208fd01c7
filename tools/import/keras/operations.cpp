// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/operations.cpp - keras.ops among the layers of a Functional model: arithmetic
// that a program wrote between its layers, and how Keras 3 spells out masks.
#include <map>

#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

[[noreturn]] void refuse_operands(LayerCall& call) {
  call.refuse("", "with " + std::to_string(call.inputs().size()) + " tensors and " +
                      std::to_string(call.numbers().size()) + " numbers is not built");
}

/// The two operands in their order; a number has the type of the other.
std::vector<ValueId> two_operands(LayerCall& call) {
  const std::vector<ValueId>& given = call.inputs();
  const std::vector<double>& numbers = call.numbers();
  if (given.size() == 2 && numbers.empty()) {
    if (call.b.dtype(given[0]) != call.b.dtype(given[1]))
      call.refuse("", "of tensors of different types is not built");
    return given;
  }
  if (given.size() != 1 || numbers.size() != 1) refuse_operands(call);
  const DType dtype = call.b.dtype(given[0]);
  if (dtype != DType::kF32 && (dtype == DType::kBool || call.has_fraction))
    call.refuse("", "of tensors of other than floats with such a number is not built",
                "cast the tensor first");
  const ValueId number =
      call.b.scalar(dtype, dtype == DType::kF32 ? double(float(numbers[0])) : numbers[0]);
  if (call.number_first) return {number, given[0]};
  return {given[0], number};
}
template <graph::Operator op>
void binary(LayerCall& call) {
  call.give(call.b.emit(op, two_operands(call)));
}
void quotient(LayerCall& call) {
  const std::vector<ValueId> operands = two_operands(call);
  if (call.b.dtype(operands[0]) != DType::kF32) call.refuse("", "of integers is not built");
  call.give(call.b.emit(op::Div, operands));
}
void not_equal(LayerCall& call) {
  call.give(call.b.emit(op::Not, {call.b.emit(op::Equal, two_operands(call))}));
}
template <graph::Operator op>
void logical(LayerCall& call) {
  if (call.inputs().size() != 2) refuse_operands(call);
  std::vector<ValueId> operands;
  for (const ValueId x : call.inputs()) operands.push_back(call.b.cast(x, DType::kBool));
  call.give(call.b.emit(op, operands));
}
template <graph::Operator op>
void unary(LayerCall& call) {
  if (call.inputs().size() != 1 || !call.numbers().empty()) refuse_operands(call);
  call.give(call.b.emit(op, call.inputs()));
}

/// One, several, or none: all of them.
std::vector<int64_t> axes_of(LayerCall& call) {
  std::vector<int64_t> axes = call.axes("axis", call.rank());
  if (axes.empty() && call.field("axis")) call.refuse("axis", "of none is not built");
  if (axes.empty())
    for (int64_t d = 0; d < call.rank(); d++) axes.push_back(d);
  return axes;
}
template <graph::Operator op>
void reduction(LayerCall& call) {
  if (call.inputs().size() != 1 || !call.numbers().empty()) refuse_operands(call);
  if (const std::string dtype = call.text("dtype", "float32"); dtype != "float32")
    call.refuse("dtype", "'" + dtype + "' is not built");
  if (call.b.dtype(call.input()) != DType::kF32) call.refuse("", "of integers is not built");
  call.give(call.b.reduce(op, call.input(), axes_of(call), call.truth("keepdims", false)));
}
template <graph::Operator op>
void of_truths(LayerCall& call) {
  const ValueId x = call.b.cast(call.b.cast(call.input(), DType::kBool), DType::kI32);
  const ValueId made = call.b.reduce(op, x, axes_of(call), call.truth("keepdims", false));
  call.give(call.b.cast(made, DType::kBool));
}

DType said_type(LayerCall& call) {
  static const std::map<std::string, DType> kTypes = {{"bool", DType::kBool},
                                                      {"float32", DType::kF32},
                                                      {"int32", DType::kI32},
                                                      {"int64", DType::kI64},
                                                      {"uint8", DType::kU8}};
  const std::string wanted = call.text("dtype", "");
  const auto found = kTypes.find(wanted);
  if (found == kTypes.end()) call.refuse("dtype", "'" + wanted + "' is not built");
  return found->second;
}
template <int number>
void filled(LayerCall& call) {
  const DType dtype = call.field("dtype") ? said_type(call) : call.b.dtype(call.input());
  call.give(call.b.expand(call.b.scalar(dtype, number), call.b.dims(call.input())));
}
/// A function that layers have by this name, too.
void function(LayerCall& call) {
  if (call.inputs().size() != 1 || !call.numbers().empty()) refuse_operands(call);
  call.give(
      call.net.activation(call.input(), layers::plain_name(call.layer.kind), call.rank() - 1));
}
void gated_half(LayerCall& call) {
  call.give(call.net.activation(call.input(), "glu", call.axis("axis", -1, call.rank())));
}
void celu(LayerCall& call) {
  call.give(call.b.emit(op::Celu, {call.input()},
                        {{attr::alpha, double(float(call.number("alpha", 1)))}}));
}
void shrunk(LayerCall& call) {
  const double limit = double(float(call.number("threshold", 0.5)));
  call.give(call.b.emit(
      op::Shrink, {call.input()},
      {{attr::lambd, limit}, {attr::bias, call.layer.kind == "SoftShrink" ? limit : 0}}));
}
void power_of_two(LayerCall& call) {
  const ValueId x = call.input();
  call.give(call.b.emit(op::Pow, {call.b.scalar(call.b.dtype(x), 2), x}));
}
void same(LayerCall& call) { call.give(call.input()); }
void unit_elu(LayerCall& call) {
  if (call.number("alpha", 1) != 1) call.refuse("alpha", "other than 1 is not built");
  call.give(call.net.activation(call.input(), "elu", call.rank() - 1));
}
void gelu(LayerCall& call) {
  call.give(call.net.activation(call.input(), call.truth("approximate", true) ? "gelutanh" : "gelu",
                                call.rank() - 1));
}
void leaky(LayerCall& call) {
  call.give(call.b.emit(op::LeakyRelu, {call.input()},
                        {{attr::alpha, double(float(call.number("negative_slope", 0.2)))}}));
}
template <graph::Operator op>
void along_axis(LayerCall& call) {
  call.give(call.b.emit(op, {call.input()}, {{attr::axis, call.axis("axis", -1, call.rank())}}));
}
void round_whole(LayerCall& call) {
  if (call.integer("decimals", 0) != 0) call.refuse("decimals", "other than 0 is not built");
  call.give(call.b.emit(op::Round, {call.input()}));
}
void square(LayerCall& call) {
  if (call.b.dtype(call.input()) == DType::kBool) call.refuse("", "of truths is not built");
  call.give(call.b.emit(op::Mul, {call.input(), call.input()}));
}
void inverse_root(LayerCall& call) {
  call.give(call.b.emit(op::Reciprocal, {call.b.emit(op::Sqrt, {call.input()})}));
}
void limited(LayerCall& call) {
  if (call.b.dtype(call.input()) != DType::kF32) call.refuse("", "of integers is not built");
  aten::Attributes limits;
  if (call.field("x_min")) limits[attr::min] = double(float(call.number("x_min", 0)));
  if (call.field("x_max")) limits[attr::max] = double(float(call.number("x_max", 0)));
  call.give(call.b.emit(op::Clip, {call.input()}, std::move(limits)));
}
/// The mean of squares around the mean.
ValueId variance_of(LayerCall& call) {
  if (call.b.dtype(call.input()) != DType::kF32) call.refuse("", "of integers is not built");
  const std::vector<int64_t> axes = axes_of(call);
  const ValueId away =
      call.b.emit(op::Sub, {call.input(), call.b.reduce(op::ReduceMean, call.input(), axes, true)});
  return call.b.reduce(op::ReduceMean, call.b.emit(op::Mul, {away, away}), axes,
                       call.truth("keepdims", false));
}
void variance(LayerCall& call) { call.give(variance_of(call)); }
void deviation(LayerCall& call) { call.give(call.b.emit(op::Sqrt, {variance_of(call)})); }
/// Of vectors, whose square sum is counted.
void norm(LayerCall& call) {
  if (const Json* order = call.field("ord"); order && *order != 2)
    call.refuse("ord", "is " + order->dump() + ", built is 2");
  if (!call.field("axis") || call.numbers_of("axis").size() != 1)
    call.refuse("axis", "other than one is not built");
  call.give(
      call.b.reduce(op::ReduceL2, call.input(), axes_of(call), call.truth("keepdims", false)));
}
template <graph::Operator op>
void place_of_extreme(LayerCall& call) {
  if (!call.field("axis")) call.refuse("axis", "of all elements is not built");
  const ValueId found = call.b.emit(op, {call.input()},
                                    {{attr::axis, call.axis("axis", -1, call.rank())},
                                     {attr::keepdims, int64_t(call.truth("keepdims", false))},
                                     {attr::select_last_index, int64_t(0)}});
  call.give(call.b.cast(found, DType::kI32));
}
void running_sum(LayerCall& call) {
  if (!call.field("axis")) call.refuse("axis", "of all elements is not built");
  if (call.field("dtype")) call.refuse("dtype", "is not built");
  call.give(call.b.emit(op::CumSum, {call.input()},
                        {{attr::axis, call.axis("axis", -1, call.rank())},
                         {attr::exclusive, int64_t(0)},
                         {attr::reverse, int64_t(0)}}));
}
void matrix_product(LayerCall& call) {
  if (call.inputs().size() != 2) refuse_operands(call);
  call.give(call.b.emit(op::MatMul, call.inputs()));
}
void sum_of_products(LayerCall& call) {
  call.give(
      call.b.emit(op::Einsum, call.inputs(), {{attr::equation, call.text("subscripts", "")}}));
}
void select_by(LayerCall& call) {
  const std::vector<ValueId>& given = call.inputs();
  if (given.size() != 3 || !call.numbers().empty()) refuse_operands(call);
  if (call.b.dtype(given[1]) != call.b.dtype(given[2]))
    call.refuse("", "of tensors of different types is not built");
  call.give(call.b.emit(op::Where, {call.b.cast(given[0], DType::kBool), given[1], given[2]}));
}
void cast(LayerCall& call) { call.give(call.b.cast(call.input(), said_type(call))); }
void to_tensor(LayerCall& call) {
  if (call.field("dtype")) return cast(call);
  call.give(call.input());
}
void logical_not(LayerCall& call) {
  if (call.inputs().size() != 1 || !call.numbers().empty()) refuse_operands(call);
  call.give(call.b.emit(op::Not, {call.b.cast(call.input(), DType::kBool)}));
}

}  // namespace

void add_operations(TranslateTable& table) {
  table["Add"] = binary<op::Add>;
  table["Subtract"] = binary<op::Sub>;
  table["Multiply"] = binary<op::Mul>;
  table["Divide"] = table["TrueDivide"] = quotient;
  table["Maximum"] = binary<op::Max>;
  table["Minimum"] = binary<op::Min>;
  table["Equal"] = binary<op::Equal>;
  table["NotEqual"] = not_equal;
  table["Greater"] = binary<op::Greater>;
  table["GreaterEqual"] = binary<op::GreaterOrEqual>;
  table["Less"] = binary<op::Less>;
  table["LessEqual"] = binary<op::LessOrEqual>;
  table["LogicalAnd"] = logical<op::And>;
  table["LogicalOr"] = logical<op::Or>;
  table["LogicalNot"] = logical_not;
  table["Relu"] = unary<op::Relu>;
  table["Sigmoid"] = unary<op::Sigmoid>;
  table["Tanh"] = unary<op::Tanh>;
  table["Absolute"] = table["Abs"] = table["Fabs"] = unary<op::Abs>;
  table["Negative"] = unary<op::Neg>;
  table["Exp"] = unary<op::Exp>;
  table["Log"] = unary<op::Log>;
  table["Sqrt"] = unary<op::Sqrt>;
  table["Sum"] = reduction<op::ReduceSum>;
  table["Mean"] = reduction<op::ReduceMean>;
  table["Max"] = table["Amax"] = reduction<op::ReduceMax>;
  table["Min"] = table["Amin"] = reduction<op::ReduceMin>;
  table["Any"] = of_truths<op::ReduceMax>;
  table["All"] = of_truths<op::ReduceMin>;
  table["ZerosLike"] = filled<0>;
  table["OnesLike"] = filled<1>;
  table["ConvertToTensor"] = to_tensor;
  table["Floor"] = unary<op::Floor>;
  table["Ceil"] = unary<op::Ceil>;
  table["Round"] = round_whole;
  table["Sign"] = unary<op::Sign>;
  table["Sin"] = unary<op::Sin>;
  table["Cos"] = unary<op::Cos>;
  table["Erf"] = unary<op::Erf>;
  table["Square"] = square;
  table["Rsqrt"] = inverse_root;
  table["Power"] = binary<op::Pow>;
  table["Clip"] = limited;
  for (const char* name :
       {"Silu", "Softplus", "Relu6", "HardSigmoid", "Selu", "HardSilu", "HardTanh", "LogSigmoid",
        "Mish", "Softsign", "SparsePlus", "SparseSigmoid", "TanhShrink"})
    table[name] = function;
  table["Celu"] = celu;
  table["Glu"] = gated_half;
  table["HardShrink"] = table["SoftShrink"] = shrunk;
  table["Arccos"] = unary<op::Acos>;
  table["Arccosh"] = unary<op::Acosh>;
  table["Arcsin"] = unary<op::Asin>;
  table["Arcsinh"] = unary<op::Asinh>;
  table["Arctan"] = unary<op::Atan>;
  table["Arctan2"] = binary<op::Atan2>;
  table["Arctanh"] = unary<op::Atanh>;
  table["Cosh"] = unary<op::Cosh>;
  table["Sinh"] = unary<op::Sinh>;
  table["Tan"] = unary<op::Tan>;
  table["Trunc"] = unary<op::Trunc>;
  table["Isnan"] = unary<op::IsNaN>;
  table["Reciprocal"] = unary<op::Reciprocal>;
  table["Exp2"] = power_of_two;
  table["LogicalXor"] = logical<op::Xor>;
  table["StopGradient"] = table["Copy"] = same;
  table["Elu"] = unit_elu;
  table["Gelu"] = gelu;
  table["LeakyRelu"] = leaky;
  table["Softmax"] = along_axis<op::Softmax>;
  table["LogSoftmax"] = along_axis<op::LogSoftmax>;
  table["Prod"] = reduction<op::ReduceProd>;
  table["Logsumexp"] = reduction<op::ReduceLogSumExp>;
  table["Var"] = variance;
  table["Std"] = deviation;
  table["Norm"] = norm;
  table["Argmax"] = place_of_extreme<op::ArgMax>;
  table["Argmin"] = place_of_extreme<op::ArgMin>;
  table["Cumsum"] = running_sum;
  table["Matmul"] = matrix_product;
  table["Einsum"] = sum_of_products;
  table["Where"] = select_by;
  table["Cast"] = cast;
}

}  // namespace ingot::keras
