// SPDX-License-Identifier: Apache-2.0
// tools/graph/symbolic_nodes.cpp - shape arithmetic node by node. @pre the output's dims are
// numbers and few elements.
#include <algorithm>

#include "tools/graph/movement.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

std::optional<std::vector<int64_t>> fixed(const Dims& dims) {
  std::vector<int64_t> out;
  for (const Dim& d : dims) {
    if (!d.is_static()) return std::nullopt;
    out.push_back(*d.value());
  }
  return out;
}
const Value& value_of(const Model& model, ValueId id) { return model.values[size_t(id)]; }

}  // namespace

Contents symbolic_movement(const Model& model, const Node& node,
                           const std::vector<Contents>& inputs) {
  std::vector<std::vector<int64_t>> dims, outputs;
  for (const ValueId id : node.inputs) {
    if (id == kAbsent) return {};
    const auto in = fixed(value_of(model, id).dims);
    if (!in) return {};
    dims.push_back(*in);
  }
  const auto out = fixed(value_of(model, node.outputs[0]).dims);
  if (!out) return {};
  outputs.push_back(*out);
  std::vector<int64_t> indices;
  Contents data;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!(takes_indices(node) && i == 1)) {
      data.insert(data.end(), inputs[i].begin(), inputs[i].end());
      continue;
    }
    for (const Scalar& s : inputs[i]) {
      const auto d = s.dim();
      if (!d || !d->is_static()) return {};
      indices.push_back(*d->value());
    }
  }
  const auto sources = movement_sources(node, 0, dims, *out, indices, outputs);
  if (!sources) return {};
  Contents result;
  for (const int64_t s : *sources) {
    result.push_back(s == kFill ? Scalar::of(node.number(attr::value, 0)) : data[size_t(s)]);
  }
  return result;
}

Contents symbolic_elementwise(const Model& model, const Node& node,
                              const std::vector<Contents>& inputs) {
  const auto out = fixed(value_of(model, node.outputs[0]).dims);
  if (!out) return {};
  std::vector<std::vector<int64_t>> from;
  for (const ValueId id : node.inputs) {
    const auto in = id == kAbsent ? std::nullopt : fixed(value_of(model, id).dims);
    if (!in || in->size() > out->size()) return {};
    Node spread;
    spread.op = op::Expand;
    for (size_t i = 0; i < in->size(); i++) {
      const int64_t d = (*in)[in->size() - 1 - i], o = (*out)[out->size() - 1 - i];
      if (d != o && d != 1) return {};
    }
    const auto sources = movement_sources(spread, 0, {*in}, *out, {}, {});
    if (!sources) return {};
    from.push_back(*sources);
  }
  const bool integer = !is_floating(value_of(model, node.inputs[0]).dtype);
  Contents result;
  const size_t count = from[0].size();
  for (size_t i = 0; i < count; i++) {
    std::vector<Scalar> operands;
    for (size_t k = 0; k < inputs.size(); k++) operands.push_back(inputs[k][size_t(from[k][i])]);
    result.push_back(apply_symbolic(node, integer, operands));
  }
  return result;
}

/// Over everything: products and sums of shapes.
Contents symbolic_reduction(const Model& model, const Node& node,
                            const std::vector<Contents>& inputs) {
  Node step;
  if (node.op == op::ReduceProd)
    step.op = op::Mul;
  else if (node.op == op::ReduceSum)
    step.op = op::Add;
  else if (node.op == op::ReduceMax)
    step.op = op::Max;
  else if (node.op == op::ReduceMin)
    step.op = op::Min;
  else
    return {};
  const Value& data = value_of(model, node.inputs[0]);
  if (node.inputs.size() != 1 || node.integers(attr::axes).size() != data.dims.size() ||
      inputs[0].empty())
    return {};
  Scalar total = inputs[0][0];
  for (size_t i = 1; i < inputs[0].size(); i++)
    total = apply_symbolic(step, !is_floating(data.dtype), {total, inputs[0][i]});
  return {total};
}

}  // namespace ingot::graph
