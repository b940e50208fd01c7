// SPDX-License-Identifier: Apache-2.0
// Operators that choose one of their numbers: the larger, the smaller, what a condition says. Their
// operands are taken to the steps of the result; rounding keeps the order of numbers, so the choice
// among bytes is the choice among numbers, rounded.
#include <algorithm>

#include "tools/compile/passes/quantize/byte_graph.h"

namespace ingot::passes::quantize {

ValueId recognize_choice(ByteGraph& g, const Node& root, const Output& to) {
  const size_t first = root.op == op::Where ? 1 : 0;
  std::vector<Steps> all;
  for (size_t i = first; i < root.inputs.size(); i++) {
    const auto steps = g.steps(root.inputs[i]);
    if (!steps) return kAbsent;
    all.push_back(*steps);
  }
  std::vector<ValueId> operands(root.inputs.begin(), root.inputs.begin() + int64_t(first));
  for (size_t i = 0; i < all.size(); i++)
    operands.push_back(g.rescaled(root.inputs[first + i], all[i], to, root));
  return g.e.emit(root.op, operands, DType::kU8, g.e.dims(root.outputs[0]), root, root.attributes);
}

/// The largest or the smallest along dimensions.
ValueId recognize_extreme(ByteGraph& g, const Node& root, const Output& to) {
  const auto steps = g.steps(root.inputs[0]);
  if (!steps) return kAbsent;
  std::vector<ValueId> operands = root.inputs;
  operands[0] = g.rescaled(root.inputs[0], *steps, to, root);
  return g.e.emit(root.op, operands, DType::kU8, g.e.dims(root.outputs[0]), root, root.attributes);
}

}  // namespace ingot::passes::quantize
