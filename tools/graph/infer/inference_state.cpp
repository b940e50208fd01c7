// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/inference_state.cpp - inference goes back to where it was: a loop's body is
// walked again when an iteration turns out to give other extents than it took.
#include "tools/files/work_budget.h"
#include "tools/graph/infer/inference.h"

namespace ingot::graph {

Node cloned(const Node& node) {
  Node copy = node;
  host::charge_work(1 + node.inputs.size() + node.outputs.size());
  for (auto& [key, attribute] : copy.attributes) {
    auto* const graph = std::get_if<std::shared_ptr<Graph>>(&attribute);
    if (!graph || !*graph) continue;
    auto inner = std::make_shared<Graph>(**graph);
    for (Node& each : inner->nodes) each = cloned(each);
    *graph = std::move(inner);
  }
  return copy;
}

Inference::State Inference::state() const {
  host::charge_work(4 * model.values.size());
  return {model.values, model.data_dependent, model.notes, model.fold_budget,    replaced_,
          contents_,    sequences_,           stated_,     unsupported_->size(), out_->size()};
}

void Inference::restore(State state) {
  model.values = std::move(state.values);
  model.data_dependent = std::move(state.data_dependent);
  model.notes = std::move(state.notes);
  model.fold_budget = state.fold_budget;
  replaced_ = std::move(state.replaced);
  contents_ = std::move(state.contents);
  sequences_ = std::move(state.sequences);
  stated_ = std::move(state.stated);
  unsupported_->resize(state.unsupported);
  out_->resize(state.nodes);
}

}  // namespace ingot::graph
