// SPDX-License-Identifier: Apache-2.0
// tools/graph/fold/fold_constants.cpp - over the whole model: fold, inline, merge, sweep.
#include "tools/graph/fold/fold_constants.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tools/files/spill_file.h"
#include "tools/graph/data_dependent.h"

namespace ingot::graph {
namespace {

size_t node_count(const Graph& graph) {
  size_t count = graph.nodes.size();
  for (const Node& node : graph.nodes) {
    for (const auto& inner : node.subgraphs()) count += node_count(*inner);
  }
  return count;
}

void replace_everywhere(Graph& graph, const std::unordered_map<ValueId, ValueId>& by) {
  const auto at = [&](ValueId& id) {
    for (auto found = by.find(id); found != by.end(); found = by.find(id)) id = found->second;
  };
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) at(id);
    for (const auto& inner : node.subgraphs()) {
      replace_everywhere(*inner, by);
      for (ValueId& id : inner->outputs) at(id);
    }
  }
}

/// Folds what can be; an If with a constant condition gives way to the nodes of its branch.
void fold_graph(Model& model, Graph& graph) {
  std::vector<Node> made;
  std::vector<Node> old = std::move(graph.nodes);
  for (Node& node : old) {
    if (node.dead) continue;
    const Constant* condition =
        node.op == op::If && !node.inputs.empty() ? model.constant(node.inputs[0]) : nullptr;
    if (condition && condition->elements() == 1) {
      const auto branch =
          node.subgraph(*condition->as<uint8_t>() != 0 ? attr::then_branch : attr::else_branch);
      if (!branch)
        fail_unsupported("If '" + node.name +
                         "': always takes a branch that cannot run with these shapes");
      fold_graph(model, *branch);
      std::move(branch->nodes.begin(), branch->nodes.end(), std::back_inserter(made));
      for (size_t i = 0; i < node.outputs.size(); i++) {
        if (node.outputs[i] == kAbsent) continue;
        Node copy;  // keeps the id of the port; passes drop it elsewhere
        copy.op = op::Identity;
        copy.name = node.name;
        copy.sources = node.sources;
        copy.inputs = {branch->outputs[i]};
        copy.outputs = {node.outputs[i]};
        if (!fold_node(model, copy)) made.push_back(std::move(copy));
      }
      continue;
    }
    for (const auto& inner : node.subgraphs()) fold_graph(model, *inner);
    if (!fold_node(model, node)) made.push_back(std::move(node));
  }
  graph.nodes = std::move(made);
}

uint64_t hash_of(const Constant& c) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::string_view bytes;
  if (c.bytes) bytes = {reinterpret_cast<const char*>(c.bytes->data()), c.bytes->size()};
  uint64_t hash = uint64_t(c.dtype);
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    hash = hash * 31 + std::hash<std::string_view>()(bytes.substr(at, kPiece));
    host::note_touched(std::min(kPiece, bytes.size() - at));
  }
  for (const int64_t d : c.dims) hash = hash * 1000003 + uint64_t(d);
  return hash;
}
bool equal(const Constant& a, const Constant& b) {
  return a.dtype == b.dtype && a.dims == b.dims &&
         (a.bytes == b.bytes || (a.bytes && b.bytes && *a.bytes == *b.bytes));
}

void mark_reads(const Graph& graph, std::unordered_set<ValueId>* read) {
  for (const Node& node : graph.nodes) {
    read->insert(node.inputs.begin(), node.inputs.end());
    for (const auto& inner : node.subgraphs()) {
      mark_reads(*inner, read);
      read->insert(inner->outputs.begin(), inner->outputs.end());
    }
  }
}

/// Equal constants become one value. Ports keep theirs.
void merge_constants(Model& model) {
  std::unordered_set<ValueId> read;
  mark_reads(model.graph, &read);
  std::vector<ValueId> order(read.begin(), read.end());
  std::sort(order.begin(), order.end());
  std::unordered_multimap<uint64_t, ValueId> seen;
  std::unordered_map<ValueId, ValueId> by;
  for (const ValueId id : order) {
    const Constant* constant = model.constant(id);
    if (!constant) continue;
    const uint64_t hash = hash_of(*constant);
    const auto [first, last] = seen.equal_range(hash);
    const auto same = std::find_if(first, last, [&](const auto& entry) {
      return equal(*model.constant(entry.second), *constant);
    });
    if (same == last)
      seen.emplace(hash, id);
    else
      by[id] = same->second;
  }
  replace_everywhere(model.graph, by);
}

size_t sweep(const Model& model, Graph& graph, std::unordered_set<ValueId>& live) {
  size_t removed = 0;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId id) { return live.count(id) != 0; });
    if (!wanted) {
      node.dead = true;
      removed++;
      continue;
    }
    live.insert(node.inputs.begin(), node.inputs.end());
    for (const ValueId id : resolvers_of(model, node)) live.insert(id);
    for (const auto& inner : node.subgraphs()) {
      live.insert(inner->outputs.begin(), inner->outputs.end());
      removed += sweep(model, *inner, live);
    }
  }
  return removed;
}

}  // namespace

size_t remove_dead_nodes(Model& model) {
  std::unordered_set<ValueId> live(model.graph.outputs.begin(), model.graph.outputs.end());
  live.erase(kAbsent);
  const size_t removed = sweep(model, model.graph, live);
  model.graph.compact();
  return removed;
}

size_t fold_constants(Model& model) {
  const size_t before = node_count(model.graph);
  fold_graph(model, model.graph);
  // Ports that became constants need a node that writes them.
  for (const ValueId id : model.graph.outputs) {
    if (!model.constant(id)) continue;
    Node copy;
    copy.op = op::Identity;
    copy.name = model.values[size_t(id)].name;
    Constant constant = *model.constant(id);
    copy.inputs = {model.add_constant(copy.name + "/constant", std::move(constant))};
    copy.outputs = {id};
    model.values[size_t(id)].constant = nullptr;
    model.graph.nodes.push_back(std::move(copy));
  }
  merge_constants(model);
  remove_dead_nodes(model);
  const size_t after = node_count(model.graph);
  return before > after ? before - after : 0;
}

}  // namespace ingot::graph
