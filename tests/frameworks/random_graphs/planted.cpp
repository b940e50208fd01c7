// SPDX-License-Identifier: Apache-2.0
#include "tests/frameworks/random_graphs/planted.h"

#include "tests/frameworks/random_graphs/planted_graphs.h"
#include "tests/frameworks/random_graphs/planted_kernels.h"

namespace ingot::planted {
namespace {

const GraphBug* g_graph_bug = nullptr;
const KernelTable* g_kernels = nullptr;
bool g_is_done = false, g_is_placed = false;

bool change_all(graph::Model& model, graph::Graph& graph) {
  bool changed = false;
  for (graph::Node& node : graph.nodes) {
    if (node.dead) continue;
    for (const auto& inner : node.subgraphs()) changed |= change_all(model, *inner);
    changed |= g_graph_bug->change(model, node);
  }
  return changed;
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const GraphBug& bug : graph_bugs()) all.push_back(bug.name);
  for (const std::string& kernel : kernel_bugs()) all.push_back("kernel: " + kernel);
  return all;
}

bool plant(const std::string& name) {
  g_graph_bug = nullptr;
  g_kernels = nullptr;
  if (name.empty()) return true;
  for (const GraphBug& bug : graph_bugs())
    if (name == bug.name) g_graph_bug = &bug;
  for (const std::string& kernel : kernel_bugs())
    if (name == "kernel: " + kernel) g_kernels = wrong_table(kernel);
  return g_graph_bug || g_kernels;
}

bool is_placed() { return g_kernels || g_is_placed; }

passes::Observer observer() {
  g_is_done = g_is_placed = false;
  if (!g_graph_bug) return {};
  return [](const std::string& pass, graph::Model& model) {
    if (g_is_done || pass != g_graph_bug->stage) return;
    g_is_done = g_is_placed = change_all(model, model.graph);  // once
  };
}

const ingot_kernel_table* kernels() {
  return reinterpret_cast<const ingot_kernel_table*>(g_kernels);
}

}  // namespace ingot::planted
