// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/graph/check_graph.h"

#include <algorithm>
#include <cmath>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/editor.h"
#include "tools/diagnose/graph/same_node.h"
#include "tools/graph/fold/fold_constants.h"

namespace ingot::compare {
namespace {

/// What one operation may lose on operands of this size, in absolute numbers.
constexpr double kRounding = 1e-6;

Tensor to_channels_last(const Tensor& x) {
  const std::vector<int64_t> perm = passes::to_channels_last(x.dims.size());
  Tensor y;
  for (const int64_t p : perm) y.dims.push_back(x.dims[size_t(p)]);
  y.at.reserve(x.at.size());
  reference::for_each_index(y.dims, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from(at.size());
    for (size_t k = 0; k < at.size(); k++) from[size_t(perm[k])] = at[k];
    y.at.push_back(x.at[size_t(reference::offset_of(x.dims, from))]);
  });
  return y;
}

/// The folder of constants computes what the evaluator has no operator for.
bool fold(const Model& model, const Node& node, const std::vector<std::optional<Tensor>>& inputs,
          const std::map<std::string, int64_t>& bindings, std::map<ValueId, Tensor>* results) {
  Model alone;
  Node copy = node;
  copy.inputs.clear();
  copy.outputs.clear();
  for (size_t i = 0; i < inputs.size(); i++) {
    if (!inputs[i]) {
      copy.inputs.push_back(graph::kAbsent);
      continue;
    }
    const DType dtype = model.values[size_t(node.inputs[i])].dtype;
    const host::Array array = to_array(*inputs[i], dtype, "");
    copy.inputs.push_back(
        alone.add_constant("", graph::make_constant(dtype, array.dims, array.bytes.data())));
  }
  alone.fold_budget = int64_t(1) << 40;
  for (const ValueId id : node.outputs) {
    if (id < 0) {
      copy.outputs.push_back(id);
      continue;
    }
    const graph::Value& value = model.values[size_t(id)];
    const ValueId made = alone.add_value(value.name, value.dtype);
    for (const graph::Dim& dim : value.dims)
      alone.values[size_t(made)].dims.push_back(dim.evaluate(bindings));
    alone.values[size_t(made)].shape_known = value.shape_known;
    copy.outputs.push_back(made);
  }
  if (!graph::fold_node(alone, copy)) return false;
  for (size_t i = 0; i < node.outputs.size(); i++) {
    if (node.outputs[i] < 0) continue;
    const graph::Constant& c = *alone.constant(copy.outputs[i]);
    (*results)[node.outputs[i]] = Tensor{c.dims, passes::numbers(c)};
  }
  return true;
}

void collect(const graph::Graph& graph, std::set<ValueId>* used) {
  used->insert(graph.inputs.begin(), graph.inputs.end());
  used->insert(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) {
    if (node.dead) continue;
    used->insert(node.inputs.begin(), node.inputs.end());
    used->insert(node.outputs.begin(), node.outputs.end());
    for (graph::Graph* inner : passes::branches(const_cast<Node&>(node))) collect(*inner, used);
  }
}

}  // namespace

bool makes_value(const graph::SourceNode& source, const std::string& value) {
  const std::string& made = source.output;
  return !made.empty() && value.rfind(made, 0) == 0 &&
         (value.size() == made.size() || value[made.size()] == '/');
}

std::optional<Tensor> GraphChecker::known(const Model& model, ValueId id) const {
  if (const Tensor* tensor = reference_values(id)) return *tensor;
  const graph::Constant* constant = model.constant(id);
  if (!constant) return std::nullopt;
  return Tensor{constant->dims, passes::numbers(*constant)};
}

void GraphChecker::observe(const std::string& pass, Model& model) {
  if (!started_) {
    start(model);
    return;
  }
  times_[pass]++;
  if (wrong_pass_) return;
  place_ports(model);
  fresh_.clear();
  changed_.clear();
  check_graph(pass, model, model.graph);
  forget_unused(model);
}

bool GraphChecker::compute(const Model& model, const Node& node, std::map<ValueId, Tensor>* results,
                           std::string* why) {
  std::vector<std::optional<Tensor>> inputs;
  for (const ValueId id : node.inputs) {
    if (id >= 0 && !is_known(model, id)) {
      *why = "'" + model.values[size_t(id)].name + "' is not known";
      return false;
    }
  }
  try {
    reference::Evaluator evaluator(model, bindings_here(model),
                                   [&](ValueId id) { return reference_values_.find(id); });
    evaluator.run(node);
    for (const ValueId id : node.outputs)
      if (id >= 0) (*results)[id] = evaluator.take(id);
  } catch (const std::exception& error) {
    *why = error.what();
    for (const ValueId id : node.inputs) inputs.push_back(id < 0 ? std::nullopt : known(model, id));
    try {
      if (!fold(model, node, inputs, bindings_here(model), results)) return false;
    } catch (const std::exception&) {
      return false;
    }
  }
  for (auto& [id, tensor] : *results) round_to(model.values[size_t(id)].dtype, &tensor);
  return true;
}

/// With the symbols whose number is known.
std::map<std::string, int64_t> GraphChecker::bindings_here(const Model& model) const {
  std::map<std::string, int64_t> all = bindings_;
  for (const auto& [name, symbol] : model.data_dependent)
    if (const auto by = known(model, symbol.by); by && by->at.size() == 1)
      all[name] = int64_t(by->at[0]);
  return all;
}

double GraphChecker::rounding(const Model& model, const Node& node) const {
  double most = 0;
  for (const ValueId id : node.inputs) {
    if (id < 0 || model.values[size_t(id)].dtype != DType::kF32) continue;
    if (const Tensor* tensor = reference_values(id)) most = std::max(most, magnitude(*tensor));
  }
  return most * kRounding;
}

std::vector<uint32_t> GraphChecker::sources_of(const Model& model, const Node& node,
                                               ValueId output) const {
  std::vector<uint32_t> all = node.sources;
  const std::string name = output < 0 ? "" : model.values[size_t(output)].name;
  const auto makes = [&](uint32_t source) {
    return source < model.source_nodes.size() && makes_value(model.source_nodes[source], name);
  };
  std::stable_partition(all.begin(), all.end(), makes);
  for (const ValueId id : node.inputs) {  // what the same pass made in front
    const auto fresh = fresh_.find(id);
    if (fresh == fresh_.end()) continue;
    for (const uint32_t source : fresh->second)
      if (!std::count(all.begin(), all.end(), source)) all.push_back(source);
  }
  return all;
}

bool GraphChecker::is_unchanged(const Model& model, const Node& node) const {
  const auto key =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id >= 0; });
  if (key == node.outputs.end()) return true;
  const auto before = checked_.find(*key);
  if (before == checked_.end() || !same_node(before->second.node, node)) return false;
  for (size_t i = 0; i < node.inputs.size(); i++) {
    const ValueId id = node.inputs[i];
    if (id >= 0 && model.values[size_t(id)].constant != before->second.constants[i]) return false;
  }
  return true;
}

void GraphChecker::check_value(const std::string& pass, const Model& model, const Node& node,
                               ValueId id, Tensor found) {
  const Tensor* reference_values = reference_values_.find(id);
  if (!reference_values) {
    fresh_[id] = sources_of(model, node, id);
    reference_values_.set(id, std::move(found));
    return;
  }
  Limits limits = limits_;
  limits.winograd = true;
  const Measure m = measure(*reference_values, found, model.values[size_t(id)].dtype, limits,
                            rounding(model, node));
  if (!m.passed) blame(pass, model, node, id, m);
}

void GraphChecker::blame(const std::string& pass, const Model& model, const Node& node, ValueId id,
                         const Measure& m) {
  if (wrong_pass_) return;
  Divergence d;
  d.pass = pass, d.time = times_[pass];
  d.op = text(node.op), d.node = node.name;
  d.value = model.values[size_t(id)].name;
  if (const Tensor* reference_values = reference_values_.find(id)) d.dims = reference_values->dims;
  d.sources = sources_of(model, node, id);
  d.measure = m;
  d.iterations = reference_values_.at();
  wrong_pass_ = std::move(d);
}

void GraphChecker::check_node(const std::string& pass, const Model& model, const Node& node) {
  const auto key =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id >= 0; });
  if (key == node.outputs.end()) return;
  if (!changed_.count(*key)) {  // else it was found changed in an iteration before this one
    if (is_unchanged(model, node)) return;
    changed_.insert(*key);
    CheckedNode checked;
    checked.node = node;
    for (const ValueId id : node.inputs)
      checked.constants.push_back(id < 0 ? nullptr : model.values[size_t(id)].constant);
    checked_[*key] = std::move(checked);
  }
  std::map<ValueId, Tensor> results;
  std::string why;
  if (!compute(model, node, &results, &why)) {
    notes_.insert(text(node.op) + " '" + node.name + "' was not checked: " + why);
    return;
  }
  nodes_checked_++;
  for (const ValueId id : node.outputs)
    if (id >= 0) check_value(pass, model, node, id, std::move(results.at(id)));
}

std::shared_ptr<graph::Graph> GraphChecker::taken_branch(const Model& model,
                                                         const Node& node) const {
  const std::optional<Tensor> condition = known(model, node.inputs[0]);
  if (!condition || condition->at.empty()) return nullptr;
  return node.subgraph(condition->at[0] != 0 ? attr::then_branch : attr::else_branch);
}

void GraphChecker::check_branch(const std::string& pass, const Model& model, const Node& node) {
  const auto branch = taken_branch(model, node);
  if (!branch) return;
  check_graph(pass, model, *branch);
  for (size_t i = 0; i < node.outputs.size() && !wrong_pass_; i++) {
    if (node.outputs[i] < 0) continue;
    if (std::optional<Tensor> result = known(model, branch->outputs[i]))
      check_value(pass, model, node, node.outputs[i], std::move(*result));
  }
}

void GraphChecker::check_graph(const std::string& pass, const Model& model,
                               const graph::Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (wrong_pass_) return;
    if (node.dead) continue;
    if (node.op == op::If)
      check_branch(pass, model, node);
    else if (node.op == op::Loop)
      check_loop(pass, model, node);
    else
      check_node(pass, model, node);
  }
}

/// Ports that a pass gave another layout are the reference values too, in their new order.
void GraphChecker::place_ports(const Model& model) {
  const auto place = [&](ValueId id, const Tensor& source) {
    const graph::Value& value = model.values[size_t(id)];
    if (reference_values_.find(id) || value.constant) return;
    reference_values_.set(
        id, value.layout == "NHWC" && source.dims.size() >= 3 ? to_channels_last(source) : source);
  };
  for (const ValueId id : model.graph.inputs) {
    const auto given = inputs_.find(model.values[size_t(id)].name);
    if (given != inputs_.end()) place(id, given->second);
  }
  for (size_t i = 0; i < model.graph.outputs.size() && i < output_order_.size(); i++) {
    const auto found = outputs_.find(model.values[size_t(model.graph.outputs[i])].name);
    if (found != outputs_.end()) place(model.graph.outputs[i], found->second);
  }
}

void GraphChecker::forget_unused(const Model& model) {
  std::set<ValueId> used;
  collect(model.graph, &used);
  reference_values_.forget_all_but(used);
  std::erase_if(checked_, [&](const auto& entry) { return !used.count(entry.first); });
}

}  // namespace ingot::compare
