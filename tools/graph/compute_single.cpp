// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/compute_single.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "tools/files/spill_file.h"
#include "tools/graph/elementwise_steps.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

/// What runs as it stands: elementwise operators compute in f32 and store what the value says,
/// movement copies bits, attention of f32 queries widens keys and values that are kept in f16.
bool keeps_half(const Model& model, const Node& node) {
  static constexpr Operators kOthers = {op::BitCast,  op::Cast, op::Gather, op::GatherElements,
                                        op::GatherND, op::If,   op::Loop};
  const auto dtype = [&](size_t i) { return model.values[size_t(node.inputs[i])].dtype; };
  if (node.op == op::Attention)
    return dtype(0) == DType::kF32 && dtype(1) == DType::kF16 && dtype(2) == DType::kF16;
  if (node.op == op::ScatterND) return node.text(attr::reduction, "none") == "none";
  return kOthers.has(node.op) || has_steps(node.op) ||
         class_of(node.op) == OperatorClass::kMovement;
}

bool needs_single(const Model& model, const Graph& graph) {
  const auto half = [&](ValueId id) { return id >= 0 && is_half(model.values[size_t(id)].dtype); };
  for (const Node& node : graph.nodes) {
    for (const std::shared_ptr<Graph>& body : node.subgraphs())
      if (needs_single(model, *body)) return true;
    if (keeps_half(model, node)) continue;
    if (std::any_of(node.inputs.begin(), node.inputs.end(), half) ||
        std::any_of(node.outputs.begin(), node.outputs.end(), half))
      return true;
  }
  return false;
}

Constant in_single(const Constant& half) {
  if (!half.bytes) return make_constant(DType::kF32, half.dims, nullptr);
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  bytes->reserve(size_t(half.elements()) * sizeof(float));
  constexpr int64_t kPiece = 1 << 16;
  std::vector<float> piece;
  for (int64_t i = 0; i < half.elements(); i += kPiece) {
    piece.clear();
    for (int64_t k = i; k < std::min(i + kPiece, half.elements()); k++)
      piece.push_back(float(read_number(half, k)));
    host::append_weights(*bytes, reinterpret_cast<const uint8_t*>(piece.data()),
                         piece.size() * sizeof(float));
  }
  Constant out;
  out.dtype = DType::kF32;
  out.dims = half.dims;
  out.bytes = std::move(bytes);
  return out;
}

Node cast(ValueId from, ValueId to, DType dtype, const std::string& name) {
  Node node;
  node.op = op::Cast;
  node.name = name;
  node.inputs = {from};
  node.outputs = {to};
  node.attributes[attr::to] = int64_t(dtype);
  return node;
}

/// What `inner`, of f32 by now, is in the program's own type.
ValueId in_half(Model& model, ValueId inner, DType dtype) {
  Value half = model.values[size_t(inner)];
  half.name += "/half";
  half.dtype = dtype;
  half.constant = nullptr;
  model.values.push_back(std::move(half));
  return ValueId(model.values.size()) - 1;
}

/// `before`: the types that values had.
void retype_nodes(Model& model, const std::vector<DType>& before, Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    for (auto& [key, attribute] : node.attributes) {
      if (auto* constant = std::get_if<Constant>(&attribute); constant && is_half(constant->dtype))
        *constant = in_single(*constant);
      if (auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute))
        retype_nodes(model, before, **body);
      if (auto* type = std::get_if<int64_t>(&attribute);
          type && node.op == op::Cast && key == attr::to && is_half(DType(*type)))
        *type = int64_t(DType::kF32);
    }
    if (node.op != op::BitCast) {
      nodes.push_back(std::move(node));
      continue;
    }
    // Its bits are those of the type that the program has.
    const ValueId x = node.inputs[0], y = node.outputs[0];
    const DType from = before[size_t(x)], to = before[size_t(y)];
    if (is_half(from)) {
      node.inputs[0] = in_half(model, x, from);
      nodes.push_back(cast(x, node.inputs[0], from, node.name));
    }
    if (is_half(to)) node.outputs[0] = in_half(model, y, to);
    const ValueId made = node.outputs[0];
    const std::string name = node.name;
    nodes.push_back(std::move(node));
    if (made != y) nodes.push_back(cast(made, y, DType::kF32, name));
  }
  graph.nodes = std::move(nodes);
}

/// A value with the name, type and shape that `inner` has, which takes its place at the program's
/// edge.
ValueId port_for(Model& model, ValueId inner, DType dtype) {
  Value port = model.values[size_t(inner)];
  port.dtype = dtype;
  port.constant = nullptr;
  model.values[size_t(inner)].name += "/f32";
  model.values.push_back(std::move(port));
  return ValueId(model.values.size()) - 1;
}

}  // namespace

size_t compute_in_single(Model& model) {
  if (!needs_single(model, model.graph)) return 0;
  std::vector<DType> before(model.values.size());
  size_t changed[2] = {};
  for (size_t i = 0; i < model.values.size(); i++) {
    Value& value = model.values[i];
    before[i] = value.dtype;
    if (!is_half(value.dtype)) continue;
    changed[value.dtype == DType::kBF16]++;
    value.dtype = DType::kF32;
    if (value.constant)
      value.constant = std::make_shared<const Constant>(in_single(*value.constant));
  }
  retype_nodes(model, before, model.graph);
  // The outputs first: one that is an input as well gets its own port.
  std::vector<Node> at_end;
  for (ValueId& output : model.graph.outputs) {
    const DType dtype = size_t(output) < before.size() ? before[size_t(output)] : DType::kInvalid;
    if (!is_half(dtype)) continue;
    const ValueId inner = output;
    output = port_for(model, inner, dtype);
    at_end.push_back(cast(inner, output, dtype, model.values[size_t(output)].name));
  }
  std::vector<Node> nodes;
  for (ValueId& input : model.graph.inputs) {
    const DType dtype = before[size_t(input)];
    if (!is_half(dtype)) continue;
    const ValueId inner = input;
    input = port_for(model, inner, dtype);
    nodes.push_back(cast(input, inner, DType::kF32, model.values[size_t(input)].name));
  }
  std::move(model.graph.nodes.begin(), model.graph.nodes.end(), std::back_inserter(nodes));
  std::move(at_end.begin(), at_end.end(), std::back_inserter(nodes));
  model.graph.nodes = std::move(nodes);
  std::string text;
  const char* const names[2] = {"f16", "bf16"};
  for (int i = 0; i < 2; i++)
    if (changed[i])
      text += (text.empty() ? "" : " and ") + std::to_string(changed[i]) + " of " + names[i];
  model.notes.push_back(
      "half precision: values that the source computes in f16 or bf16 are computed in f32 (" +
      text + "); inputs and outputs keep their types");
  return changed[0] + changed[1];
}

}  // namespace ingot::graph
