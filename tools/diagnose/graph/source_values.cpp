// SPDX-License-Identifier: Apache-2.0
// The start of a check: every node of the source in double, and the import against what a
// golden knows.
#include <algorithm>

#include "tools/compile/passes/common/editor.h"
#include "tools/diagnose/graph/check_graph.h"

namespace ingot::compare {
namespace {

Tensor thinned(const Tensor& x, const std::vector<int64_t>& strides) {
  Tensor y;
  std::vector<int64_t> step(x.dims.size(), 1);
  for (size_t i = 0; i < x.dims.size(); i++) {
    if (i < strides.size() && strides[i] > 1) step[i] = strides[i];
    y.dims.push_back((x.dims[i] + step[i] - 1) / step[i]);
  }
  reference::for_each_index(y.dims, [&](std::vector<int64_t> at) {
    for (size_t i = 0; i < at.size(); i++) at[i] *= step[i];
    y.at.push_back(x.at[size_t(reference::offset_of(x.dims, at))]);
  });
  return y;
}

}  // namespace

void GraphChecker::start(Model& model) {
  started_ = true;
  for (const ValueId id : model.graph.inputs) {
    if (model.constant(id)) continue;
    const auto given = inputs_.find(model.values[size_t(id)].name);
    if (given == inputs_.end()) {
      notes_.insert("input '" + model.values[size_t(id)].name + "' has no value");
      continue;
    }
    reference_values_.set(id, given->second);
  }
  bind(model);
  compute_source(model, model.graph, 0);
  for (const ValueId id : model.graph.outputs) {
    output_order_.push_back(id);
    if (const auto result = known(model, id)) outputs_[model.values[size_t(id)].name] = *result;
  }
  check_import(model);
}

void GraphChecker::bind(const Model& model) {
  for (const ValueId id : model.graph.inputs) {
    const Tensor* given = reference_values_.find(id);
    if (!given) continue;
    const graph::Dims& dims = model.values[size_t(id)].dims;
    for (size_t d = 0; d < dims.size() && d < given->dims.size(); d++) {
      const std::vector<std::string> symbols = dims[d].symbols();
      if (symbols.size() == 1 && dims[d].text() == symbols[0])
        bindings_.emplace(symbols[0], given->dims[d]);
    }
  }
}

void GraphChecker::compute_branch(const Model& model, const Node& node, SourceState* state,
                                  int depth) {
  const auto branch = taken_branch(model, node);
  if (!branch) {
    state->why_unknown = "its condition is not known";
    return;
  }
  compute_source(model, *branch, depth + 1);
  for (size_t i = 0; i < node.outputs.size(); i++) {
    state->inputs.push_back(branch->outputs[i]);
    if (node.outputs[i] < 0) continue;
    if (std::optional<Tensor> result = known(model, branch->outputs[i]))
      reference_values_.set(node.outputs[i], std::move(*result));
    else
      state->why_unknown = "its branch was not computed";
  }
}

void GraphChecker::compute_source(const Model& model, const graph::Graph& graph, int depth) {
  for (const Node& node : graph.nodes) {
    if (node.dead) continue;
    if (before_node) before_node();
    SourceState state{text(node.op), node.name, node.inputs, node.outputs,
                      node.sources,  {},        "",          depth};
    if (node.op == op::If) {
      compute_branch(model, node, &state, depth);
    } else if (node.op == op::Loop) {
      compute_loop(model, node, &state, depth);
    } else {
      std::map<ValueId, Tensor> results;
      if (compute(model, node, &results, &state.why_unknown)) {
        state.why_unknown.clear();
        for (auto& [id, tensor] : results) reference_values_.set(id, std::move(tensor));
        CheckedNode checked{node, {}};
        for (const ValueId id : node.inputs)
          checked.constants.push_back(id < 0 ? nullptr : model.values[size_t(id)].constant);
        if (!results.empty()) checked_[results.begin()->first] = std::move(checked);
        nodes_checked_++;
      }
    }
    for (const ValueId id : node.outputs) {
      // In a loop the file would tell the last iteration alone.
      if (id < 0 || reference_values_.find(id) || !fallback || !reference_values_.at().empty())
        continue;
      if (std::optional<Tensor> taken = fallback(model.values[size_t(id)].name))
        reference_values_.set(id, std::move(*taken));
    }
    if (!state.why_unknown.empty())
      notes_.insert(text(node.op) + " '" + node.name + "' has no reference: " + state.why_unknown);
    const auto first = std::find_if(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId id) { return reference_values_.find(id); });
    if (first != node.outputs.end()) state.dims = reference_values_.find(*first)->dims;
    if (listed_.insert(&node).second) source_.push_back(std::move(state));
  }
}

void GraphChecker::check_import(const Model& model) {
  std::set<ValueId> right;
  for (const SourceState& state : source_) {
    for (const ValueId id : state.outputs) {
      const Tensor* found = reference_values(id);
      const auto want = id < 0 ? expected.end() : expected.find(model.values[size_t(id)].name);
      if (!found || want == expected.end()) continue;
      const auto strides = subsample.find(want->first);
      const Tensor same = strides == subsample.end() ? *found : thinned(*found, strides->second);
      const Measure m =
          measure(want->second, same, model.values[size_t(id)].dtype, limits_, 2 * spread);
      compared_with_golden_++;
      if (m.passed) right.insert(id);
      if (m.passed || wrong_import_) continue;
      Divergence d;
      d.pass = "import", d.op = state.op, d.node = state.name;
      d.value = want->first, d.dims = want->second.dims;
      d.measure = m;
      Node node;
      node.sources = state.sources;
      d.sources = sources_of(model, node, id);
      wrong_import_ = std::move(d);
    }
  }
  if (!wrong_import_) return;
  for (const SourceState& state : source_)
    for (const ValueId id : state.outputs)
      if (id >= 0 && model.values[size_t(id)].name == wrong_import_->value)
        find_suspects(id, right);
}

/// Nodes that the wrong value depends on and no right one does.
void GraphChecker::find_suspects(ValueId wrong, const std::set<ValueId>& right) {
  std::map<ValueId, const SourceState*> maker;
  for (const SourceState& state : source_)
    for (const ValueId id : state.outputs)
      if (id >= 0) maker[id] = &state;
  const auto behind = [&](const std::set<ValueId>& from) {
    std::set<const SourceState*> nodes;
    std::vector<ValueId> open(from.begin(), from.end());
    while (!open.empty()) {
      const auto made = maker.find(open.back());
      open.pop_back();
      if (made == maker.end() || !nodes.insert(made->second).second) continue;
      open.insert(open.end(), made->second->inputs.begin(), made->second->inputs.end());
    }
    return nodes;
  };
  const auto cleared = behind(right);
  const auto all = behind({wrong});
  for (const SourceState& state : source_) {
    if (!all.count(&state) || cleared.count(&state)) continue;
    for (const uint32_t source : state.sources)
      if (!std::count(suspects_.begin(), suspects_.end(), source)) suspects_.push_back(source);
  }
}

}  // namespace ingot::compare
