// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/layout/max_flow.h"

#include <algorithm>

namespace ingot::passes {
namespace {
constexpr double kNothing = 1e-9;
}

int MinCut::add_vertex() {
  heads_.emplace_back();
  return int(heads_.size()) - 1;
}

void MinCut::add_edge(int from, int to, double capacity) {
  if (from == to || capacity <= 0) return;
  heads_[size_t(from)].push_back(int(edges_.size()));
  edges_.push_back({to, capacity});
  heads_[size_t(to)].push_back(int(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::rank_by_distance() {
  distance_.assign(heads_.size(), -1);
  distance_[kSource] = 0;
  std::vector<int> queue = {kSource};
  for (size_t i = 0; i < queue.size(); i++)
    for (int e : heads_[size_t(queue[i])]) {
      const Edge& edge = edges_[size_t(e)];
      if (edge.left <= kNothing || distance_[size_t(edge.to)] >= 0) continue;
      distance_[size_t(edge.to)] = distance_[size_t(queue[i])] + 1;
      queue.push_back(edge.to);
    }
  return distance_[kSink] >= 0;
}

double MinCut::push(int vertex, double amount) {
  if (vertex == kSink) return amount;
  for (size_t& i = next_[size_t(vertex)]; i < heads_[size_t(vertex)].size(); i++) {
    int e = heads_[size_t(vertex)][i];
    Edge& edge = edges_[size_t(e)];
    if (edge.left <= kNothing || distance_[size_t(edge.to)] != distance_[size_t(vertex)] + 1)
      continue;
    double sent = push(edge.to, std::min(amount, edge.left));
    if (sent <= kNothing) continue;
    edges_[size_t(e)].left -= sent;
    edges_[size_t(e ^ 1)].left += sent;
    return sent;
  }
  return 0;
}

double MinCut::solve() {
  double total = 0;
  while (rank_by_distance()) {
    next_.assign(heads_.size(), 0);
    while (double sent = push(kSource, kForbidden)) total += sent;
  }
  // What still reaches the sink must be with it; everything else may stay with the source.
  sink_side_.assign(heads_.size(), false);
  sink_side_[kSink] = true;
  std::vector<int> queue = {kSink};
  for (size_t i = 0; i < queue.size(); i++)
    for (int e : heads_[size_t(queue[i])]) {
      int from = edges_[size_t(e)].to;
      if (sink_side_[size_t(from)] || edges_[size_t(e ^ 1)].left <= kNothing) continue;
      sink_side_[size_t(from)] = true;
      queue.push_back(from);
    }
  return total;
}

}  // namespace ingot::passes
