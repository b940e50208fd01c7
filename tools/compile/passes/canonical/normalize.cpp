// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"

namespace ingot::passes {
namespace {

ValueId operand(const Node& node, size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : kAbsent;
}

// The operand with exactly these dims: as it is, a constant made so, or kAbsent when neither works.
ValueId exactly(Editor& e, ValueId id, const Dims& dims) {
  if (same(e.dims(id), dims)) return id;
  std::optional<std::vector<int64_t>> fixed = static_dims(dims);
  const Constant* constant = e.constant(id);
  if (!constant || !fixed || constant->dims.size() > fixed->size()) return kAbsent;
  return e.new_constant(e.value(id).name, broadcast(*constant, *fixed));
}

// Scale and bias as operands where they have the right dims, as Elementwise behind where they do
// not.
void layer(Canonical& c, Node& node) {
  Editor& e = c.editor;
  e.kill(node);
  int64_t axis = node.integer(attr::axis, -1);
  ValueId x = node.inputs[0], out = node.outputs[0];
  const Dims& dims = e.dims(x);
  Dims tail(dims.begin() + axis, dims.end());
  Attributes a = {{attr::kind, std::string(node.op == op::RMSNormalization ? "rms" : "layer")},
                  {attr::axis, axis},
                  {attr::epsilon, node.number(attr::epsilon, 1e-5)}};
  std::vector<ValueId> inputs = {x}, behind;
  for (size_t i = 1; i < 3; i++) {
    ValueId id = operand(node, i), fitting = id < 0 ? kAbsent : exactly(e, id, tail);
    if (id >= 0 && (fitting < 0 || !behind.empty()))
      behind.push_back(id);
    else
      inputs.push_back(fitting);
    if (id < 0 && !behind.empty()) behind.push_back(kAbsent);
  }
  while (inputs.back() < 0) inputs.pop_back();
  if (behind.empty()) {
    e.add(op::Normalize, std::move(inputs), {out}, node, std::move(a));
    return;
  }
  bool scaled = inputs.size() > 1;  // then only the bias is left
  ValueId y = e.emit(op::Normalize, std::move(inputs), DType::kF32, dims, node, std::move(a));
  if (scaled) {
    e.add(op::Elementwise, {y, behind[0]}, {out}, node, elementwise({{Op::kAdd, 0, 1}}, "f32"));
  } else if (behind.size() < 2 || behind[1] < 0) {
    e.add(op::Elementwise, {y, behind[0]}, {out}, node, elementwise({{Op::kMul, 0, 1}}, "f32"));
  } else {
    e.add(op::Elementwise, {y, behind[0], behind[1]}, {out}, node,
          elementwise({{Op::kFma, 0, 1, 2}}, "f32"));
  }
}

void by_channel(Canonical& c, Node& node) {
  Editor& e = c.editor;
  e.kill(node);
  ValueId x = node.inputs[0], out = node.outputs[0];
  Integers perm = to_channels_last(e.rank(x));
  Attributes a = {
      {attr::kind, std::string(node.op == op::GroupNormalization ? "group" : "instance")},
      {attr::epsilon, node.number(attr::epsilon, 1e-5)},
      {attr::groups, node.integer(attr::num_groups, 1)}};
  std::vector<ValueId> inputs = {e.transpose(x, perm, node), operand(node, 1), operand(node, 2)};
  while (inputs.back() < 0) inputs.pop_back();
  ValueId y = e.emit(op::Normalize, std::move(inputs), DType::kF32, permuted(e.dims(x), perm), node,
                     std::move(a));
  e.value(y).layout = "NHWC";
  e.add(op::Transpose, {y}, {out}, node, {{attr::perm, inverse(perm)}});
}

}  // namespace

void add_norm_rules(Rules& rules) {
  rules[op::LayerNormalization] = rules[op::RMSNormalization] = layer;
  rules[op::InstanceNormalization] = rules[op::GroupNormalization] = by_channel;
}

}  // namespace ingot::passes
