// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_elementwise.cpp - unary, binary, logic, activations, casts; Sum, Max,
// Min and Mean of many.
#include <algorithm>

#include "tools/graph/functions.h"
#include "tools/import/onnx/call.h"
#include "tools/import/onnx/narrow.h"

namespace ingot::onnx {
namespace {

/// Before opset 7 the second operand stood at an axis of the first, where `broadcast` said so.
ValueId aligned_operand(Call& call) {
  if (call.opset() >= 7) return call.input(1);
  const bool is_slope = call.node().op == "PRelu";  // one a channel
  const bool broadcasts = is_slope || call.integer("broadcast", 0) != 0,
             says_where = is_slope || call.attribute("axis", kAttributeInt) != nullptr;
  if (!broadcasts || !says_where) return call.input(1);
  const ValueId aligned = call.temporary("aligned");
  graph::Node& made = call.emit(op::AlignOperand, {call.input(0), call.input(1)}, {aligned});
  made.attributes[attr::axis] = is_slope ? int64_t(1) : call.integer("axis", 0);
  return aligned;
}
void pass_binary(Call& call) {
  const ValueId second = aligned_operand(call);
  call.emit(call.op(), {call.input(0), second}, call.outputs());
}

/// Sum, Max, Min: a chain from the left, as the reference adds.
void variadic(Call& call) {
  const graph::Operator op = call.node().op == "Sum" ? op::Add : call.op();
  if (call.input_count() == 1) return call.alias(0, call.input(0));
  ValueId left = call.input(0);
  for (size_t i = 1; i < call.input_count(); i++) {
    const bool last = i + 1 == call.input_count();
    const ValueId out = last ? call.output(0) : call.temporary(text(op) + std::to_string(i));
    call.emit(op, {left, call.input(i)}, {out});
    left = out;
  }
}

void cast(Call& call) {
  // Before opset 6 a name, which some exporters do not know.
  const auto& given = call.node().attributes;
  const bool is_name = std::any_of(given.begin(), given.end(), [](const Attribute& a) {
    return a.name == "to" && a.type == kAttributeString;
  });
  const int64_t to =
      call.opset() < 6 && is_name ? element_type_of(call.text("to", "")) : call.integer("to", 0);
  const DType dtype = dtype_of(to);
  if (dtype == DType::kInvalid && narrow_type(to)) return cast_narrow(call, int32_t(to));
  if (dtype == DType::kInvalid)
    return call.refuse("to", "element type " + element_type_name(to) + " is not supported");
  call.emit(op::Cast).attributes[attr::to] = int64_t(dtype);
}
void cast_like(Call& call) {
  if (const int32_t narrow = call.narrow_type_of(1)) return cast_narrow(call, narrow);
  call.emit(op::CastLike);
}

void identity(Call& call) { call.alias(0, call.input(0)); }
void dropout(Call& call) {
  if (call.wants(1)) {  // its mask: nothing is dropped
    const uint8_t kept = 1;
    const ValueId dims = call.temporary("shape");
    call.emit(op::Shape, {call.input(0)}, {dims}).attributes[attr::start] = int64_t(0);
    call.emit(op::ConstantOfShape, {dims}, {call.output(1)}).attributes[attr::value] =
        graph::make_constant(DType::kBool, {}, &kept);
  }
  if (const graph::Constant* training = call.constant(2);
      training && training->bytes && (*training->bytes)[0] != 0) {
    call.note(
        "Dropout was saved in training mode; converted in inference form, where it does nothing");
  } else if (call.input(2) != kAbsent && !training) {
    call.note(
        "a Dropout is told at run time whether it trains; converted in inference form, where it "
        "does "
        "nothing");
  }
  call.alias(0, call.input(0));
}

}  // namespace

void add_elementwise(TranslateTable& table) {
  for (const graph::Function& row : graph::kFunctions)
    if (row.is_onnx && row.operands == 2) table[row_of(row.node).name] = {2, 2, pass_binary};
  table["PRelu"] = {2, 2, pass_binary};
  for (const char* op : {"Sum", "Max", "Min"}) table[op] = {1, SIZE_MAX, variadic};
  table["Cast"] = {1, 1, cast};
  table["CastLike"] = {2, 2, cast_like};
  table["Identity"] = {1, 1, identity};
  table["Dropout"] = {1, 3, dropout};
}

}  // namespace ingot::onnx
