// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/run_order.cpp - names to edges, and an order in which every node comes after
// what it reads.
#include "tools/import/onnx/translator.h"

namespace ingot::onnx {
namespace {

/// Names that a graph inside an attribute takes from outside.
void captured_names(const Graph& graph, std::vector<Text>* out, int depth) {
  std::set<Text> own;
  for (const ValueInfo& input : graph.inputs) own.insert(input.name);
  for (const Tensor& tensor : graph.initializers) own.insert(tensor.name);
  for (const SparseTensor& sparse : graph.sparse_initializers) own.insert(sparse.values.name);
  for (const Node& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  std::vector<Text> read;
  for (const Node& node : graph.nodes) {
    read.insert(read.end(), node.inputs.begin(), node.inputs.end());
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph && depth < 64) captured_names(*attribute.graph, &read, depth + 1);
    }
  }
  for (const ValueInfo& output : graph.outputs) read.push_back(output.name);
  for (const Text name : read) {
    if (!name.empty() && !own.count(name)) out->push_back(name);
  }
}

struct Edges {
  std::unordered_map<Text, size_t> maker;
  std::vector<std::vector<size_t>> needs;  // by node
};

Edges edges_of(const std::vector<Node>& nodes, const Scope& scope, const std::string& where) {
  Edges edges;
  for (size_t i = 0; i < nodes.size(); i++) {
    for (const Text name : nodes[i].outputs) {
      if (name.empty()) continue;
      if (scope.names.count(name)) {
        graph::fail_corrupt(
            where, describe(nodes[i]) + " makes '" + std::string(name) +
                       "', which is an input or initializer already; names must be made once");
      }
      const auto [found, added] = edges.maker.emplace(name, i);
      if (!added) {
        graph::fail_corrupt(where, "'" + std::string(name) + "' is made twice, by " +
                                       describe(nodes[found->second]) + " and by " +
                                       describe(nodes[i]) + "; names must be made once");
      }
    }
  }
  edges.needs.resize(nodes.size());
  for (size_t i = 0; i < nodes.size(); i++) {
    std::vector<Text> read = nodes[i].inputs;
    for (const Attribute& attribute : nodes[i].attributes) {
      if (attribute.graph) captured_names(*attribute.graph, &read, 0);
    }
    for (const Text name : read) {
      if (name.empty()) continue;
      const auto found = edges.maker.find(name);
      if (found != edges.maker.end()) {
        edges.needs[i].push_back(found->second);
      } else if (!scope.find(name)) {
        graph::fail_corrupt(where,
                            describe(nodes[i]) + " reads '" + std::string(name) +
                                "', which is no input, no initializer and no output of a node");
      }
    }
  }
  return edges;
}

}  // namespace

std::string describe(const Node& node) {
  std::string out =
      node.domain.empty() || node.domain == "ai.onnx" ? "" : std::string(node.domain) + ".";
  out += std::string(node.op.substr(0, 80));
  if (!node.name.empty()) return out + " '" + std::string(node.name.substr(0, 200)) + "'";
  for (const Text name : node.outputs) {
    if (!name.empty()) return out + " (output '" + std::string(name.substr(0, 200)) + "')";
  }
  return out;
}

std::vector<size_t> run_order(const std::vector<Node>& nodes, const Scope& scope,
                              const std::string& where) {
  const Edges edges = edges_of(nodes, scope, where);
  enum State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(nodes.size(), kNew);
  std::vector<size_t> order;
  std::vector<std::pair<size_t, size_t>> path;  // node, next need to look at
  for (size_t start = 0; start < nodes.size(); start++) {
    if (state[start] != kNew) continue;
    path.emplace_back(start, 0);
    state[start] = kOpen;
    while (!path.empty()) {
      auto& [at, next] = path.back();
      if (next == edges.needs[at].size()) {
        state[at] = kDone;
        order.push_back(at);
        path.pop_back();
        continue;
      }
      const size_t need = edges.needs[at][next++];
      if (state[need] == kOpen) {
        std::string cycle;
        size_t from = path.size();
        while (from > 0 && path[from - 1].first != need) from--;
        for (size_t i = from ? from - 1 : 0; i < path.size() && i < from + 4; i++)
          cycle += describe(nodes[path[i].first]) + " <- ";
        graph::fail_corrupt(where, "the graph has a cycle: " + cycle + describe(nodes[need]) +
                                       "; a node must not need its own result");
      }
      if (state[need] == kNew) {
        state[need] = kOpen;
        path.emplace_back(need, 0);
      }
    }
  }
  return order;
}

}  // namespace ingot::onnx
