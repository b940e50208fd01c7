// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes {
namespace {

void become(Node& node, const std::vector<Step>& steps, const char* compute) {
  node.attributes = elementwise(steps, compute);
  node.op = op::Elementwise;
}

const char* compute_of(const Canonical& c, ValueId id) {
  return compute_type(c.editor.value(id).dtype);
}

void by_steps(Canonical& c, Node& node) {
  std::vector<DType> types;
  for (const ValueId x : node.inputs) types.push_back(c.editor.value(x).dtype);
  const auto all = graph::elementwise_steps(node, types);
  become(node, all->steps, compute_name(all->compute));
}

void prelu(Canonical& c, Node& node) {
  const Constant* slope = c.editor.constant(node.inputs[1]);
  std::optional<double> one = slope ? uniform(*slope) : std::nullopt;
  const char* compute = compute_of(c, node.inputs[0]);
  if (!one) return by_steps(c, node);
  c.editor.set_inputs(node, {node.inputs[0]});
  become(node, {{Op::kLeakyRelu, 0, 0, 0, *one, 0}}, compute);
}

void cast(Canonical& c, Node& node) {
  DType from = c.editor.value(node.inputs[0]).dtype, to = c.editor.value(node.outputs[0]).dtype;
  if (from == to) {
    node.op = op::Reshape;
    node.attributes.clear();
    return;
  }
  std::string compute = "i64";
  if (from == DType::kF64 || to == DType::kF64)
    compute = "f64";
  else if (graph::is_floating(from) || graph::is_floating(to))
    compute = "f32";
  else if (from == DType::kU64 || to == DType::kU64)
    compute = "u64";
  std::vector<Step> steps;
  if (to == DType::kBool) {  // true unless zero, which is not what truncation would say of 0.5
    compute = compute_type(from);
    steps = {{Op::kNotEqual, 0, kConstantRegister, 0, 0, 0}};
  }
  become(node, steps, compute.c_str());
}

void expand(Canonical& c, Node& node) {
  become(node, {{Op::kIdentity}}, compute_of(c, node.inputs[0]));
}

// Statistics that the model computes: ((x - mean) / sqrt(var + epsilon)) * scale + B in one node.
void computed_batch_normalization(Canonical& c, Node& node) {
  Editor& e = c.editor;
  Dims dims(e.rank(node.inputs[0]), Dim(1));
  if (dims.size() > 1) dims[1] = e.dims(node.inputs[0])[1];
  std::vector<ValueId> inputs = {node.inputs[0]};
  for (size_t i = 1; i < 5; i++) inputs.push_back(e.reshape(node.inputs[i], dims, node));
  const double epsilon = node.number(attr::epsilon, 1e-5);
  e.set_inputs(node, inputs);
  become(node,
         {{Op::kAdd, 4, kConstantRegister, 0, epsilon},
          {Op::kSqrt, 5},
          {Op::kSub, 0, 3},
          {Op::kDiv, 7, 6},
          {Op::kFma, 8, 1, 2}},
         "f32");
}

// Inference form: x * scale/sqrt(var + epsilon) + (B - mean * that), with constants of dims [1, C,
// 1, ..].
void batch_normalization(Canonical& c, Node& node) {
  Editor& e = c.editor;
  std::vector<std::vector<double>> p;
  for (size_t i = 1; i < 5; i++) {
    const Constant* constant = e.constant(node.inputs[i]);
    if (!constant) return computed_batch_normalization(c, node);
    p.push_back(numbers(*constant));
  }
  std::vector<double> factor, shift;
  for (size_t i = 0; i < p[0].size(); i++) {
    factor.push_back(p[0][i] / std::sqrt(p[3][i] + node.number(attr::epsilon, 1e-5)));
    shift.push_back(p[1][i] - p[2][i] * factor[i]);
  }
  std::vector<int64_t> dims(e.rank(node.inputs[0]), 1);
  if (dims.size() > 1) dims[1] = int64_t(factor.size());
  ValueId f = e.new_constant(e.value(node.inputs[1]).name, make_f32(dims, factor));
  ValueId s = e.new_constant(e.value(node.inputs[2]).name, make_f32(dims, shift));
  e.set_inputs(node, {node.inputs[0], f, s});
  become(node, {{Op::kFma, 0, 1, 2}}, "f32");
}

}  // namespace

void add_elementwise_rules(Rules& rules) {
  for (size_t i = 1; i < graph::kOperatorCount; i++)
    if (graph::has_steps(graph::Operator(i))) rules[graph::Operator(i)] = by_steps;
  rules[op::PRelu] = prelu;
  rules[op::Cast] = cast;
  rules[op::Expand] = expand;
  rules[op::BatchNormalization] = batch_normalization;
}

}  // namespace ingot::passes
