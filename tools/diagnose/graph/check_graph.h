// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/graph/check_graph.h - watches a model while it is converted and checks every pass
// by the numbers of the source. After the import every node is computed in double, in the source's
// order: these numbers are the reference values. After each pass the nodes that it changed are
// computed alone, their operands taken from the reference values, and compared with it, so an error
// shows at the node that makes it and nowhere behind. What a pass adds joins the reference values
// once the pass was found right. Nodes in the body of a loop are computed and checked in each
// iteration that is kept: the first and the last, and as many after the first as fit in the memory
// for it.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/diagnose/graph/measure.h"
#include "tools/diagnose/graph/reference_values.h"
#include "tools/graph/graph.h"

namespace ingot::compare {

using graph::Model;
using graph::Node;

/// Whether `value` is the result of that node of the source: "y", or "y/Conv2d" where a pass named
/// it after y.
bool makes_value(const graph::SourceNode& source, const std::string& value);

/// The node of the graph where a result goes wrong.
struct Divergence {
  std::string pass;           // "import", or the pass, "fold affine"
  uint32_t time = 1;          // a pass may run several times
  std::string op, node;       // of the graph after that pass
  std::string value;          // the first output that is wrong
  std::vector<int64_t> dims;  // of it
  // indices into Model::source_nodes; the first is the one whose result it is
  std::vector<uint32_t> sources;
  Measure measure;
  std::string problem;    // in words where there is no number to show
  Iterations iterations;  // of the loops around, the outermost first
};

/// One node of the source after the import.
struct SourceState {
  std::string op, name;
  std::vector<ValueId> inputs, outputs;
  std::vector<uint32_t> sources;
  std::vector<int64_t> dims;  // of output 0, when computed
  std::string why_unknown;    // "" when it was computed
  int depth = 0;              // of nested branches and loops
};

class GraphChecker {
 public:
  GraphChecker(std::map<std::string, Tensor> inputs, Limits limits)
      : inputs_(std::move(inputs)), limits_(limits) {}

  /// What stands for a value whose operator the reference cannot compute. May be left empty.
  std::function<std::optional<Tensor>(const std::string& name)> fallback;
  /// Called in front of each node of the source, in each iteration; ends the check by throwing. May
  /// be left empty.
  std::function<void()> before_node;
  /// Reference results by name of a source value (mid: and out: of a golden): the import is checked
  /// by them.
  std::map<std::string, Tensor> expected;
  // strides of those that are stored thinned
  std::map<std::string, std::vector<int64_t>> subsample;
  double spread = 0;  // of the reference itself

  /// For PassOptions::observe: "import" first, then every pass.
  void observe(const std::string& pass, Model& model);

  bool started() const { return started_; }
  /// The first pass that went wrong; nothing is checked behind it.
  const std::optional<Divergence>& wrong_pass() const { return wrong_pass_; }
  const std::optional<Divergence>& wrong_import() const { return wrong_import_; }
  /// Source nodes that may be the wrong one where the golden has too few intermediates to tell.
  const std::vector<uint32_t>& suspects() const { return suspects_; }
  uint32_t compared_with_golden() const { return compared_with_golden_; }
  /// Sentences: operators that the reference lacks.
  const std::set<std::string>& notes() const { return notes_; }
  uint32_t nodes_checked() const { return nodes_checked_; }
  const std::vector<SourceState>& source() const { return source_; }
  const std::map<std::string, int64_t>& bindings() const { return bindings_; }

  /// The reference values of a value of the graph after the last pass, or null.
  const Tensor* reference_values(ValueId id) const { return reference_values_.find(id); }
  /// The same in an iteration of the loops around it.
  const Tensor* reference_values(ValueId id, const Iterations& at) const {
    return reference_values_.find(id, at);
  }
  /// Whether these iterations are among those that are checked.
  bool is_kept(const Iterations& at) const { return reference_values_.is_kept(at); }
  /// Values whose reference values are known, in some iteration at least.
  std::set<ValueId> known_values() const { return reference_values_.ids(); }
  /// The reference values of outputs of the source by name.
  const std::map<std::string, Tensor>& outputs() const { return outputs_; }

 private:
  /// A node as it was when last computed, with the constants that it read.
  struct CheckedNode {
    Node node;
    std::vector<std::shared_ptr<const graph::Constant>> constants;
  };
  void start(Model& model);
  void bind(const Model& model);
  void compute_source(const Model& model, const graph::Graph& graph, int depth);
  void compute_branch(const Model& model, const Node& node, SourceState* state, int depth);
  void compute_loop(const Model& model, const Node& node, SourceState* state, int depth);
  bool iterate(const Model& model, const Node& node, std::vector<Tensor>* carried, bool* goes_on,
               SourceState* state, int depth);
  std::optional<int64_t> most_trips(const Model& model, const Node& node) const;
  std::map<std::string, int64_t> bindings_here(const Model& model) const;
  std::shared_ptr<graph::Graph> taken_branch(const Model& model, const Node& node) const;
  void check_import(const Model& model);
  void find_suspects(ValueId wrong, const std::set<ValueId>& right);
  void check_graph(const std::string& pass, const Model& model, const graph::Graph& graph);
  void check_node(const std::string& pass, const Model& model, const Node& node);
  void check_value(const std::string& pass, const Model& model, const Node& node, ValueId id,
                   Tensor found);
  void check_branch(const std::string& pass, const Model& model, const Node& node);
  void check_loop(const std::string& pass, const Model& model, const Node& node);
  void check_trips(const std::string& pass, const Model& model, const Node& node, int64_t trips);
  void check_iteration(const std::string& pass, const Model& model, const Node& node,
                       int64_t iteration);
  void check_results(const std::string& pass, const Model& model, const Node& node, int64_t trips);
  void blame(const std::string& pass, const Model& model, const Node& node, ValueId id,
             const Measure& m);
  bool is_unchanged(const Model& model, const Node& node) const;
  void place_ports(const Model& model);
  void forget_unused(const Model& model);
  bool compute(const Model& model, const Node& node, std::map<ValueId, Tensor>* results,
               std::string* why);
  /// ReferenceValues or constant; null when neither.
  std::optional<Tensor> known(const Model& model, ValueId id) const;
  bool is_known(const Model& model, ValueId id) const {
    return reference_values_.find(id) || model.constant(id);
  }
  double rounding(const Model& model, const Node& node) const;
  std::vector<uint32_t> sources_of(const Model& model, const Node& node, ValueId output) const;

  std::map<std::string, Tensor> inputs_;
  Limits limits_;
  bool started_ = false;
  std::map<std::string, int64_t> bindings_;
  std::map<std::string, uint32_t> times_;
  ReferenceValues reference_values_;
  // of loops, by the loops around and the counter
  std::map<std::pair<Iterations, ValueId>, int64_t> trips_;
  std::map<ValueId, CheckedNode> checked_;  // by first output
  // keys of checked_ that the pass at hand changed
  std::set<ValueId> changed_;
  std::set<const Node*> listed_;  // in source_
  // made by the pass at hand: the sources behind it
  std::map<ValueId, std::vector<uint32_t>> fresh_;
  std::map<std::string, Tensor> outputs_;
  std::vector<ValueId> output_order_;
  std::vector<SourceState> source_;
  std::set<std::string> notes_;
  std::vector<uint32_t> suspects_;
  std::optional<Divergence> wrong_pass_, wrong_import_;
  uint32_t nodes_checked_ = 0, compared_with_golden_ = 0;
};

}  // namespace ingot::compare
