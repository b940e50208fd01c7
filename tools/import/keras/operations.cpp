// tools/import/keras/operations.cpp - keras.ops among the layers of a Functional model: arithmetic
// that a program wrote between its layers, and how Keras 3 spells out masks.
#include <algorithm>

#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

using graph::Dim;
using graph::Dims;

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
  const bool is_whole = numbers[0] == std::floor(numbers[0]) && std::abs(numbers[0]) < 1e9;
  if (dtype != DType::kF32 && !is_whole)
    call.refuse("", "of integers with the number " + std::to_string(numbers[0]) + " is not built");
  const ValueId number = call.b.scalar(dtype, double(float(numbers[0])));
  if (call.number_first) return {number, given[0]};
  return {given[0], number};
}
template <const char* const* op>
void binary(LayerCall& call) {
  call.give(call.b.emit(*op, two_operands(call)));
}
void quotient(LayerCall& call) {
  const std::vector<ValueId> operands = two_operands(call);
  if (call.b.dtype(operands[0]) != DType::kF32) call.refuse("", "of integers is not built");
  call.give(call.b.emit("Div", operands));
}
void not_equal(LayerCall& call) {
  call.give(call.b.emit("Not", {call.b.emit("Equal", two_operands(call))}));
}
template <const char* const* op>
void logical(LayerCall& call) {
  if (call.inputs().size() != 2) refuse_operands(call);
  std::vector<ValueId> operands;
  for (const ValueId x : call.inputs()) operands.push_back(call.b.cast(x, DType::kBool));
  call.give(call.b.emit(*op, operands));
}
template <const char* const* op>
void unary(LayerCall& call) {
  if (call.inputs().size() != 1 || !call.numbers().empty()) refuse_operands(call);
  call.give(call.b.emit(*op, call.inputs()));
}

int64_t axis_of(LayerCall& call, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) call.corrupt("its axis is " + std::to_string(axis));
  return axis < 0 ? axis + rank : axis;
}
/// One, several, or none: all of them.
std::vector<int64_t> axes_of(LayerCall& call) {
  std::vector<int64_t> axes;
  for (const double axis : call.numbers_of("axis"))
    axes.push_back(axis_of(call, int64_t(axis), call.rank()));
  if (axes.empty())
    for (int64_t d = 0; d < call.rank(); d++) axes.push_back(d);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}
template <const char* const* op>
void reduction(LayerCall& call) {
  if (call.inputs().size() != 1 || !call.numbers().empty()) refuse_operands(call);
  if (call.b.dtype(call.input()) != DType::kF32) call.refuse("", "of integers is not built");
  call.give(call.b.reduce(*op, call.input(), axes_of(call), call.truth("keepdims", false)));
}
template <const char* const* op>
void of_truths(LayerCall& call) {
  const ValueId x = call.b.cast(call.b.cast(call.input(), DType::kBool), DType::kI32);
  const ValueId made = call.b.reduce(*op, x, axes_of(call), call.truth("keepdims", false));
  call.give(call.b.cast(made, DType::kBool));
}

void expand_dims(LayerCall& call) {
  Dims dims = call.b.dims(call.input());
  const int64_t axis = axis_of(call, call.integer("axis", -1), call.rank() + 1);
  dims.insert(dims.begin() + axis, Dim(1));
  call.give(call.b.reshape(call.input(), dims));
}
void concat_tensors(LayerCall& call) {
  const int64_t axis = axis_of(call, call.integer("axis", -1), call.rank());
  if (call.inputs().size() == 1) return call.give(call.input());
  call.give(call.b.emit("Concat", call.inputs(), {{"axis", axis}}));
}
template <int number>
void filled(LayerCall& call) {
  DType dtype = call.b.dtype(call.input());
  const std::string wanted = call.text("dtype", "");
  if (wanted == "bool")
    dtype = DType::kBool;
  else if (wanted == "float32")
    dtype = DType::kF32;
  else if (wanted == "int32")
    dtype = DType::kI32;
  else if (!wanted.empty())
    call.refuse("dtype", "'" + wanted + "' is not built");
  call.give(call.b.expand(call.b.scalar(dtype, number), call.b.dims(call.input())));
}
void same(LayerCall& call) { call.give(call.input()); }

constexpr const char* kAdd = "Add";
constexpr const char* kSubtract = "Sub";
constexpr const char* kMultiply = "Mul";
constexpr const char* kMaximum = "Max";
constexpr const char* kMinimum = "Min";
constexpr const char* kEqual = "Equal";
constexpr const char* kGreater = "Greater";
constexpr const char* kGreaterEqual = "GreaterOrEqual";
constexpr const char* kLess = "Less";
constexpr const char* kLessEqual = "LessOrEqual";
constexpr const char* kAnd = "And";
constexpr const char* kOr = "Or";
constexpr const char* kNot = "Not";
constexpr const char* kRelu = "Relu";
constexpr const char* kSigmoid = "Sigmoid";
constexpr const char* kTanh = "Tanh";
constexpr const char* kAbs = "Abs";
constexpr const char* kNegative = "Neg";
constexpr const char* kExp = "Exp";
constexpr const char* kLog = "Log";
constexpr const char* kSqrt = "Sqrt";
constexpr const char* kSum = "ReduceSum";
constexpr const char* kMean = "ReduceMean";
constexpr const char* kLargest = "ReduceMax";
constexpr const char* kSmallest = "ReduceMin";

}  // namespace

void add_operations(TranslateTable& table) {
  table["Add"] = binary<&kAdd>;
  table["Subtract"] = binary<&kSubtract>;
  table["Multiply"] = binary<&kMultiply>;
  table["Divide"] = table["TrueDivide"] = quotient;
  table["Maximum"] = binary<&kMaximum>;
  table["Minimum"] = binary<&kMinimum>;
  table["Equal"] = binary<&kEqual>;
  table["NotEqual"] = not_equal;
  table["Greater"] = binary<&kGreater>;
  table["GreaterEqual"] = binary<&kGreaterEqual>;
  table["Less"] = binary<&kLess>;
  table["LessEqual"] = binary<&kLessEqual>;
  table["LogicalAnd"] = logical<&kAnd>;
  table["LogicalOr"] = logical<&kOr>;
  table["LogicalNot"] = unary<&kNot>;
  table["Relu"] = unary<&kRelu>;
  table["Sigmoid"] = unary<&kSigmoid>;
  table["Tanh"] = unary<&kTanh>;
  table["Absolute"] = table["Abs"] = unary<&kAbs>;
  table["Negative"] = unary<&kNegative>;
  table["Exp"] = unary<&kExp>;
  table["Log"] = unary<&kLog>;
  table["Sqrt"] = unary<&kSqrt>;
  table["Sum"] = reduction<&kSum>;
  table["Mean"] = reduction<&kMean>;
  table["Max"] = reduction<&kLargest>;
  table["Min"] = reduction<&kSmallest>;
  table["Any"] = of_truths<&kLargest>;
  table["All"] = of_truths<&kSmallest>;
  table["ExpandDims"] = expand_dims;
  table["Concatenate"] = concat_tensors;
  table["ZerosLike"] = filled<0>;
  table["OnesLike"] = filled<1>;
  table["ConvertToTensor"] = same;
}

}  // namespace ingot::keras
