// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_declared.cpp - operators that become one node with the inputs and
// attributes that their row declares.
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

/// What few rows have.
struct Details {
  graph::Attributes attributes = {};  // that TFLite does not state
  std::vector<std::pair<graph::AttributeName, const char*>> numbers = {};  // options
  size_t counts = SIZE_MAX;   // the input that is int64 in the graph
  bool is_activated = false;  // a function is behind it
};
struct Declared {
  const char* name;
  graph::Operator op;
  size_t inputs;
  Details details = {};
};
const std::vector<Declared> kDeclared = {
    {"ABS", op::Abs, 1},
    {"CEIL", op::Ceil, 1},
    {"COS", op::Cos, 1},
    {"EXP", op::Exp, 1},
    {"FLOOR", op::Floor, 1},
    {"HARD_SWISH", op::HardSwish, 1},
    {"LOG", op::Log, 1},
    {"NEG", op::Neg, 1},
    {"LOGICAL_NOT", op::Not, 1},
    {"RELU", op::Relu, 1},
    {"ROUND", op::Round, 1},
    {"LOGISTIC", op::Sigmoid, 1},
    {"SIGN", op::Sign, 1},
    {"SIN", op::Sin, 1},
    {"SQRT", op::Sqrt, 1},
    {"TANH", op::Tanh, 1},
    {"LOGICAL_AND", op::And, 2},
    {"LOGICAL_OR", op::Or, 2},
    {"EQUAL", op::Equal, 2},
    {"GREATER", op::Greater, 2},
    {"GREATER_EQUAL", op::GreaterOrEqual, 2},
    {"LESS", op::Less, 2},
    {"LESS_EQUAL", op::LessOrEqual, 2},
    {"MAXIMUM", op::Max, 2},
    {"MINIMUM", op::Min, 2},
    {"POW", op::Pow, 2},
    {"BITWISE_XOR", op::BitwiseXor, 2},
    {"PRELU", op::PRelu, 2},
    {"SELECT_V2", op::Where, 3},
    {"ADD", op::Add, 2, {.is_activated = true}},
    {"SUB", op::Sub, 2, {.is_activated = true}},
    {"MUL", op::Mul, 2, {.is_activated = true}},
    {"DIV", op::Div, 2, {.is_activated = true}},
    {"ELU", op::Elu, 1, {.attributes = {{attr::alpha, 1.0}}}},
    {"RELU6", op::Clip, 1, {.attributes = {{attr::min, 0.0}, {attr::max, 6.0}}}},
    {"RELU_N1_TO_1", op::Clip, 1, {.attributes = {{attr::min, -1.0}, {attr::max, 1.0}}}},
    {"RELU_0_TO_1", op::Clip, 1, {.attributes = {{attr::min, 0.0}, {attr::max, 1.0}}}},
    {"LEAKY_RELU", op::LeakyRelu, 1, {.numbers = {{attr::alpha, "alpha"}}}},
    {"TILE", op::Tile, 2, {.counts = 1}},
    {"BROADCAST_TO", op::Expand, 2, {.counts = 1}},
    {"GATHER_ND", op::GatherND, 2, {.attributes = {{attr::batch_dims, int64_t(0)}}, .counts = 1}},
};

void declared(Call& call) {
  const std::string name = call.row.name;
  for (const auto& [row_name, op, inputs, details] : kDeclared) {
    if (name != row_name) continue;
    std::vector<ValueId> values;
    for (size_t i = 0; i < inputs; i++)
      values.push_back(i == details.counts ? call.b.cast(call.input(i), DType::kI64)
                                           : call.input(i));
    graph::Attributes attributes = details.attributes;
    for (const auto& [attribute, option] : details.numbers)
      attributes[attribute] = call.number(option);
    const ValueId made = call.b.emit(op, values, std::move(attributes));
    call.give(details.is_activated ? call.activated(made) : made);
  }
}

}  // namespace

void add_declared(TranslateTable& table) {
  for (const Declared& row : kDeclared) table[row.name] = {row.inputs, row.inputs, declared};
}

}  // namespace ingot::tflite
