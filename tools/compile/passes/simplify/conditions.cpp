// SPDX-License-Identifier: Apache-2.0
// An If whose condition is known becomes the nodes of the branch that is taken.
#include <algorithm>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

void rename_reads(Graph& graph, ValueId from, ValueId to) {
  for (Node& node : graph.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    for (Graph* inner : branches(node)) rename_reads(*inner, from, to);
  }
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

bool makes(const Graph& graph, ValueId id) {
  for (const Node& node : graph.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end()) return true;
  return false;
}

}  // namespace

uint32_t inline_constant_conditions(Model& model, Graph& graph) {
  uint32_t changed = 0;
  std::vector<Node> nodes = std::move(graph.nodes), result;
  graph.nodes.clear();
  std::vector<std::pair<ValueId, ValueId>> renamed;
  for (Node& node : nodes) {
    std::optional<double> condition =
        node.op == op::If ? scalar(model, node.inputs[0]) : std::nullopt;
    if (!condition) {
      for (Graph* inner : branches(node)) changed += inline_constant_conditions(model, *inner);
      result.push_back(std::move(node));
      continue;
    }
    std::shared_ptr<Graph> taken =
        node.subgraph(*condition != 0 ? attr::then_branch : attr::else_branch);
    if (!taken)
      graph::fail_unsupported("If '" + node.name +
                              "': always takes a branch that cannot run with these shapes");
    changed += 1 + inline_constant_conditions(model, *taken);
    for (size_t i = 0; i < node.outputs.size(); i++) {
      ValueId inner = taken->outputs[i], outer = node.outputs[i];
      if (outer < 0) continue;
      // The branch's value takes the name of the If's; one that the branch does not make itself is
      // passed on.
      if (makes(*taken, inner) &&
          std::count(taken->outputs.begin(), taken->outputs.end(), inner) == 1) {
        for (Node& each : taken->nodes)
          std::replace(each.outputs.begin(), each.outputs.end(), inner, outer);
        rename_reads(*taken, inner, outer);
      } else {
        Node same;
        same.op = op::Identity;
        same.name = node.name;
        same.sources = node.sources;
        same.inputs = {inner};
        same.outputs = {outer};
        taken->nodes.push_back(std::move(same));
      }
    }
    for (Node& each : taken->nodes) result.push_back(std::move(each));
  }
  graph.nodes = std::move(result);
  return changed;
}

}  // namespace ingot::passes
