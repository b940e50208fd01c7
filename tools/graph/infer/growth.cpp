#include "tools/graph/infer/growth.h"

#include "tools/graph/infer/inference.h"

namespace ingot::graph {

Growth::Growth(Model& model, std::vector<Unsupported>* unsupported)
    : model_(model), inference_(std::make_unique<Inference>(model, unsupported)) {}
Growth::~Growth() = default;

void Growth::add(Node node) {
  std::vector<Node>& to = open_.empty() ? model_.graph.nodes : *open_.back();
  inference_->visit_into(to, [&] { inference_->visit(std::move(node)); });
}
ValueId Growth::resolve(ValueId id) const { return inference_->resolve(id); }
bool Growth::known(ValueId id) const { return inference_->known(id); }
std::optional<Contents> Growth::contents(ValueId id) const { return inference_->contents(id); }
void Growth::state(ValueId id, Contents contents) {
  inference_->set_contents(id, std::move(contents));
}
void Growth::enter(std::vector<Node>* to) { open_.push_back(to); }
void Growth::leave() { open_.pop_back(); }

}  // namespace ingot::graph
