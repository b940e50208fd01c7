// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/inference.cpp - the walk: replace, infer, fold, follow shape arithmetic.
#include "tools/graph/infer/inference.h"

#include <algorithm>

#include "tools/files/work_budget.h"
#include "tools/graph/dim_limit.h"
#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/infer/infer_shapes.h"
#include "tools/graph/infer/run_numbers.h"
#include "tools/graph/movement.h"

namespace ingot::graph {
namespace {

constexpr int kMaxRewriteDepth = 256;  // nested branches, and operators made of operators
constexpr int64_t kMaxSymbolic = 64;   // elements of shape arithmetic

const InferTable& infer_table() {
  static const InferTable kTable = [] {
    InferTable table;
    add_elementwise_rules(table);
    add_window_rules(table);
    add_matmul_rules(table);
    add_reduce_rules(table);
    add_normalize_rules(table);
    add_reshape_rules(table);
    add_generate_rules(table);
    add_slice_rules(table);
    add_gather_rules(table);
    add_resize_rules(table);
    add_recurrent_rules(table);
    add_data_dependent_rules(table);
    add_spectral_rules(table);
    add_random_rules(table);
    add_attention_rules(table);
    add_sampling_rules(table);
    add_quantize_rules(table);
    add_quantized_rules(table);
    add_older_forms(table);
    add_loss_rules(table);
    add_contrib_rules(table);
    add_contrib_attention_rules(table);
    add_sequence_rules(table);
    add_score_rules(table);
    add_state_rules(table);
    add_block_rules(table);
    add_weight_block_rules(table);
    add_product_rules(table);
    add_custom_rules(table);
    add_tree_rules(table);
    return table;
  }();
  return kTable;
}

}  // namespace

ValueId Inference::resolve(ValueId id) const {
  uint64_t walked = 0;
  for (auto found = replaced_.find(id); found != replaced_.end(); found = replaced_.find(id))
    id = found->second, walked++;
  if (walked > 1) host::charge_work(walked);
  return id;
}

std::optional<Contents> Inference::contents(ValueId id) const {
  if (id < 0) return std::nullopt;
  const auto found = contents_.find(id);
  if (found != contents_.end()) return found->second;
  const Constant* constant = model.constant(id);
  return constant ? contents_of(*constant) : std::nullopt;
}

/// A small integer tensor of which nothing is known: its own elements.
std::optional<Contents> Inference::elements_of(ValueId id) const {
  if (id < 0 || (value(id).dtype != DType::kI64 && value(id).dtype != DType::kI32))
    return std::nullopt;
  const auto count = product(value(id).dims).value();
  if (!count || *count > kMaxRank || value(id).dims.size() > 1) return std::nullopt;
  Contents own;
  for (int64_t i = 0; i < *count; i++) own.push_back(Scalar::element(id, i));
  return own;
}

const Node* Inference::maker(ValueId id) const {
  for (size_t i = out_->size(); i-- > 0;) {
    const Node& node = (*out_)[i];
    host::charge_work(1);
    if (std::find(node.outputs.begin(), node.outputs.end(), id) == node.outputs.end()) continue;
    if (node.op != op::Reshape && node.op != op::Identity) return &node;
    id = node.inputs[0];
  }
  return nullptr;
}

void Inference::run() { walk(model.graph); }

void Inference::resolve_outputs(Graph& graph) {
  for (ValueId& id : graph.outputs) id = resolve(id);
}

void Inference::walk(Graph& graph) {
  std::vector<Node> old = std::move(graph.nodes);
  std::vector<Node> made;
  std::vector<Node>* const outer = out_;
  out_ = &made;
  bodies_ += outer != nullptr;
  const size_t loops = iterations_.size();
  if (outer && !graph.inputs.empty()) iterations_.push_back(graph.inputs[0]);
  // Ports keep their names: a replaced output is copied under its own.
  const std::vector<ValueId> ports = graph.outputs;
  if (outer == nullptr) bind_inputs(*this);
  for (Node& node : old) {
    if (!node.dead) visit(std::move(node));
  }
  if (outer == nullptr) {
    for (ValueId& id : graph.outputs) {
      const ValueId by = resolve(id);
      if (sequence(by))
        unsupported_->push_back({"output", "", "", value(id).name,
                                 "is a sequence, only tensors are supported",
                                 "make an output of each tensor, or concatenate them"});
      if (by == id) continue;
      const bool plain =
          !model.constant(by) &&
          std::find(graph.inputs.begin(), graph.inputs.end(), by) == graph.inputs.end() &&
          std::find(ports.begin(), ports.end(), by) == ports.end() &&
          std::count_if(ports.begin(), ports.end(), [&](ValueId p) { return resolve(p) == by; }) ==
              1;
      if (plain) {
        model.values[size_t(by)].name = model.values[size_t(id)].name;
        id = by;
        continue;
      }
      Value& port = model.values[size_t(id)];
      port.dtype = value(by).dtype;
      port.dims = value(by).dims;
      port.shape_known = value(by).shape_known;
      Node copy;
      copy.op = op::Identity;
      copy.name = port.name;
      copy.inputs = {by};
      copy.outputs = {id};
      made.push_back(std::move(copy));
    }
  } else {
    resolve_outputs(graph);
  }
  out_ = outer;
  bodies_ -= outer != nullptr;
  iterations_.resize(loops);
  graph.nodes = std::move(made);
}

void Inference::force_equal(const Dim& a, const Dim& b, const Node& node) {
  if (!forced_ || bodies_ > 0 || a == b) return;
  const auto is_symbol = [&](const Dim& d) {
    const std::vector<std::string> names = d.symbols();
    return names.size() == 1 && d == Dim::symbol(names[0]) && model.symbols.count(names[0]) &&
           !model.data_dependent.count(names[0]);
  };
  // The symbol that is first by name stays where both are.
  const bool takes_a = is_symbol(a) && (!is_symbol(b) || b.text() < a.text());
  if (!takes_a && !is_symbol(b)) return;
  const Dim &symbol = takes_a ? a : b, &to = takes_a ? b : a;
  const std::vector<std::string> inside = to.symbols();
  if (std::find(inside.begin(), inside.end(), symbol.text()) != inside.end()) {
    // Nothing is as long as that: inputs that give their dimensions one name may differ.
    const auto names_it = [&](ValueId id) {
      const Dims& dims = model.values[size_t(id)].dims;
      return std::find(dims.begin(), dims.end(), symbol) != dims.end();
    };
    if (std::count_if(model.graph.inputs.begin(), model.graph.inputs.end(), names_it) > 1)
      forced_->push_back({symbol.text(), to, describe(node)});
    return;
  }
  if (!to.is_static() && !is_symbol(to)) return;
  forced_->push_back({symbol.text(), to, describe(node)});
}

void Inference::refuse(const Node& node, const Refusal& refusal) {
  Unsupported entry;
  entry.op = text(node.op);
  entry.node = node.name;
  if (!node.sources.empty() && node.sources[0] < model.source_nodes.size()) {
    const SourceNode& source = model.source_nodes[node.sources[0]];
    entry.op = source.op;
    entry.node = source.name;
    entry.output = source.output;
  } else {
    for (const ValueId id : node.outputs) {
      if (id != kAbsent && entry.output.empty()) entry.output = value(id).name;
    }
  }
  entry.attribute = refusal.attribute;
  entry.why = refusal.why;
  entry.hint = refusal.hint.text;
  entry.wants_bound = refusal.hint.wants_bound;
  unsupported_->push_back(std::move(entry));
}

void Inference::visit(Node node) {
  host::charge_work(4 + node.inputs.size() + node.outputs.size());
  for (ValueId& id : node.inputs) id = resolve(id);
  while (!node.inputs.empty() && node.inputs.back() == kAbsent) node.inputs.pop_back();
  if (++depth_ > kMaxRewriteDepth) fail_internal(describe(node), "rewriting does not end");
  struct Leave {
    int& depth;
    ~Leave() { depth--; }
  } leave{depth_};
  if (std::all_of(node.outputs.begin(), node.outputs.end(),
                  [](ValueId id) { return id == kAbsent; }))
    return;  // makes nothing
  // Something before it was refused: its outputs stay unknown and are not reported again.
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return known(id); })) {
    out_->push_back(std::move(node));
    return;
  }
  try {
    if (class_of(node.op) != OperatorClass::kSequence && node.op != op::Loop)
      for (const ValueId id : node.inputs) refuse_sequence(id);
    if (node.op == op::If) return infer_if(node);
    if (node.op == op::Loop || node.op == op::Scan) return infer_loop(node);
    const auto rule = infer_table().find(node.op);
    if (rule == infer_table().end()) throw Refusal{"", "the operator is not supported", ""};
    NodeContext context(*this, node);
    check_operands(context);
    const bool has_first = !node.inputs.empty() && known(node.inputs[0]) && node.inputs[0] >= 0;
    const DType first = has_first ? value(node.inputs[0]).dtype : DType::kF32;
    if (lacks_type(node.op, first))
      infer_in_single(context);
    else
      rule->second(context);
    if (context.finished()) return;
    if (first == DType::kF64 && spell_double(context) && context.finished()) return;
    commit(node);
  } catch (const Refusal& refusal) {
    refuse(node, refusal);
    out_->push_back(std::move(node));
  } catch (const DimError& error) {
    fail_conversion(exit_code(error), describe(node), error.what());
  }
}

void Inference::commit(Node& node) {
  for (const ValueId id : node.outputs) {
    if (!known(id))
      fail_corrupt(describe(node), "has " + std::to_string(node.outputs.size()) +
                                       " outputs, more than its operator makes");
  }
  if (fold_node(model, node)) return;
  try {
    compute_contents(node);
  } catch (const DimError&) {
    // Integers that are no shapes may grow beyond a dim; then nothing is known of them.
  }
  bool all_constant = !node.outputs.empty();
  for (const ValueId id : node.outputs) {
    if (id == kAbsent) continue;
    const auto found = contents_.find(id);
    Value& output = model.values[size_t(id)];
    std::vector<int64_t> dims;
    for (const Dim& d : output.dims) dims.push_back(d.value().value_or(-1));
    std::optional<Constant> constant;
    if (found != contents_.end()) constant = constant_of(found->second, output.dtype, dims);
    if (constant)
      output.constant = std::make_shared<const Constant>(std::move(*constant));
    else
      all_constant = false;
  }
  if (!all_constant) out_->push_back(std::move(node));
}

void Inference::compute_contents(const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty()) return;
  const ValueId out = node.outputs[0];
  if (out == kAbsent || contents_.count(out)) return;
  int64_t count = 1;
  for (const Dim& d : value(out).dims) {
    const auto n = d.value();
    if (!n || *n > kMaxSymbolic) return;
    count *= *n;
    if (count > kMaxSymbolic) return;
  }
  std::vector<Contents> inputs;
  bool any = false;
  for (const ValueId id : node.inputs) {
    std::optional<Contents> found = contents(id);
    any = any || found.has_value();
    if (!found) found = elements_of(id);
    if (!found) return;
    inputs.push_back(std::move(*found));
  }
  const bool whole = value(out).dtype == DType::kI64 || value(out).dtype == DType::kI32;
  if (!any && !whole) return;
  Contents result = symbolic_movement(model, node, inputs);
  if (result.empty() && count > 0) result = symbolic_elementwise(model, node, inputs);
  if (result.empty() && count > 0) result = symbolic_reduction(model, node, inputs);
  const bool useful = std::any_of(result.begin(), result.end(), [](const Scalar& s) {
    return s.known() || s.origin.value != kAbsent;
  });
  if (int64_t(result.size()) == count && (useful || count == 0)) contents_[out] = std::move(result);
}

void infer_shapes(Model& model, std::vector<Unsupported>* unsupported) {
  Inference(model, unsupported).run();
}
std::optional<Undecided> infer_shapes_or_ask(Model& model, std::vector<Unsupported>* unsupported,
                                             const std::vector<BranchGuard>& guards,
                                             std::vector<ForcedEqual>* forced) {
  try {
    Inference(model, unsupported, true, guards, forced).run();
  } catch (const Undecided& undecided) {
    return undecided;
  }
  return std::nullopt;
}
void infer_shapes(Model& model) {
  std::vector<Unsupported> unsupported;
  infer_shapes(model, &unsupported);
  if (unsupported.empty()) return;
  const Unsupported& first = unsupported.front();
  const std::string message = std::to_string(unsupported.size()) +
                              " nodes are not supported, the first: " + first.op + " '" +
                              first.node + "': " + first.why;
  ConversionError error{host::Exit::kUnsupported, message, std::move(unsupported)};
  if (error.unsupported.size() == 1) error.says = Says::kWhy;
  throw error;
}

}  // namespace ingot::graph
