// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/canonical/rules.h"

namespace ingot::passes {

void Canonical::refuse(const Node& node, const std::string& attribute, const std::string& why,
                       const std::string& hint) {
  std::string output =
      node.outputs.empty() || node.outputs[0] < 0 ? "" : editor.value(node.outputs[0]).name;
  refused.push_back({text(node.op), attribute, node.name, output, why, hint});
}

uint32_t canonicalize(Editor& editor, std::vector<graph::Unsupported>& refused) {
  Rules rules;
  for (size_t i = 0; i < graph::kOperatorCount; i++)
    if (graph::kOperators[i].form == graph::OperatorForm::kBoth)
      rules[graph::Operator(i)] = [](Canonical&, Node&) {};
  add_convolution_rules(rules);
  add_pool_rules(rules);
  add_product_rules(rules);
  add_elementwise_rules(rules);
  add_reduce_rules(rules);
  add_norm_rules(rules);
  add_recurrent_rules(rules);
  add_movement_rules(rules);
  Canonical canonical{editor, refused};
  uint32_t changed = 0;
  for (Node* node : editor.nodes()) {
    if (node->dead || node->op == op::If || node->op == op::Loop) continue;
    auto rule = rules.find(node->op);
    if (rule == rules.end()) {
      canonical.refuse(*node, "", "Ingot has no operator for it yet");
      continue;
    }
    rule->second(canonical, *node);
    editor.drop_unread_constants();
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
