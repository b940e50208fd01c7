// SPDX-License-Identifier: Apache-2.0
// tools/graph/data_dependent.h - dims that a value resolves when the program runs. A node whose
// types mention such a dim needs that value as if it read it: it may not run before, and what makes
// the value may not go.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::graph {

/// What resolves the symbols of dims, each symbol once: bounds that name each other share symbols,
/// and the ways through them may be as many as a power of two. `Program` has the table
/// data_dependent: a symbol's bound, and by what it is resolved.
template <class Program>
class Resolvers {
 public:
  explicit Resolvers(const Program& program) : program_(program) {}
  void add(const Dim& dim) {
    if (dim.is_static()) return;
    for (const std::string& name : dim.symbols()) {
      const auto found = program_.data_dependent.find(name);
      if (found == program_.data_dependent.end() || !met_.insert(name).second) continue;
      by_.insert(found->second.by);
      add(found->second.bound);
    }
  }
  const std::set<int32_t>& by() const { return by_; }

 private:
  const Program& program_;
  std::set<std::string> met_;
  std::set<int32_t> by_;
};

/// The values that resolve dims of a node's operands, results and attributes, but not those that
/// the node itself makes. Not of nodes in its branches.
std::vector<ValueId> resolvers_of(const Model& model, const Node& node);

/// True when a dim, or one of them, depends on data.
bool is_data_dependent(const Model& model, const Dim& dim);
bool is_data_dependent(const Model& model, const Dims& dims);

}  // namespace ingot::graph
