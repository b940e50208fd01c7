// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/convert/fold_by_running.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/compile/lower/lower.h"
#include "tools/compile/program/run_lowered.h"
#include "tools/compile/stream/multiply_adds.h"
#include "tools/files/work_budget.h"
#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/tensor_math.h"

namespace ingot::convert {
namespace {

using graph::Graph;
using graph::Model;
using graph::Node;
using graph::OperatorClass;
using graph::ValueId;

/// Of all nodes together: about a second of the scalar kernels, and a few seconds of products, by
/// which weights are often made; and what standardizing each weight of the source takes.
constexpr double kMaxSteps = double(1 << 28), kMaxProducts = 8 * kMaxSteps, kStepsAnElement = 64;
constexpr size_t kMaxAlone = 256;      // nodes that are run one by one where one of them fails
constexpr uint64_t kStepsOfWork = 16;  // for one of tools/files/work_budget.h

/// It makes the same outputs of the same inputs in every run, and how long that takes is in their
/// dims. What reads weights in bytes keeps them.
bool computes(graph::Operator op) {
  constexpr graph::Operators kOthers = {op::BlockGather,       op::BlockLinear, op::GroupedLinear,
                                        op::Identity,          op::ImageInput,  op::Linear,
                                        op::NonMaxSuppression, op::NonZero,     op::ResolveDim,
                                        op::RoiAlign,          op::Unique,      op::TreeEnsemble};
  switch (class_of(op)) {
    case OperatorClass::kControl:
    case OperatorClass::kCustom:
    case OperatorClass::kQuantization:
    case OperatorClass::kRandom:
    case OperatorClass::kSequence: return false;
    default: return !kOthers.has(op) && !graph::is_of_integers(op);
  }
}

/// Nothing for dims that are no numbers.
std::optional<int64_t> static_elements(const graph::Value& value) {
  if (value.constant) return value.constant->elements();
  if (!value.shape_known || value.dtype == DType::kInvalid) return std::nullopt;
  return graph::product(value.dims).value();
}

bool has_symbols(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& each) {
    const auto* const dims = std::get_if<graph::Dims>(&each.second);
    return dims && std::any_of(dims->begin(), dims->end(),
                               [](const graph::Dim& d) { return !d.is_static(); });
  });
}

class ConstantNodes {
 public:
  explicit ConstantNodes(Model& model) : model_(model) {
    for (const auto& [name, symbol] : model.data_dependent) resolvers_.insert(symbol.by);
    // not of constants that folding made: a small file makes many of one
    left_ += kStepsAnElement * double(model.source_elements);
    choose(model.graph);
    find_results(model.graph);
  }
  size_t count() const { return chosen_.size(); }

  const std::vector<Node*>& nodes() const { return chosen_; }
  /// A program of these nodes alone, whose outputs are `results`.
  Model alone(const std::vector<Node*>& nodes, const std::vector<ValueId>& results) const {
    Model made;
    made.source_nodes = model_.source_nodes;
    std::unordered_map<ValueId, ValueId> ids{{graph::kAbsent, graph::kAbsent}};
    const auto own = [&](ValueId& id) {
      const auto [found, is_new] = ids.try_emplace(id, ValueId(made.values.size()));
      if (is_new) made.values.push_back(model_.values[size_t(id)]);
      id = found->second;
    };
    for (const Node* node : nodes) {
      Node copy = *node;
      for (ValueId& id : copy.inputs) own(id);
      for (ValueId& id : copy.outputs) own(id);
      made.graph.nodes.push_back(std::move(copy));
    }
    for (const ValueId id : results) made.graph.outputs.push_back(ids.at(id));
    return made;
  }
  /// What others read of all of them.
  const std::vector<ValueId>& results() const { return results_; }

 private:
  void choose(Graph& graph) {
    for (Node& node : graph.nodes) {
      for (const auto& inner : node.subgraphs()) choose(*inner);
      if (!is_constant(node) || !is_within_budget(node)) continue;
      chosen_.push_back(&node);
      for (const ValueId id : node.outputs)
        if (id >= 0) made_.insert(id);
    }
  }
  bool is_constant(const Node& node) const {
    return !node.dead && !node.inputs.empty() && computes(node.op) && !has_symbols(node) &&
           std::all_of(
               node.inputs.begin(), node.inputs.end(),
               [&](ValueId id) { return id < 0 || model_.constant(id) || made_.count(id); }) &&
           std::none_of(node.outputs.begin(), node.outputs.end(),
                        [&](ValueId id) { return id >= 0 && resolvers_.count(id); });
  }
  bool is_within_budget(const Node& node) {
    int64_t in = 0, out = 0;
    const std::unordered_set<ValueId> read(node.inputs.begin(), node.inputs.end());
    for (const ValueId id : read)
      if (id >= 0) in += *static_elements(model_.values[size_t(id)]);
    for (const ValueId id : node.outputs) {
      if (id < 0) continue;
      const auto count = static_elements(model_.values[size_t(id)]);
      if (!count) return false;
      out += *count;
    }
    const double products = multiply_adds(model_, node),
                 steps = steps_of(node, double(in), double(out));
    double& left = products > 0 ? products_left_ : left_;
    if (out > in + graph::kMaxGrowth || out > model_.fold_budget || steps > left ||
        steps > kMaxSteps)
      return false;
    model_.fold_budget -= out;
    left -= steps;
    host::charge_work(uint64_t(steps) / kStepsOfWork);
    return true;
  }

  /// What a scalar kernel takes at most.
  double steps_of(const Node& node, double in, double out) const {
    if (const double products = multiply_adds(model_, node); products > 0)
      return in + out + products;
    switch (class_of(node.op)) {
      case OperatorClass::kElementwise:
      case OperatorClass::kMovement:
      case OperatorClass::kIndex:
      case OperatorClass::kReduction:
      case OperatorClass::kNormalization: return in + out;
      case OperatorClass::kSampling: return 64 * (in + out);  // cubic in three dimensions
      case OperatorClass::kWindow: {
        double taps = 1;
        for (const int64_t n : node.integers(attr::kernel_shape)) taps *= double(n);
        return in + out * taps;
      }
      default: return in + out + in * out;
    }
  }

  void find_results(const Graph& graph) {
    const auto read = [&](ValueId id) {
      if (made_.count(id) && known_results_.insert(id).second) results_.push_back(id);
    };
    for (const Node& node : graph.nodes) {
      const bool is_chosen = std::any_of(node.outputs.begin(), node.outputs.end(),
                                         [&](ValueId id) { return made_.count(id) != 0; });
      if (!is_chosen) std::for_each(node.inputs.begin(), node.inputs.end(), read);
      for (const auto& inner : node.subgraphs()) find_results(*inner);
    }
    std::for_each(graph.outputs.begin(), graph.outputs.end(), read);
  }

  Model& model_;
  double left_ = kMaxSteps, products_left_ = kMaxProducts;
  std::unordered_set<ValueId> resolvers_, made_, known_results_;
  std::vector<Node*> chosen_;
  std::vector<ValueId> results_;
};

/// The program's outputs; nothing where it cannot be lowered or run.
std::vector<graph::Constant> run_alone(Model&& model, const ConvertOptions& options) {
  std::vector<graph::Constant> made;
  try {
    ConvertOptions own;  // no ports, states or layouts of the whole
    own.winograd = options.winograd;
    own.winograd_bytes = options.winograd_bytes;
    passes::run_passes(model);
    ConversionReport report;
    const LoweredProgram lowered = lower(model, own, &report);
    check_lowered(lowered, true);
    LoweredRun run(lowered, {}, *cpu_kernels("scalar"));
    for (const LoweredInstruction& instruction : lowered.subprograms[0].instructions)
      if (!run.run(instruction).ok()) return {};
    for (const PortSpec& port : lowered.outputs) {
      const TensorType type = evaluate_type(lowered.at(port.value), {});
      made.push_back(graph::make_constant(type.dtype, {type.dims, type.dims + type.rank},
                                          run.bytes(port.value).data));
    }
  } catch (const graph::ConversionError&) {
    return {};  // the conversion of the whole comes to the same node and says it
  }
  return made;
}

}  // namespace

size_t fold_by_running(Model& model, const ConvertOptions& options) {
  const ConstantNodes all(model);
  if (all.results().empty()) return 0;
  size_t count = 0;
  const auto run = [&](const std::vector<Node*>& nodes, const std::vector<ValueId>& results) {
    std::vector<graph::Constant> made = run_alone(all.alone(nodes, results), options);
    for (size_t i = 0; i < made.size(); i++)
      model.values[size_t(results[i])].constant =
          std::make_shared<const graph::Constant>(std::move(made[i]));
    for (Node* node : nodes) node->dead = node->dead || !made.empty();
    count += made.empty() ? 0 : nodes.size();
    return !made.empty();
  };
  const auto is_known = [&](ValueId id) { return id < 0 || model.constant(id); };
  // one by one those that fail, and what reads them, stay
  if (!run(all.nodes(), all.results()) && all.nodes().size() <= kMaxAlone)
    for (Node* node : all.nodes()) {
      std::vector<ValueId> results;
      for (const ValueId id : node->outputs)
        if (id >= 0) results.push_back(id);
      if (std::all_of(node->inputs.begin(), node->inputs.end(), is_known)) run({node}, results);
    }
  if (count == 0) return 0;
  model.graph.compact();
  graph::fold_constants(model);
  return count;
}

}  // namespace ingot::convert
