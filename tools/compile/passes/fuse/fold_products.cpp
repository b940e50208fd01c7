// SPDX-License-Identifier: Apache-2.0
// A Transpose of the last two dimensions and a factor go into the MatMul that they stand beside.
#include <cmath>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

bool turns_matrices(const Integers& perm) {
  size_t r = perm.size();
  for (size_t i = 0; i + 2 < r; i++)
    if (perm[i] != int64_t(i)) return false;
  return r >= 2 && perm[r - 2] == int64_t(r) - 1;
}

bool fold_transposes(Editor& e, Node& node) {
  bool changed = false;
  for (size_t i = 0; i < 2; i++) {
    Node* turned = e.producer_if(node.inputs[i], op::Transpose);
    if (!turned || !turns_matrices(turned->integers(attr::perm))) continue;
    graph::AttributeName key = i ? attr::trans_b : attr::trans_a;
    node.attributes[key] = int64_t(!node.integer(key, 0));
    e.merge_sources(node, *turned);
    e.set_input(node, i, turned->inputs[0]);
    changed = true;
  }
  return changed;
}

// The factor of a Mul or Div by one constant, and the operand that it scales.
std::optional<double> factor(const Editor& e, const Node& node, ValueId& x) {
  std::optional<Step> s = only_step(node);
  if (!s || node.inputs.size() != 2 || s->a + s->b != 1 || node.text(attr::compute, "f32") != "f32")
    return std::nullopt;
  for (int k = 0; k < 2; k++) {
    std::optional<double> number = scalar(e.model, node.inputs[size_t(k)]);
    x = node.inputs[size_t(1 - k)];
    if (!number || !std::isfinite(*number) || e.constant(x) ||
        !same(e.dims(x), e.dims(node.outputs[0])))
      continue;
    if (s->op == Op::kMul) return number;
    if (s->op == Op::kDiv && s->b == k && *number != 0) return 1 / *number;
  }
  return std::nullopt;
}

bool fold_scales(Editor& e, Node& node) {
  for (size_t i = 0; i < 2; i++) {
    Node* scaled = e.producer_if(node.inputs[i], op::Elementwise);
    if (!scaled || !e.read_once(node.inputs[i])) continue;
    ValueId x = kAbsent;
    std::optional<double> k = factor(e, *scaled, x);
    if (!k) continue;
    node.attributes[attr::alpha] = node.number(attr::alpha, 1) * *k;
    e.merge_sources(node, *scaled);
    e.set_input(node, i, x);
    e.kill(*scaled);
    return true;
  }
  ValueId y = node.outputs[0];
  if (!e.read_once(y) || e.readers(y)[0]->op != op::Elementwise) return false;
  Node* behind = e.readers(y)[0];
  ValueId x = kAbsent;
  std::optional<double> k = factor(e, *behind, x);
  if (!k || x != y) return false;
  node.attributes[attr::alpha] = node.number(attr::alpha, 1) * *k;
  ValueId out = behind->outputs[0];
  e.kill(*behind);
  e.set_outputs(node, {out});
  e.merge_sources(node, *behind);
  return true;
}

}  // namespace

uint32_t fold_products(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::MatMul) continue;
    while (fold_transposes(e, *node) || fold_scales(e, *node)) changed++;
  }
  return changed;
}

// Transpose([B,T,I] -> [T,B,I]) -> Recurrent: read as it lies, with the results put in the order
// that the readers expect.
uint32_t fold_sequence_order(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::Recurrent || node->integer(attr::batch_first, 0)) continue;
    Node* turned = e.producer_if(node->inputs[0], op::Transpose);
    if (!turned || turned->integers(attr::perm) != Integers{1, 0, 2}) continue;
    e.set_input(*node, 0, turned->inputs[0]);
    e.merge_sources(*node, *turned);
    node->attributes[attr::batch_first] = int64_t(1);
    ValueId y = node->outputs[0];
    if (y >= 0) {
      std::vector<ValueId> outputs = node->outputs;
      outputs[0] = e.new_value(e.value(y).name + "/batch_first", e.value(y).dtype,
                               permuted(e.dims(y), {2, 0, 1, 3}));
      e.set_outputs(*node, outputs);
      e.add(op::Transpose, {outputs[0]}, {y}, *node, {{attr::perm, Integers{1, 2, 0, 3}}});
    }
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
