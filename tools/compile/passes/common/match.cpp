// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/common/match.h"

#include <cmath>

namespace ingot::passes {
namespace {

void collect(const Editor& e, Node& node, Product& product) {
  product.inside.push_back(&node);
  for (size_t i = 0; i < node.inputs.size(); i++) {
    ValueId id = node.inputs[i];
    if (std::optional<double> number = scalar(e.model, id)) {
      product.factor *= node.op == op::Div && i == 1 ? 1 / *number : *number;
      continue;
    }
    Node* below = e.producer(id);
    bool follow =
        below && e.read_once(id) && same(e.dims(id), e.dims(node.outputs[0])) &&
        (below->op == op::Mul || (below->op == op::Div && scalar(e.model, below->inputs[1])));
    if (follow)
      collect(e, *below, product);
    else
      product.leaves.push_back(id);
  }
}

}  // namespace

Product product_of(const Editor& e, Node& root) {
  Product product;
  if (root.op == op::Mul || (root.op == op::Div && scalar(e.model, root.inputs[1])))
    collect(e, root, product);
  return product;
}

std::optional<WithConstant> with_constant(const Editor& e, const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (size_t i = 0; i < 2; i++)
    if (std::optional<double> number = scalar(e.model, node.inputs[1 - i]);
        number && !e.constant(node.inputs[i]))
      return WithConstant{node.inputs[i], *number};
  return std::nullopt;
}

std::optional<WithConstant> made_with_constant(const Editor& e, ValueId id, graph::Operator op) {
  Node* node = e.producer_if(id, op);
  return node ? with_constant(e, *node) : std::nullopt;
}

bool near(double a, double b, double relative) {
  return std::fabs(a - b) <= relative * std::fabs(b);
}

std::optional<ValueId> square_of(const Editor& e, ValueId id) {
  if (Node* mul = e.producer_if(id, op::Mul); mul && mul->inputs[0] == mul->inputs[1])
    return mul->inputs[0];
  if (Node* pow = e.producer_if(id, op::Pow); pow && is_scalar(e.model, pow->inputs[1], 2))
    return pow->inputs[0];
  return std::nullopt;
}

void retire(Editor& e, const std::vector<Node*>& nodes, Node& into) {
  for (Node* node : nodes) {
    e.merge_sources(into, *node);
    bool read = false;
    for (ValueId id : node->outputs) read |= id >= 0 && (e.reader_count(id) || e.is_output(id));
    if (!read) e.kill(*node);
  }
}

}  // namespace ingot::passes
