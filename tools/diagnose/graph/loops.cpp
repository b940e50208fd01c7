// SPDX-License-Identifier: Apache-2.0
// The bodies of loops: computed once for every iteration, checked in those that are kept.
#include "tools/diagnose/graph/check_graph.h"

namespace ingot::compare {
namespace {

/// Elements that the iterations of loops may hold beside the first and the last one of each (256
/// MiB of doubles).
constexpr int64_t kMaxElements = int64_t(1) << 25;

Tensor scalar(int64_t x) { return Tensor{{}, {double(x)}}; }

}  // namespace

/// The trip count, or the bound where there is none; nothing where nobody knows it.
std::optional<int64_t> GraphChecker::most_trips(const Model& model, const Node& node) const {
  if (node.inputs[0] >= 0) {
    const std::optional<Tensor> count = known(model, node.inputs[0]);
    return count && count->at.size() == 1 ? std::optional<int64_t>(int64_t(count->at[0]))
                                          : std::nullopt;
  }
  try {
    return node.dims(attr::most).at(0).evaluate(bindings_here(model));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// One iteration of the source, entered already. False when something that it carries stays
/// unknown.
bool GraphChecker::iterate(const Model& model, const Node& node, std::vector<Tensor>* carried,
                           bool* goes_on, SourceState* state, int depth) {
  const graph::Graph& body = *node.subgraph(attr::body);
  for (size_t k = 0; k < carried->size(); k++)
    reference_values_.set(body.inputs[k + 1], std::move((*carried)[k]));
  compute_source(model, body, depth + 1);
  for (size_t k = 0; k < body.outputs.size(); k++) {
    if (k == 0 && body.outputs[0] < 0) continue;
    std::optional<Tensor> next = known(model, body.outputs[k]);
    if (!next) {
      state->why_unknown =
          "'" + model.values[size_t(body.outputs[k])].name + "' in its body is not known";
      return false;
    }
    if (k == 0)
      *goes_on = !next->at.empty() && next->at[0] != 0;
    else
      (*carried)[k - 1] = std::move(*next);
  }
  return true;
}

void GraphChecker::compute_loop(const Model& model, const Node& node, SourceState* state,
                                int depth) {
  const graph::Graph& body = *node.subgraph(attr::body);
  std::vector<Tensor> carried;
  bool goes_on = true;
  for (size_t i = 1; i < node.inputs.size(); i++) {
    if (i == 1 && node.inputs[1] < 0) continue;
    std::optional<Tensor> initial = known(model, node.inputs[i]);
    if (!initial) {
      state->why_unknown = "'" + model.values[size_t(node.inputs[i])].name + "' is not known";
      return;
    }
    if (i == 1)
      goes_on = !initial->at.empty() && initial->at[0] != 0;
    else
      carried.push_back(std::move(*initial));
  }
  const std::optional<int64_t> most = most_trips(model, node);
  if (!most) {
    state->why_unknown = "how often it runs is not known";
    return;
  }
  int64_t trips = 0, dropped = 0;
  bool is_last_spare = false;
  for (; trips < *most && goes_on; trips++) {
    reference_values_.enter(trips);
    reference_values_.set(body.inputs[0], scalar(trips));
    const bool whole = iterate(model, node, &carried, &goes_on, state, depth);
    reference_values_.leave();
    if (!whole) return;
    if (is_last_spare) reference_values_.forget(trips - 1), dropped++;
    is_last_spare = trips > 0 && reference_values_.elements_in_loops() > kMaxElements;
  }
  trips_[{reference_values_.at(), body.inputs[0]}] = trips;
  if (dropped)
    notes_.insert("Loop '" + node.name + "': " + std::to_string(trips - dropped) + " of its " +
                  std::to_string(trips) +
                  " iterations are checked, the last among them; the others need more memory");
  for (size_t k = 0; k < node.outputs.size(); k++)
    if (node.outputs[k] >= 0) reference_values_.set(node.outputs[k], std::move(carried[k]));
}

void GraphChecker::check_loop(const std::string& pass, const Model& model, const Node& node) {
  const graph::Graph& body = *node.subgraph(attr::body);
  const auto trips = trips_.find({reference_values_.at(), body.inputs[0]});
  if (trips == trips_.end()) {
    notes_.insert("Loop '" + node.name + "' was not checked: its iterations are not known");
    return;
  }
  // Conversion copies a constant to where the loop carries it: that is known as other values are.
  for (const ValueId id : node.inputs)
    if (model.constant(id) && !reference_values_.find(id))
      reference_values_.set(id, *known(model, id));
  check_trips(pass, model, node, trips->second);
  for (const int64_t iteration : reference_values_.kept(body.inputs[0])) {
    if (wrong_pass_) return;
    check_iteration(pass, model, node, iteration);
  }
  check_results(pass, model, node, trips->second);
}

void GraphChecker::check_trips(const std::string& pass, const Model& model, const Node& node,
                               int64_t trips) {
  const std::optional<int64_t> most = most_trips(model, node);
  const bool may_end_early = node.inputs[1] >= 0;
  if (!most || (may_end_early ? *most >= trips : std::max<int64_t>(*most, 0) == trips)) return;
  const Measure m = measure(scalar(trips), scalar(*most), DType::kI64, limits_);
  blame(pass, model, node, node.subgraph(attr::body)->inputs[0], m);
}

/// The nodes of the body, and whether what they hand on is what the next iteration begins with.
void GraphChecker::check_iteration(const std::string& pass, const Model& model, const Node& node,
                                   int64_t iteration) {
  const graph::Graph& body = *node.subgraph(attr::body);
  std::vector<std::optional<Tensor>> carried;
  for (size_t k = 1; iteration == 0 && k < body.inputs.size(); k++)
    carried.push_back(known(model, node.inputs[k + 1]));
  reference_values_.enter(iteration);
  for (size_t k = 0; k < carried.size() && !wrong_pass_; k++)
    if (carried[k]) check_value(pass, model, node, body.inputs[k + 1], std::move(*carried[k]));
  check_graph(pass, model, body);
  carried.clear();
  for (size_t k = 1; k < body.outputs.size(); k++) carried.push_back(known(model, body.outputs[k]));
  reference_values_.leave();
  reference_values_.enter(iteration + 1);
  for (size_t k = 0; k < carried.size() && !wrong_pass_; k++)
    if (carried[k] && reference_values_.find_here(body.inputs[0]))
      check_value(pass, model, node, body.inputs[k + 1], std::move(*carried[k]));
  reference_values_.leave();
}

void GraphChecker::check_results(const std::string& pass, const Model& model, const Node& node,
                                 int64_t trips) {
  const graph::Graph& body = *node.subgraph(attr::body);
  std::vector<std::optional<Tensor>> results;
  if (trips == 0) {
    for (size_t k = 2; k < node.inputs.size(); k++) results.push_back(known(model, node.inputs[k]));
  } else {
    reference_values_.enter(trips - 1);
    for (size_t k = 1; k < body.outputs.size(); k++)
      results.push_back(known(model, body.outputs[k]));
    reference_values_.leave();
  }
  for (size_t k = 0; k < node.outputs.size() && !wrong_pass_; k++)
    if (node.outputs[k] >= 0 && k < results.size() && results[k])
      check_value(pass, model, node, node.outputs[k], std::move(*results[k]));
}

}  // namespace ingot::compare
