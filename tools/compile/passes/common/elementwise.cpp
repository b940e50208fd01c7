// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/common/elementwise.h"

namespace ingot::passes {

std::vector<Step> steps_of(const Node& node) {
  Integers flat = node.integers(attr::steps);
  std::vector<double> numbers = node.numbers(attr::step_numbers);
  std::vector<Step> steps;
  for (size_t i = 0; 4 * i + 3 < flat.size(); i++)
    steps.push_back({Op(flat[4 * i]), int(flat[4 * i + 1]), int(flat[4 * i + 2]),
                     int(flat[4 * i + 3]), numbers[2 * i], numbers[2 * i + 1]});
  return steps;
}

void set_steps(Node& node, const std::vector<Step>& steps) {
  Integers flat;
  std::vector<double> numbers;
  for (const Step& step : steps) {
    flat.insert(flat.end(), {int64_t(step.op), step.a, step.b, step.c});
    numbers.insert(numbers.end(), {step.alpha, step.beta});
  }
  node.attributes[attr::steps] = std::move(flat);
  node.attributes[attr::step_numbers] = std::move(numbers);
}

Attributes elementwise(const std::vector<Step>& steps, const std::string& compute) {
  Node node;
  set_steps(node, steps);
  node.attributes[attr::compute] = compute;
  return node.attributes;
}

const char* compute_name(ComputeType type) {
  switch (type) {
    case ComputeType::kF32: return "f32";
    case ComputeType::kI64: return "i64";
    case ComputeType::kF64: return "f64";
    case ComputeType::kU64: return "u64";
  }
  return "";
}
const char* compute_type(DType dtype) { return compute_name(graph::compute_type(dtype)); }

DType compute_dtype(const std::string& compute) {
  return compute == "f64"   ? DType::kF64
         : compute == "i64" ? DType::kI64
         : compute == "u64" ? DType::kU64
                            : DType::kF32;
}

std::optional<Step> only_step(const Node& node) {
  if (node.op != op::Elementwise) return std::nullopt;
  std::vector<Step> steps = steps_of(node);
  if (steps.size() != 1) return std::nullopt;
  return steps[0];
}

bool is_unary(const Node& node) {
  std::optional<Step> step = only_step(node);
  return step && node.inputs.size() == 1 && elementwise_arity(step->op) == 1;
}

bool has_weights(const Node& node) {
  return node.op == op::Conv2d || node.op == op::Linear || node.op == op::ConvTranspose2d;
}
bool stores(const Node* node) {
  return node && (has_weights(*node) || node->op == op::Elementwise);
}

}  // namespace ingot::passes
