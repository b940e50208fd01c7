// SPDX-License-Identifier: Apache-2.0
// tests/diagnose/faulty.h - ways to be wrong: hooks that exist in this test alone. A pass or the
// import is wrong by an observer that changes the graph behind its back, a kernel by a table with
// one row wrapped, conversion by a file with other weights.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/op/contract.h"
#include "tools/compile/convert/convert.h"

namespace ingot::test {

using Change = std::function<bool(graph::Model&)>;  // true: the fault is planted

/// Plants `change` after the first run of `stage` ("import" or a pass) in which it can be.
class Planted {
 public:
  Planted(std::string stage, Change change)
      : stage_(std::move(stage)), change_(std::move(change)) {}
  passes::Observer observer();
  bool is_planted() const { return planted_; }

 private:
  std::string stage_;
  Change change_;
  bool planted_ = false, done_ = false;
};

/// The live node of kind `op` ("": any) that comes from the source node with output `source`, in
/// branches and loops too; null when there is none.
graph::Node* find_node(graph::Model& model, const std::string& op, const std::string& source);
graph::Node* find_node(graph::Model& model, graph::Graph& graph, const std::string& op,
                       const std::string& source);
/// Gives operand `i` a constant with other numbers.
bool change_floats(graph::Model& model, graph::Node* node, size_t i,
                   const std::function<void(std::vector<float>&)>& change);

/// The best table here with the row of that name made wrong: the last element that it writes is
/// off, a byte by one step.
const KernelTable* broken_table(const std::string& kernel);

/// Converts, with element `index` of the packed constant `name` moved by `by`. False when there is
/// no such constant.
bool write_with_wrong_weights(const std::string& source, const std::string& name, size_t index,
                              float by, const std::string& path);

}  // namespace ingot::test
