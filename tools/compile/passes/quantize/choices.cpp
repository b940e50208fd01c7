// SPDX-License-Identifier: Apache-2.0
// Operators that choose one of their numbers: the larger, the smaller, what a condition says. Their
// operands are taken to the steps of the result; rounding keeps the order of numbers, so the choice
// among bytes is the choice among numbers, rounded.
#include <algorithm>

#include "tools/compile/passes/quantize/int8_graph.h"

namespace ingot::passes::quantize {

ValueId recognize_choice(Int8Graph& g, const Node& root, const Output& to) {
  const size_t first = root.op == op::Where ? 1 : 0;
  std::vector<QuantParams> all;
  for (size_t i = first; i < root.inputs.size(); i++) {
    const auto params = g.quant_params(root.inputs[i]);
    if (!params) return kAbsent;
    all.push_back(*params);
  }
  std::vector<ValueId> operands(root.inputs.begin(), root.inputs.begin() + int64_t(first));
  for (size_t i = 0; i < all.size(); i++)
    operands.push_back(g.rescaled(root.inputs[first + i], all[i], to, root));
  return g.e.emit(root.op, operands, DType::kU8, g.e.dims(root.outputs[0]), root, root.attributes);
}

/// The largest or the smallest along dimensions.
ValueId recognize_extreme(Int8Graph& g, const Node& root, const Output& to) {
  const auto params = g.quant_params(root.inputs[0]);
  if (!params) return kAbsent;
  std::vector<ValueId> operands = root.inputs;
  operands[0] = g.rescaled(root.inputs[0], *params, to, root);
  return g.e.emit(root.op, operands, DType::kU8, g.e.dims(root.outputs[0]), root, root.attributes);
}

}  // namespace ingot::passes::quantize
