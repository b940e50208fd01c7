// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_elementwise.cpp - unary, binary, logic, activations, casts; Sum, Max,
// Min and Mean of many.
#include <algorithm>
#include <iterator>

#include "tools/graph/functions.h"
#include "tools/import/onnx/call.h"
#include "tools/import/onnx/narrow.h"

namespace ingot::onnx {
namespace {

void pass_unary(Call& call) {
  call.expect_inputs(1, 1);
  call.emit(call.op());
}
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
  call.expect_inputs(2, 2);
  const ValueId second = aligned_operand(call);
  call.emit(call.op(), {call.input(0), second}, call.outputs());
}

/// Unary operators with numbers: their attributes and what they default to.
struct Numbered {
  graph::Operator op;
  std::vector<std::pair<graph::AttributeName, double>> numbers;
};
const std::vector<Numbered> kNumbered = {
    {op::LeakyRelu, {{attr::alpha, 0.01}}},
    {op::Elu, {{attr::alpha, 1.0}}},
    {op::Celu, {{attr::alpha, 1.0}}},
    {op::ThresholdedRelu, {{attr::alpha, 1.0}}},
    {op::Swish, {{attr::alpha, 1.0}}},
    {op::Selu,
     {{attr::alpha, 1.67326319217681884765625}, {attr::gamma, 1.05070102214813232421875}}},
    {op::HardSigmoid, {{attr::alpha, 0.20000000298023224}, {attr::beta, 0.5}}},
    {op::Shrink, {{attr::bias, 0.0}, {attr::lambd, 0.5}}},
};
void numbered(Call& call) {
  call.expect_inputs(1, 1);
  for (const Numbered& row : kNumbered) {
    if (call.op() != row.op) continue;
    graph::Node& made = call.emit(row.op);
    for (const auto& [name, otherwise] : row.numbers) {
      // Defaults are float32 in ONNX too.
      made.attributes[name] = call.number(name, double(float(otherwise)));
    }
  }
}

void clip(Call& call) {
  if (call.opset() >= 11) {
    call.expect_inputs(1, 3);
    call.emit(op::Clip);
    return;
  }
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(op::Clip);
  if (call.attribute("min", kAttributeFloat)) made.attributes[attr::min] = call.number("min", 0);
  if (call.attribute("max", kAttributeFloat)) made.attributes[attr::max] = call.number("max", 0);
}

void gelu(Call& call) {
  call.expect_inputs(1, 1);
  const std::string approximate = call.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return call.refuse("approximate", "'" + approximate + "', known are none and tanh");
  call.emit(op::Gelu).attributes[attr::approximate] = approximate;
}
void is_inf(Call& call) {
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(op::IsInf);
  made.attributes[attr::detect_negative] = call.integer("detect_negative", 1);
  made.attributes[attr::detect_positive] = call.integer("detect_positive", 1);
}
void mod(Call& call) {
  call.expect_inputs(2, 2);
  call.emit(op::Mod).attributes[attr::fmod] = call.integer("fmod", 0);
}
void bit_shift(Call& call) {
  call.expect_inputs(2, 2);
  const std::string direction = call.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return call.refuse("direction", "'" + direction + "', known are LEFT and RIGHT");
  call.emit(op::BitShift).attributes[attr::direction] = direction;
}
void where(Call& call) {
  call.expect_inputs(3, 3);
  call.emit(op::Where);
}

/// Sum, Max, Min: a chain from the left, as the reference adds.
void variadic(Call& call) {
  const graph::Operator op = call.node().op == "Sum" ? op::Add : call.op();
  call.expect_inputs(1, SIZE_MAX);
  if (call.input_count() == 1) return call.alias(0, call.input(0));
  ValueId left = call.input(0);
  for (size_t i = 1; i < call.input_count(); i++) {
    const bool last = i + 1 == call.input_count();
    const ValueId out = last ? call.output(0) : call.temporary(text(op) + std::to_string(i));
    call.emit(op, {left, call.input(i)}, {out});
    left = out;
  }
}
void mean(Call& call) {
  call.expect_inputs(1, SIZE_MAX);
  call.emit(op::Mean);
}

void cast(Call& call) {
  call.expect_inputs(1, 1);
  // Before opset 6 a name, which some exporters do not know.
  const auto& given = call.node().attributes;
  const bool is_name = std::any_of(given.begin(), given.end(), [](const Attribute& a) {
    return a.name == "to" && a.type == kAttributeString;
  });
  const int64_t to =
      call.opset() < 6 && is_name ? element_type_of(call.text("to", "")) : call.integer("to", 0);
  const DType dtype = dtype_of(int32_t(to));
  if (dtype == DType::kInvalid && narrow_type(int32_t(to))) return cast_narrow(call, int32_t(to));
  if (dtype == DType::kInvalid)
    return call.refuse("to",
                       "element type " + element_type_name(int32_t(to)) + " is not supported");
  call.emit(op::Cast).attributes[attr::to] = int64_t(dtype);
}
void cast_like(Call& call) {
  call.expect_inputs(2, 2);
  if (const int32_t narrow = call.narrow_type_of(1)) return cast_narrow(call, narrow);
  call.emit(op::CastLike);
}

void identity(Call& call) {
  call.expect_inputs(1, 1);
  call.alias(0, call.input(0));
}
void dropout(Call& call) {
  call.expect_inputs(1, 3);
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
    if (row.is_onnx) table[row_of(row.node).name] = row.operands == 1 ? pass_unary : pass_binary;
  table["PRelu"] = pass_binary;
  for (const Numbered& row : kNumbered) table[row_of(row.op).name] = numbered;
  for (const char* op : {"Sum", "Max", "Min"}) table[op] = variadic;
  table["Mean"] = mean;
  table["Clip"] = clip;
  table["Gelu"] = gelu;
  table["IsInf"] = is_inf;
  table["Mod"] = mod;
  table["BitShift"] = bit_shift;
  table["Where"] = where;
  table["Cast"] = cast;
  table["CastLike"] = cast_like;
  table["Identity"] = identity;
  table["Dropout"] = dropout;
}

}  // namespace ingot::onnx
