// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/layout/max_flow.h - the cheapest way to part a graph in two (Dinic's
// algorithm).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::passes {

class MinCut {
 public:
  static constexpr double kForbidden = 1e30;
  static constexpr int kSource = 0, kSink = 1;

  MinCut() : heads_(2) {}
  int add_vertex();
  /// Costs `capacity` when `from` is on the source's side and `to` on the sink's.
  void add_edge(int from, int to, double capacity);
  /// The cost of the cheapest cut.
  double solve();
  /// After solve(): whether a vertex is on the sink's side. Of equally cheap cuts the one with the
  /// fewest there.
  bool on_sink_side(int vertex) const { return sink_side_[size_t(vertex)]; }

 private:
  struct Edge {
    int to;
    double left;
  };
  bool rank_by_distance();
  double push(int vertex, double amount);

  std::vector<std::vector<int>> heads_;  // edge indices; edge e and e ^ 1 are each other's reverse
  std::vector<Edge> edges_;
  std::vector<int> distance_;
  std::vector<size_t> next_;
  std::vector<bool> sink_side_;
};

}  // namespace ingot::passes
