// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/lower_attributes.cpp - spelling of enums and activations, and the operators
// on tensors of any layout.
#include "tools/compile/lower/lower_attributes.h"

#include <cstring>
#include <limits>

#include "ingot_schema/ingot_generated.h"

namespace ingot::convert {

constexpr const char* kOwnFault = "; a fault of ingot's passes, please report it with the model";

void refuse_attribute(const graph::Node& node, graph::AttributeName key, const std::string& why) {
  graph::fail_internal("node '" + node.name + "' (" + text(node.op) + "): attribute '" + text(key) +
                       "': " + why + kOwnFault);
}

OpCode op_of(graph::Operator op) {
  const char* const* names = fb::EnumNamesAttributes();
  for (int i = 1; names[i]; i++)
    if (text(op) == names[i]) return OpCode(i);
  return OpCode::kNone;
}

int enum_value(const graph::Node& node, graph::AttributeName key, const char* const* names,
               int otherwise) {
  if (!node.has(key)) return otherwise;
  const std::string spelling = node.text(key, "");
  for (int i = 0; names[i]; i++)
    if (spelling == names[i]) return i;
  refuse_attribute(node, key, "'" + spelling + "' is not one of the schema's");
}

uint32_t unsigned_value(const graph::Node& node, graph::AttributeName key, int64_t otherwise) {
  return to_unsigned(node, key, node.integer(key, otherwise));
}

uint32_t to_unsigned(const graph::Node& node, graph::AttributeName key, int64_t n) {
  if (n < 0 || n > int64_t(std::numeric_limits<uint32_t>::max()))
    refuse_attribute(node, key, std::to_string(n) + " is not a uint");
  return uint32_t(n);
}

Activation activation_kind(const graph::Node& node, const std::string& spelling) {
  const char* const* names = fb::EnumNamesActivation();
  for (int i = 0; names[i]; i++)
    if (spelling == names[i]) return Activation(i);
  refuse_attribute(node, attr::activation, "'" + spelling + "' is not one of the schema's");
}

ActivationSpec activation_of(const graph::Node& node) {
  return {activation_kind(node, node.text(attr::activation, "none")),
          float(node.number(attr::activation_alpha, 0)),
          float(node.number(attr::activation_beta, 0))};
}

namespace {

const std::vector<double>* numbers_of(const graph::Node& node, graph::AttributeName key) {
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return nullptr;
  const auto* numbers = std::get_if<std::vector<double>>(&found->second);
  if (!numbers) refuse_attribute(node, key, "is not a list of doubles");
  return numbers;
}

ElementwiseAttributes elementwise(const graph::Node& node) {
  ElementwiseAttributes a;
  a.compute = ComputeType(enum_value(node, attr::compute, fb::EnumNamesComputeType(), 0));
  const std::vector<int64_t> steps = node.integers(attr::steps);
  const std::vector<double>* numbers = numbers_of(node, attr::step_numbers);
  if (steps.size() % 4 != 0 || steps.size() / 4 > size_t(kMaxElementwiseSteps))
    refuse_attribute(node, attr::steps, "has no place in 16 steps of 4");
  if (numbers && numbers->size() != steps.size() / 2)
    refuse_attribute(node, attr::step_numbers, "has not two numbers a step");
  a.step_count = uint32_t(steps.size() / 4);
  for (size_t i = 0; i < a.step_count; i++) {
    ElementwiseStep& step = a.steps[i];
    step.op = ElementwiseOp(steps[4 * i]);
    step.a = uint8_t(steps[4 * i + 1]), step.b = uint8_t(steps[4 * i + 2]),
    step.c = uint8_t(steps[4 * i + 3]);
    if (numbers) step.alpha = float((*numbers)[2 * i]), step.beta = float((*numbers)[2 * i + 1]);
  }
  return a;
}

RecurrentAttributes recurrent(const graph::Node& node) {
  RecurrentAttributes a;
  a.kind = RecurrentKind(enum_value(node, attr::kind, fb::EnumNamesRecurrentKind(), 0));
  a.direction = Direction(enum_value(node, attr::direction, fb::EnumNamesDirection(), 0));
  a.hidden = unsigned_value(node, attr::hidden, 0);
  a.clip = float(node.number(attr::clip, 0));
  a.linear_before_reset = node.integer(attr::linear_before_reset, 0) != 0;
  a.batch_first = node.integer(attr::batch_first, 0) != 0;
  const auto found = node.attributes.find(attr::activations);
  if (found == node.attributes.end()) return a;
  const auto* kinds = std::get_if<std::vector<std::string>>(&found->second);
  const std::vector<double>*alphas = numbers_of(node, attr::activation_alphas),
        *betas = numbers_of(node, attr::activation_betas);
  if (!kinds || kinds->size() > std::size(a.activations))
    refuse_attribute(node, attr::activations, "is not a list of at most 6 strings");
  a.activation_count = uint32_t(kinds->size());
  for (size_t i = 0; i < kinds->size(); i++)
    a.activations[i] = {activation_kind(node, (*kinds)[i]),
                        alphas && i < alphas->size() ? float((*alphas)[i]) : 0,
                        betas && i < betas->size() ? float((*betas)[i]) : 0};
  return a;
}

ScatterReduction scatter_reduction(const graph::Node& node) {
  static const char* const kNames[] = {"none", "add", "mul", "max", "min", nullptr};
  return ScatterReduction(enum_value(node, attr::reduction, kNames, 0));
}

TransposeAttributes transpose(const graph::Node& node, size_t rank) {
  TransposeAttributes a;
  const std::vector<int64_t> perm = node.integers(attr::perm);
  if (perm.size() != rank || rank > size_t(kMaxRank))
    refuse_attribute(node, attr::perm, "has not one entry a dimension");
  a.rank = uint32_t(rank);
  for (size_t i = 0; i < rank; i++) a.perm[i] = uint8_t(perm[i]);
  return a;
}

/// Dims under `key`, or plain integers; as many as the operand has dimensions.
Dims extents_of(const graph::Node& node, graph::AttributeName key, size_t rank) {
  Dims dims;
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return Dims(rank, SymbolicDim(0));
  if (const auto* symbolic = std::get_if<Dims>(&found->second))
    dims = *symbolic;
  else
    for (const int64_t n : node.integers(key)) dims.emplace_back(n);
  if (dims.size() != rank || rank > size_t(kMaxRank))
    refuse_attribute(node, key, "has not one entry a dimension");
  return dims;
}

SliceAttributes slice(const graph::Node& node, size_t rank, Dims* extents) {
  SliceAttributes a;
  a.rank = uint32_t(rank);
  *extents = extents_of(node, attr::starts, rank);
  const std::vector<int64_t> steps = node.integers(attr::steps);
  if (!steps.empty() && steps.size() != rank)
    refuse_attribute(node, attr::steps, "has not one entry a dimension");
  for (size_t i = 0; i < steps.size(); i++) a.steps[i] = steps[i];
  return a;
}

PadAttributes pad(const graph::Node& node, size_t rank, Dims* extents) {
  PadAttributes a;
  a.mode = PadMode(enum_value(node, attr::mode, fb::EnumNamesPadMode(), 0));
  a.rank = uint32_t(rank);
  a.value = float(node.number(attr::value, 0));
  *extents = extents_of(node, attr::before, rank);
  return a;
}

void read_field(const graph::Node& node, graph::AttributeName key, uint32_t* to) {
  *to = unsigned_value(node, key, *to);
}
void read_field(const graph::Node& node, graph::AttributeName key, int32_t* to) {
  const int64_t n = node.integer(key, *to);
  if (n < std::numeric_limits<int32_t>::min() || n > std::numeric_limits<int32_t>::max())
    refuse_attribute(node, key, std::to_string(n) + " is not an int");
  *to = int32_t(n);
}
void read_field(const graph::Node& node, graph::AttributeName key, float* to) {
  *to = float(node.number(key, double(*to)));
}
void read_field(const graph::Node& node, graph::AttributeName key, bool* to) {
  *to = node.integer(key, *to) != 0;
}

}  // namespace

Attributes tensor_attributes(OpCode op, const graph::Node& node, size_t rank, Dims* extents) {
  switch (op) {
    case OpCode::kLinear:
      return LinearAttributes{activation_of(node), node.integer(attr::residual_first, 0) != 0,
                              uint32_t(node.integer(attr::block, 0))};
    case OpCode::kElementwise: return elementwise(node);
    case OpCode::kRecurrent: return recurrent(node);
    case OpCode::kTranspose: return transpose(node, rank);
    case OpCode::kSlice: return slice(node, rank, extents);
    case OpCode::kPad: return pad(node, rank, extents);
    case OpCode::kCustom: return custom_attributes(node);
    case OpCode::kScatterNd: return ScatterNdAttributes{scatter_reduction(node)};
    case OpCode::kScatterElements:
      return ScatterElementsAttributes{unsigned_value(node, attr::axis, 0),
                                       scatter_reduction(node)};
#define FIELD(name) read_field(node, attr::name, &a.name);
#define CHOICE(op, name, Enum) \
  a.name = decltype(a.name)(enum_value(node, attr::name, fb::EnumNames##Enum(), int(a.name)));
#define INGOT_ATTRIBUTES(op, fields) \
  case OpCode::k##op: {              \
    op##Attributes a;                \
    fields return a;                 \
  }
#include "runtime/op/attributes.def"
    default:
      graph::fail_internal("node '" + node.name + "' (" + text(node.op) +
                           "): is no operator of core form" + kOwnFault);
  }
}

Attributes attributes_of(const graph::Node& node, size_t rank, Dims* extents) {
  const OpCode op = op_of(node.op);
  switch (op) {
    case OpCode::kConv2d:
    case OpCode::kConvTranspose2d:
    case OpCode::kPool2d:
    case OpCode::kImageInput:
    case OpCode::kResize: return spatial_attributes(op, node, rank, extents);
    default: return tensor_attributes(op, node, rank, extents);
  }
}

}  // namespace ingot::convert
