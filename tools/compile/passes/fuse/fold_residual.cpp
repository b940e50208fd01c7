// SPDX-License-Identifier: Apache-2.0
// The sum of two values of the same dims goes into the store of the convolution or Linear that
// makes the later of them. The other is made before it, so it lives no longer than it did.
#include <algorithm>

#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

bool can_add(const Editor& e, ValueId id, const Dims& dims) {
  Node* maker = e.producer(id);
  return maker &&
         (maker->op == op::Conv2d || maker->op == op::Linear || maker->op == op::BlockLinear) &&
         (maker->inputs.size() <= 3 || maker->inputs[3] < 0) && e.read_once(id) &&
         same(e.dims(id), dims);
}

}  // namespace

uint32_t fold_residual(Editor& e, Remarks&) {
  uint32_t changed = 0;
  std::vector<Node*> all = e.nodes();
  std::map<const Node*, size_t> order;
  for (size_t i = 0; i < all.size(); i++) order[all[i]] = i;
  for (Node* node : all) {
    if (node->dead || node->inputs.size() != 2 || node->inputs[0] == node->inputs[1]) continue;
    std::optional<Step> step = only_step(*node);
    ValueId out = node->outputs[0];
    if (!step || step->op != Op::kAdd || step->a + step->b != 1 ||
        e.value(out).dtype != DType::kF32)
      continue;
    const Dims& dims = e.dims(out);
    ValueId a = node->inputs[0], b = node->inputs[1];
    if (!same(e.dims(a), dims) || !same(e.dims(b), dims) || e.constant(a) || e.constant(b))
      continue;
    bool first = can_add(e, a, dims), second = can_add(e, b, dims);
    if (!first && !second) continue;
    // the one that can still take the activation behind the sum, else the later one
    if (first && second) {
      bool a_plain = !e.producer(a)->has(attr::activation),
           b_plain = !e.producer(b)->has(attr::activation);
      first = a_plain != b_plain ? a_plain : order.at(e.producer(a)) > order.at(e.producer(b));
    }
    ValueId sum = first ? a : b, residual = first ? b : a;
    Node* maker = e.producer(sum);
    std::vector<ValueId> inputs = maker->inputs;
    inputs.resize(std::max<size_t>(inputs.size(), 4), kAbsent);
    inputs[3] = residual;
    e.kill(*node);
    e.set_inputs(*maker, std::move(inputs));
    e.set_outputs(*maker, {out});
    e.merge_sources(*maker, *node);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
