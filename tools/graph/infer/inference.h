// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/inference.h - the walk of shape inference and what an operator's function sees
// of it. Inside tools/graph only.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/graph/bound_hint.h"
#include "tools/graph/graph.h"
#include "tools/graph/infer/infer_shapes.h"
#include "tools/graph/symbolic.h"

namespace ingot::graph {

/// What stands in the way at one node.
struct Refusal {
  std::string attribute, why;
  Hint hint;
};

/// Exists during conversion alone.
struct Sequence {
  std::vector<ValueId> tensors;
  ValueId rows = kAbsent;  // what a loop put behind them: each along the first dimension of this
};

class Inference {
 public:
  Inference(Model& m, std::vector<Unsupported>* unsupported, bool asks = false,
            std::vector<BranchGuard> guards = {}, std::vector<ForcedEqual>* forced = nullptr)
      : model(m),
        unsupported_(unsupported),
        asks_(asks),
        guards_(std::move(guards)),
        forced_(forced) {}
  /// @throws Undecided when it asks.
  void run();
  /// Infers one node and appends it, or what it becomes, to the graph that is being built.
  void visit(Node node);
  /// Visits the nodes of a branch into a list of their own.
  void walk(Graph& graph);
  void inline_branch(Graph& branch, const std::vector<ValueId>& outputs);

  /// Runs `make` with its nodes going to `to`.
  template <class Make>
  void visit_into(std::vector<Node>& to, Make make) {
    std::vector<Node>* const outer = out_;
    out_ = &to;
    make();
    out_ = outer;
  }

  ValueId resolve(ValueId id) const;
  /// These are equal wherever `node` runs. Noted where one is an input's symbol and it always runs.
  void force_equal(const Dim& a, const Dim& b, const Node& node);
  void replace(ValueId value, ValueId by) { replaced_[value] = by; }
  bool known(ValueId id) const {
    return id < 0 || (value(id).shape_known && value(id).dtype != DType::kInvalid);
  }
  const Value& value(ValueId id) const { return model.values[size_t(id)]; }
  /// Shape arithmetic: what a small tensor holds, as far as it is known.
  std::optional<Contents> contents(ValueId id) const;
  /// The node in the graph at hand that makes a value, behind nodes that change its shape alone;
  /// null when there is none.
  const Node* maker(ValueId id) const;
  /// The dim of a number that the user bounded. One that a body made is there in that body alone,
  /// and not kept.
  std::optional<Dim> stated_dim(const std::string& name) const {
    const auto found = stated_.find(name);
    return found == stated_.end() ? std::nullopt : std::optional(found->second);
  }
  void set_stated_dim(const std::string& name, const Dim& dim) {
    if (bodies_ == 0) stated_[name] = dim;
  }
  /// Null where the value is no sequence.
  const Sequence* sequence(ValueId id) const {
    const auto found = sequences_.find(id);
    return found == sequences_.end() ? nullptr : &found->second;
  }
  /// @throws Refusal where the value is one: what reads tensors met it.
  void refuse_sequence(ValueId id) const;
  void set_sequence(ValueId id, Sequence sequence) { sequences_[id] = std::move(sequence); }
  void set_contents(ValueId id, Contents contents) { contents_[id] = std::move(contents); }

  /// Numbers of the iterations of the loops around the node at hand, the outermost first.
  const std::vector<ValueId>& iterations() const { return iterations_; }

  Model& model;

 private:
  /// What stands behind an If: along axes, as many elements of `whole` as a branch had.
  struct Cut {
    ValueId result = kAbsent, whole = kAbsent;
    std::vector<int64_t> axes;
    std::vector<ValueId> numbers;
    Dims bounds;
  };
  struct AppendedSequence {
    Sequence before;
    ValueId result = kAbsent, rows = kAbsent;  // outputs: of the source's loop, of what it becomes
  };
  /// All that inference has found so far.
  struct State {
    Values values;
    std::map<std::string, DataDependentSymbol> data_dependent;
    std::vector<std::string> notes;
    int64_t fold_budget = 0;
    std::unordered_map<ValueId, ValueId> replaced;
    std::unordered_map<ValueId, Contents> contents;
    std::unordered_map<ValueId, Sequence> sequences;
    std::map<std::string, Dim> stated;
    size_t unsupported = 0, nodes = 0;
  };
  State state() const;
  void restore(State state);
  void commit(Node& node);
  void infer_if(Node& node);
  void infer_loop(Node& node);
  void repeat_loop(Node& node, const State& before);
  /// False, and anything may be in the graph, where the number of iterations is not known or large,
  /// or something is refused in one of them.
  bool unroll(Node& loop);
  /// Sequences that a Loop carries and that its body only appends to become rows of an output.
  std::vector<AppendedSequence> take_sequences(Node& loop);
  void place_sequence(const AppendedSequence& appended);
  void keep_branch(Node& node, bool taken, const std::string& why);
  bool walk_branch(Graph& branch, const Node& node, bool of_then, std::string* why_not);
  const BranchGuard* guard_of(const Node& node, bool of_then) const;
  std::optional<std::map<ValueId, Dims>> cuts_of(Graph& branch, const BranchGuard& guard) const;
  void walk_guarded(Graph& branch, const Node& node, const BranchGuard& guard,
                    const std::map<ValueId, Dims>& cuts);
  bool merge_branches(Node& node, Graph& then_branch, Graph& else_branch, bool can_join_extents,
                      std::vector<Cut>* cuts, std::string* why_not);
  Dim bound_outside(const Dim& dim, const Graph& branch) const;
  bool makes(const Graph& graph, ValueId id) const;
  void join_ranks(Node& node, Graph& then_branch, Graph& else_branch, size_t i);
  bool can_join(const Node& node, const Graph& then_branch, const Graph& else_branch,
                size_t i) const;
  void join_output(Node& node, Graph& then_branch, Graph& else_branch, size_t i,
                   std::vector<Cut>* cuts);
  void place_cut(const Cut& cut, Node node);
  void refuse(const Node& node, const Refusal& refusal);
  void compute_contents(const Node& node);
  std::optional<Contents> elements_of(ValueId id) const;
  void resolve_outputs(Graph& graph);

  std::vector<Unsupported>* unsupported_;
  const bool asks_;
  const std::vector<BranchGuard> guards_;
  std::vector<ForcedEqual>* const forced_;
  int bodies_ = 0;  // of branches and loops around the node at hand
  std::vector<ValueId> iterations_;
  std::vector<BranchPlace> places_;  // branches around the node at hand that the run decides
  std::vector<Node>* out_ = nullptr;
  std::unordered_map<ValueId, ValueId> replaced_;
  std::unordered_map<ValueId, Contents> contents_;
  std::unordered_map<ValueId, Sequence> sequences_;
  std::map<std::string, Dim> stated_;
  int depth_ = 0;
};

/// A node with graphs of its own, which the other's do not share.
Node cloned(const Node& node);

/// One node in the hands of its operator's function.
class NodeContext {
 public:
  NodeContext(Inference& run, Node& n) : node(n), run_(run) {}
  Node& node;

  Model& model() { return run_.model; }
  Inference& run() { return run_; }
  bool has(size_t i) const { return i < node.inputs.size() && node.inputs[i] != kAbsent; }
  ValueId in(size_t i) const { return i < node.inputs.size() ? node.inputs[i] : kAbsent; }
  const Value& value(size_t i) const { return run_.value(in(i)); }
  const Dims& dims(size_t i) const { return value(i).dims; }
  DType dtype(size_t i) const { return value(i).dtype; }
  int64_t rank(size_t i) const { return int64_t(dims(i).size()); }

  // Numbers that say how: from the attribute when it is there, else from the input's contents.
  std::optional<Dims> find_dims(AttributeName key, size_t input) const;
  // refuses when they are known only at run time
  Dims need_dims(AttributeName key, size_t input);
  // with bounds that the user stated
  std::optional<Dims> find_or_stated(AttributeName key, size_t input);
  // refuses symbols
  std::optional<std::vector<int64_t>> integers(AttributeName key, size_t input);
  // >= 0, or corrupt
  int64_t axis(int64_t value, int64_t rank, const char* name = "axis") const;
  // sorted, distinct
  std::vector<int64_t> axes(std::vector<int64_t> values, int64_t rank) const;

  /// The outputs have their dims already: the node is in normal form since an earlier walk.
  bool settled() const;
  void set(size_t output, DType dtype, Dims dims);
  void drop_inputs_from(size_t first);
  void erase(std::initializer_list<AttributeName> attributes);
  void force_equal(const Dim& a, const Dim& b) { run_.force_equal(a, b, node); }

  // Rewriting. Each visits the new nodes at once; finish and same end this node.
  ValueId make(Operator op, std::vector<ValueId> inputs, Attributes attributes = {});
  std::vector<ValueId> make_many(Operator op, std::vector<ValueId> inputs, Attributes attributes,
                                 size_t outputs);
  ValueId reshape(ValueId data, Dims dims);
  ValueId expand(ValueId data, Dims dims);
  ValueId padded(ValueId data, const Dims& dims);  // with zeros, behind what is there
  ValueId scalar(DType dtype, double value);
  ValueId constant(Constant constant);
  ValueId counting(const Dim& count);         // i64 [count]: 0, 1, 2, ...
  ValueId extent(const Dim& d);               // i64, rank 0
  ValueId element(size_t input, int64_t at);  // of a small integer input, as i64, rank 0
  ValueId cast(ValueId x, DType to) { return make(op::Cast, {x}, {{attr::to, int64_t(to)}}); }
  void finish(Operator op, std::vector<ValueId> inputs, Attributes attributes = {});
  void finish_shaped(Operator op, ValueId data, Dims dims);  // Reshape, Expand, Tile
  /// An element of an integer input that is known only at run time, as a data-dependent symbol,
  /// where the most that it can be was stated (a bound for "NAME", or "NAME.1" of several).
  std::optional<Dim> stated(size_t input, int64_t element);
  /// The most that it can be as the user stated it; 0 where nothing was stated.
  int64_t stated_bound(size_t input, int64_t element) const;
  /// "NAME", or "NAME.1" of several, of the value that it came from.
  std::string element_name(size_t input, int64_t element) const;
  /// A new symbol for the number that `count` (an i64 scalar) will hold, planned at `bound`; the
  /// bound itself when that is 0. Its name is that of `count` where none is given.
  Dim data_dependent_dim(ValueId count, const Dim& bound, const std::string& name = "");
  void same(size_t output, ValueId value);  // output is that value
  void make_sequence(size_t output, Sequence sequence);
  bool finished() const { return finished_; }

  [[noreturn]] void refuse(const std::string& attribute, const std::string& why,
                           const Hint& hint = "") const;
  [[noreturn]] void corrupt(const std::string& what) const;
  void note(const std::string& sentence);

 private:
  Element origin_of(size_t input, int64_t element) const;
  ValueId element_of(ValueId value, int64_t at);
  Inference& run_;
  bool finished_ = false;
};

/// ONNX's broadcasting. `who` names the operator in the error.
Dims broadcast(NodeContext& context, const Dims& a, const Dims& b);
std::string describe(const Node& node);
/// Ranks and types of the operands against operators.def, before any rule reads them.
/// @throws ConversionError(kCorrupt) that names the operand, what was expected and what was found.
void check_operands(const NodeContext& context);
const char* dtype_text(DType dtype);
/// Whether an operator on f64, f16 or bf16 has no kernel in that type, nor a form in others that
/// have.
bool lacks_type(Operator op, DType dtype);
/// Such a node with its operands in f32 and its results in that type again, which is noted.
void infer_in_single(NodeContext& context);
/// A normalization in f64 as its steps, behind its own rule. False for any other operator.
bool spell_double(NodeContext& context);
/// Window and i32 output of ConvInteger.
void infer_conv_integer(NodeContext& context);

using Infer = void (*)(NodeContext&);
using InferTable = std::map<Operator, Infer>;
void add_elementwise_rules(InferTable& table);
void add_window_rules(InferTable& table);
void add_matmul_rules(InferTable& table);
void add_reduce_rules(InferTable& table);
void add_normalize_rules(InferTable& table);
void add_reshape_rules(InferTable& table);
void add_generate_rules(InferTable& table);
void add_slice_rules(InferTable& table);
void add_gather_rules(InferTable& table);
void add_resize_rules(InferTable& table);
void add_recurrent_rules(InferTable& table);
void add_data_dependent_rules(InferTable& table);
void add_spectral_rules(InferTable& table);
void add_random_rules(InferTable& table);
void add_attention_rules(InferTable& table);
void add_sampling_rules(InferTable& table);
void add_quantize_rules(InferTable& table);
void add_older_forms(InferTable& table);
void add_score_rules(InferTable& table);
void add_state_rules(InferTable& table);
void add_block_rules(InferTable& table);
void add_product_rules(InferTable& table);
void add_tree_rules(InferTable& table);
void add_sequence_rules(InferTable& table);
void add_contrib_rules(InferTable& table);
void add_contrib_attention_rules(InferTable& table);
void add_loss_rules(InferTable& table);
void add_quantized_rules(InferTable& table);
void add_weight_block_rules(InferTable& table);
void add_custom_rules(InferTable& table);

}  // namespace ingot::graph
