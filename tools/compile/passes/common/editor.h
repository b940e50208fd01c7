// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/common/editor.h - one graph open for rewriting: who makes a value, who reads
// it, kept right while nodes come and go. Passes change nodes through it only. commit() writes the
// live nodes back in a stable topological order: nodes stay where their source stood, and move only
// as far as a dependence asks.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::passes {

using graph::Attribute;
using graph::Constant;
using graph::Dim;
using graph::Dims;
using graph::Graph;
using graph::kAbsent;
using graph::Model;
using graph::Node;
using graph::Value;
using graph::ValueId;
using Attributes = graph::Attributes;
using Integers = std::vector<int64_t>;

class Editor {
 public:
  Editor(Model& model, Graph& graph);
  ~Editor() { commit(); }
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  Model& model;
  Graph& graph;

  /// Live nodes in topological order. Nodes killed later stay readable (dead is set) until the
  /// editor goes.
  std::vector<Node*> nodes() const;
  /// Null for inputs, constants and values of an outer graph.
  Node* producer(ValueId id) const;
  /// One entry for each operand that reads it; an If appears for what its branches read.
  const std::vector<Node*>& readers(ValueId id) const;
  bool is_output(ValueId id) const { return output_places_.count(id) != 0; }
  bool is_input(ValueId id) const { return inputs_.count(id) != 0; }
  /// Exactly one operand reads it and nobody outside does. How many there are, without putting the
  /// list in order where many read a value and some stopped.
  size_t reader_count(ValueId id) const;
  bool read_once(ValueId id) const { return reader_count(id) == 1 && !is_output(id); }
  /// The producer of `id` when it is a live node of kind `op`, else null.
  Node* producer_if(ValueId id, graph::Operator op) const;

  Value& value(ValueId id) { return model.values[size_t(id)]; }
  const Value& value(ValueId id) const { return model.values[size_t(id)]; }
  const Dims& dims(ValueId id) const { return value(id).dims; }
  size_t rank(ValueId id) const { return value(id).dims.size(); }
  const Constant* constant(ValueId id) const { return model.constant(id); }

  ValueId new_value(const std::string& name, DType dtype, Dims dims);
  ValueId new_constant(const std::string& name, Constant constant);
  /// A node whose outputs exist already. `from` lends its name, its sources and its place in the
  /// order.
  Node& add(graph::Operator op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
            const Node& from, Attributes attributes = {});
  /// A node with one new output.
  ValueId emit(graph::Operator op, std::vector<ValueId> inputs, DType dtype, Dims dims,
               const Node& from, Attributes attributes = {});
  ValueId transpose(ValueId x, const Integers& perm, const Node& from);
  ValueId reshape(ValueId x, Dims dims, const Node& from);

  void set_input(Node& node, size_t index, ValueId id);
  void set_inputs(Node& node, std::vector<ValueId> inputs);
  void set_outputs(Node& node, std::vector<ValueId> outputs);
  void kill(Node& node);
  /// Every operand that reads `from` reads `to`; outputs of the graph are left alone.
  void replace_reads(ValueId from, ValueId to);
  /// Removes a node whose first output equals `x`, whose readers then read x. False, and nothing
  /// changed, where that would take the name from a port: the output of a model that is also its
  /// input, a constant or another output.
  bool bypass(Node& node, ValueId x);
  /// `into` stands for what `from` stood for as well. What lives on beside it lends a limited
  /// number: a chain of values that others read too would else name each of its nodes once for each
  /// that follows.
  void merge_sources(Node& into, const Node& from);
  /// The graph's input, or output, at that place is another value from here on.
  void set_graph_input(size_t place, ValueId id);
  void set_graph_output(size_t place, ValueId id);
  void commit();
  /// Lets go of constants that lost their last reader: a weight is as large as what a pass makes of
  /// it. No reference to one may be held across this.
  void drop_unread_constants();
  /// Entries of the lists of inputs and outputs that were looked at since it was opened: a graph
  /// has up to 65,535 of them, so this grows with the changes and not with the questions.
  uint64_t ports_walked() const { return ports_walked_; }

 private:
  struct Entry {
    std::unique_ptr<Node> node;
    uint64_t place;
  };
  void index(Node& node, bool add);
  void bury_dead() const;
  const std::vector<size_t>& sorted() const;
  uint64_t place_of(const Node& node) const;
  std::unordered_set<uint32_t>& sources_of(const Node& node);
  void inherit_sources(Node& into, Node& gone);

  // What nodes() works out is kept until something changes, and the dead are set aside: passes that
  // repeat themselves would else look at all that they ever made again.
  mutable std::vector<Entry> entries_, buried_;
  mutable std::unordered_map<const Node*, uint64_t> place_;
  mutable std::vector<size_t> order_;
  mutable bool is_sorted_ = false;
  // By value, of this graph alone: a model has many small graphs over one long table of values.
  std::unordered_map<ValueId, Node*> producer_;
  /// A value may have as many readers as there are nodes: those that are gone are taken out when
  /// the list is looked at.
  struct Readers {
    std::vector<Node*> list;
    std::unordered_map<const Node*, size_t> gone;  // how many entries, the first ones
    size_t gone_count = 0;
    void remove(const Node* node);
    void sweep();
  };
  mutable std::unordered_map<ValueId, Readers> readers_;
  // of nodes with many
  std::unordered_map<const Node*, std::unordered_set<uint32_t>> long_sources_;
  // names of the symbols
  std::unordered_map<ValueId, std::vector<std::string>> resolved_by_;
  // in graph.outputs; no entry: none
  std::unordered_map<ValueId, std::vector<size_t>> output_places_;
  std::unordered_set<ValueId> inputs_;
  std::vector<ValueId> lost_;   // constants that lost a reader
  bool shares_values_ = false;  // with branches, whose reads of constants are not known here
  uint64_t ports_walked_ = 0;
  bool committed_ = false;
};

/// All graphs below and including this one, innermost first.
std::vector<Graph*> graphs_inside_out(Graph& graph);
/// The branch graphs of a node.
std::vector<Graph*> branches(Node& node);

Integers inverse(const Integers& perm);
/// dims[perm[k]] as dimension k.
Dims permuted(const Dims& dims, const Integers& perm);
/// [0, 2, .., rank-1, 1]: from channels second to channels last.
Integers to_channels_last(size_t rank);
bool is_identity(const Integers& perm);
bool same(const Dims& a, const Dims& b);
/// The number of elements as a Dim.
Dim elements(const Dims& dims);
/// A number for cost comparisons: unknown symbols count as 32.
double estimated_elements(const Dims& dims);

}  // namespace ingot::passes
