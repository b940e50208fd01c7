// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/infer/incremental_inference.h"

#include "tools/graph/infer/inference.h"

namespace ingot::graph {

IncrementalInference::IncrementalInference(Model& model, std::vector<Unsupported>* unsupported)
    : model_(model), inference_(std::make_unique<Inference>(model, unsupported)) {}
IncrementalInference::~IncrementalInference() = default;

void IncrementalInference::add(Node node) {
  std::vector<Node>& to = open_.empty() ? model_.graph.nodes : *open_.back();
  inference_->visit_into(to, [&] { inference_->visit(std::move(node)); });
}
ValueId IncrementalInference::resolve(ValueId id) const { return inference_->resolve(id); }
bool IncrementalInference::known(ValueId id) const { return inference_->known(id); }
std::optional<Contents> IncrementalInference::contents(ValueId id) const {
  return inference_->contents(id);
}
void IncrementalInference::state(ValueId id, Contents contents) {
  inference_->set_contents(id, std::move(contents));
}
void IncrementalInference::enter(std::vector<Node>* to) { open_.push_back(to); }
void IncrementalInference::leave() { open_.pop_back(); }

}  // namespace ingot::graph
