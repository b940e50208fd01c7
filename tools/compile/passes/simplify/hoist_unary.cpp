// SPDX-License-Identifier: Apache-2.0
// Producer -> Reshape -> an Elementwise of that value alone: computed before the Reshape, where it
// can go into the producer's store.
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

// The one operand that is not a number, when there is exactly one.
ValueId single_operand(const Editor& e, const Node& node) {
  ValueId found = kAbsent;
  for (ValueId id : node.inputs) {
    if (scalar(e.model, id)) continue;
    if (found >= 0 && found != id) return kAbsent;
    found = id;
  }
  return found;
}

}  // namespace

uint32_t hoist_unary(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::Elementwise) continue;
    ValueId x = single_operand(e, *node), y = node->outputs[0];
    Node* shaped = e.producer_if(x, op::Reshape);
    if (!shaped || !e.read_once(x) || !same(e.dims(x), e.dims(y))) continue;
    ValueId before = shaped->inputs[0];
    if (!stores(e.producer(before)) || !e.read_once(before)) continue;
    std::vector<ValueId> inputs = node->inputs;
    for (ValueId& id : inputs) {
      if (id == x)
        id = before;
      else if (e.rank(id) > 0)
        // must not widen the new dims
        id = e.new_constant(e.value(id).name, with_dims(*e.constant(id), {}));
    }
    e.kill(*shaped);
    e.set_inputs(*node, inputs);
    ValueId inner =
        e.new_value(e.value(y).name + "/before_reshape", e.value(y).dtype, e.dims(before));
    e.value(inner).layout = e.value(before).layout;
    e.set_outputs(*node, {inner});
    e.add(op::Reshape, {inner}, {y}, *shaped);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
