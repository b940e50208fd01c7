// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/guard_branch.cpp - a branch that runs for some extents of a dimension only, in
// a model for more of them: it becomes an If on that dimension whose other branch is left out, and
// computes with what it reads cut to those extents, so that it is sound for the others too. They
// never run it.
#include <set>

#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

void collect_made(const Graph& graph, std::set<ValueId>* made) {
  made->insert(graph.inputs.begin(), graph.inputs.end());
  for (const Node& node : graph.nodes) {
    made->insert(node.outputs.begin(), node.outputs.end());
    for (const auto& inner : node.subgraphs()) collect_made(*inner, made);
  }
}

template <class Visit>
void visit_reads(Graph& graph, Visit visit) {
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) visit(id);
    for (const auto& inner : node.subgraphs()) visit_reads(*inner, visit);
  }
  for (ValueId& id : graph.outputs) visit(id);
}

bool mentions(const Dim& dim, const std::string& symbol) {
  for (const std::string& name : dim.symbols())
    if (name == symbol) return true;
  return false;
}

}  // namespace

const BranchGuard* Inference::guard_of(const Node& node, bool of_then) const {
  for (const BranchGuard& guard : guards_)
    if (!node.sources.empty() && guard.place.source == node.sources[0] &&
        guard.place.of_then == of_then)
      return &guard;
  return nullptr;
}

/// Values from outside that have the dimension, by what they are cut to; nothing where one has it
/// in a way that cannot be cut.
std::optional<std::map<ValueId, Dims>> Inference::cuts_of(Graph& branch,
                                                          const BranchGuard& guard) const {
  std::set<ValueId> made;
  collect_made(branch, &made);
  std::map<ValueId, Dims> cuts;
  bool can = true;
  visit_reads(branch, [&](const ValueId& read) {
    if (read < 0 || made.count(read)) return;
    const ValueId id = resolve(read);
    if (model.constant(id) || !known(id)) return;
    Dims dims = value(id).dims;
    bool has = false;
    for (Dim& dim : dims) {
      if (!mentions(dim, guard.bounds.symbol)) continue;
      has = true;
      if (dim.text() != guard.bounds.symbol) can = false;
      dim = min(dim, Dim(guard.bounds.bounds.high));
    }
    if (has) cuts.emplace(id, std::move(dims));
  });
  return can ? std::optional(std::move(cuts)) : std::nullopt;
}

void Inference::walk_guarded(Graph& branch, const Node& node, const BranchGuard& guard,
                             const std::map<ValueId, Dims>& cuts) {
  auto inner = std::make_shared<Graph>(std::move(branch));
  branch = Graph();
  branch.name = inner->name;
  std::vector<Node> body = std::move(inner->nodes);
  inner->nodes.clear();
  std::map<ValueId, ValueId> cut;
  Dim extent;
  for (const auto& [id, dims] : cuts) {
    for (const Dim& dim : value(id).dims)
      if (mentions(dim, guard.bounds.symbol)) extent = dim;
    Node slice;
    slice.op = op::Slice, slice.name = node.name, slice.sources = node.sources;
    slice.inputs = {id};
    slice.attributes = {{attr::starts, Dims(dims.size(), Dim(0))},
                        {attr::steps, std::vector<int64_t>(dims.size(), 1)}};
    const DType dtype = value(id).dtype;
    const ValueId made =
        model.add_value(value(id).name + "/cut" + std::to_string(model.values.size()), dtype);
    model.values[size_t(made)].dims = dims;
    model.values[size_t(made)].shape_known = true;
    slice.outputs = {made};
    inner->nodes.push_back(std::move(slice));
    cut[id] = made;
  }
  for (Node& each : body) inner->nodes.push_back(std::move(each));
  const size_t slices = cut.size();
  size_t place = 0;
  std::vector<ValueId> originals;
  for (; place < slices; place++) originals.push_back(inner->nodes[place].inputs[0]);
  visit_reads(*inner, [&](ValueId& id) {
    const auto found = id < 0 ? cut.end() : cut.find(resolve(id));
    if (found != cut.end()) id = found->second;
  });
  for (place = 0; place < slices; place++) inner->nodes[place].inputs[0] = originals[place];
  walk(*inner);
  Node choice;
  choice.op = op::If, choice.name = node.name + "/extents", choice.sources = node.sources;
  visit_into(branch.nodes, [&] {
    NodeContext context(*this, choice);
    const ValueId at_most = context.scalar(DType::kI64, double(guard.bounds.bounds.high));
    choice.inputs = {context.make(op::LessOrEqual, {context.extent(extent), at_most})};
  });
  choice.attributes[attr::then_branch] = inner;
  for (const ValueId id : inner->outputs) {
    const ValueId made = model.add_value("", value(id).dtype);
    Value& output = model.values[size_t(made)];
    output.name = value(id).name + "/guarded";
    output.dims = value(id).dims;
    output.shape_known = value(id).shape_known;
    choice.outputs.push_back(made);
  }
  branch.outputs = choice.outputs;
  branch.nodes.push_back(std::move(choice));
}

}  // namespace ingot::graph
