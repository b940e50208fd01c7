// SPDX-License-Identifier: Apache-2.0
// Weights that are one number spread over a shape (the importer leaves large ones so) are written
// out: what folds and packs them needs their elements.
#include <algorithm>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

// 1 GiB of f32: no sensible network repeats one number more often
constexpr double kMaxElements = 1 << 28;

bool reads_weights(const Node& node, size_t operand) {
  if (node.op == op::MatMul) return true;
  static constexpr graph::Operators kWeighted = {op::Conv, op::ConvTranspose, op::Gemm,
                                                 op::BatchNormalization};
  return operand > 0 && (kWeighted.has(node.op) || graph::kRecurrences.has(node.op));
}

}  // namespace

uint32_t materialize_weights(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    for (size_t i = 0; i < node->inputs.size(); i++) {
      if (!reads_weights(*node, i)) continue;
      Node* spread = e.producer_if(node->inputs[i], op::Expand);
      const Constant* one = spread ? e.constant(spread->inputs[0]) : nullptr;
      auto dims = spread ? static_dims(e.dims(spread->outputs[0])) : std::nullopt;
      if (!one || !one->bytes || !dims ||
          estimated_elements(e.dims(spread->outputs[0])) > kMaxElements)
        continue;
      e.merge_sources(*node, *spread);
      e.set_input(*node, i, e.new_constant(e.value(node->inputs[i]).name, broadcast(*one, *dims)));
      changed++;
    }
  }
  return changed;
}

}  // namespace ingot::passes
