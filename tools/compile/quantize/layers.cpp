// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/quantize/layers.h"

#include <algorithm>
#include <unordered_map>

#include "tools/graph/movement.h"

namespace ingot::quantize {
namespace {

// Functions of one number: a table of 256 bytes.
constexpr graph::Operators kFunctions = {
    op::Abs,  op::Celu,      op::Clip,  op::Elu,       op::Erf,      op::Exp,
    op::Gelu, op::HardSwish, op::Mish,  op::LeakyRelu, op::Relu,     op::HardSigmoid,
    op::Selu, op::Sigmoid,   op::Swish, op::Softplus,  op::Softsign, op::Tanh};
// Of two tensors, with rescaling.
constexpr graph::Operators kBinary = {op::Add, op::Mul, op::Sub};

bool is_data(const Model& model, ValueId id) {
  return id >= 0 && !model.constant(id) && model.values[size_t(id)].dtype == DType::kF32;
}

class Finder {
 public:
  Finder(const Model& model, const Keep& keep, std::set<std::string>* matched)
      : model_(model), graph_(model.graph), keep_(keep), matched_(matched) {
    for (size_t i = 0; i < graph_.nodes.size(); i++) read(graph_.nodes[i], i);
    for (const ValueId id : graph_.outputs) readers_[id].push_back(kOutside);
  }

  Sites run() {
    for (size_t i = 0; i < graph_.nodes.size(); i++) add_layer(i);
    find_steps();
    list_tensors();
    return std::move(sites_);
  }

 private:
  static constexpr size_t kOutside = ~size_t{0};  // an output of the graph, or a branch

  void read(const Node& node, size_t place) {
    for (const ValueId id : node.inputs)
      if (id >= 0) readers_[id].push_back(place);
    for (const auto& inner : node.subgraphs()) read_inside(*inner);
  }
  void read_inside(const graph::Graph& inner) {
    for (const ValueId id : inner.outputs) readers_[id].push_back(kOutside);
    for (const Node& node : inner.nodes) read(node, kOutside);
  }
  const Node* only_reader(ValueId id, size_t* place) const {
    const auto found = readers_.find(id);
    if (found == readers_.end() || found->second.size() != 1 || found->second[0] == kOutside)
      return nullptr;
    *place = found->second[0];
    return &graph_.nodes[*place];
  }
  size_t rank(ValueId id) const { return model_.values[size_t(id)].dims.size(); }

  bool is_kept(const Layer& layer, const Node& node) {
    bool kept = keep_.nodes.count(layer.node) != 0;
    for (const std::string& pattern : keep_.patterns)
      for (const std::string& name :
           {layer.name, node.name, model_.values[size_t(layer.weights)].name,
            model_.values[size_t(layer.output)].name})
        if (!name.empty() && matches(pattern, name)) kept = true, matched_->insert(pattern);
    return kept;
  }

  /// Constant weights, and a bias that is a constant or absent.
  bool has_constant_weights(const Node& node) const {
    if (node.inputs.size() < 2 || !is_data(model_, node.inputs[0])) return false;
    const Constant* weights = model_.constant(node.inputs[1]);
    const bool biased = node.inputs.size() > 2 && node.inputs[2] >= 0;
    return weights && weights->dtype == DType::kF32 && weights->elements() > 0 &&
           (!biased || model_.constant(node.inputs[2]));
  }

  bool shape_of(const Node& node, Layer* layer) const {
    if (!has_constant_weights(node)) return false;
    const std::vector<int64_t>& dims = model_.constant(node.inputs[1])->dims;
    if (node.inputs.size() > 2) layer->bias = node.inputs[2];
    if (node.op == op::Conv) {
      if (dims.size() < 3 || dims.size() > 4) return false;
      layer->groups = node.integer(attr::group, 1);
    } else if (node.op == op::Gemm) {
      if (node.integer(attr::transA, 0) || node.number(attr::alpha, 1) != 1 ||
          (layer->bias >= 0 && node.number(attr::beta, 1) != 1))
        return false;
      layer->axis = node.integer(attr::transB, 0) ? 0 : 1;
    } else if (node.op == op::MatMul) {
      if (dims.size() != 2 || rank(node.inputs[0]) < 2) return false;
      layer->axis = 1;
    } else {
      return false;
    }
    layer->outputs = dims[size_t(layer->axis)];
    return layer->bias < 0 || model_.constant(layer->bias)->elements() == layer->outputs;
  }

  void add_layer(size_t place) {
    const Node& node = graph_.nodes[place];
    Layer layer;
    if (!shape_of(node, &layer)) return;
    layer.node = place;
    layer.op = node.op;
    layer.input = node.inputs[0];
    layer.weights = node.inputs[1];
    layer.output = node.outputs[0];
    layer.name = node.name.empty() ? model_.values[size_t(layer.output)].name : node.name;
    follow(node, &layer);
    (is_kept(layer, node) ? sites_.kept : sites_.layers).push_back(std::move(layer));
  }

  /// The bias of a MatMul, then limits.
  void follow(const Node& node, Layer* layer) {
    size_t place = 0;
    if (node.op == op::MatMul) {
      const Node* add = only_reader(layer->output, &place);
      if (add && add->op == op::Add && add->inputs.size() == 2) {
        const ValueId other = add->inputs[add->inputs[0] == layer->output ? 1 : 0];
        const Constant* bias = model_.constant(other);
        if (bias && bias->elements() == layer->outputs && !bias->dims.empty() &&
            bias->dims.back() == layer->outputs && rank(add->outputs[0]) == rank(layer->output))
          extend(layer, place);
      }
    }
    const Node* limits = only_reader(layer->output, &place);
    if (limits && (limits->op == op::Relu || limits->op == op::Clip)) extend(layer, place);
  }
  void extend(Layer* layer, size_t place) {
    layer->tail.push_back(place);
    layer->output = graph_.nodes[place].outputs[0];
  }

  bool moves(const Node& node) const {
    const bool pads = node.op == op::Pad && node.text(attr::mode, "constant") == "constant" &&
                      node.number(attr::value, 0) != 0;  // its number may be beyond the scale
    return !pads && graph::moves_numbers(node, rank(node.inputs[0]));
  }
  bool is_step(const Node& node) const {
    if (node.outputs.empty() || !is_data(model_, node.inputs.empty() ? kAbsent : node.inputs[0]))
      return false;
    if (node.op == op::Concat)
      return std::all_of(node.inputs.begin(), node.inputs.end(),
                         [&](ValueId id) { return is_data(model_, id); });
    if (kBinary.has(node.op))
      return node.inputs.size() == 2 && is_data(model_, node.inputs[1]) &&
             node.inputs[0] != node.inputs[1];
    if (node.op == op::ReduceMean) {  // of an image: a pool
      const std::vector<int64_t> axes = node.integers(attr::axes);
      return rank(node.inputs[0]) == 4 && axes == std::vector<int64_t>{2, 3};
    }
    if (node.op == op::AveragePool) return rank(node.inputs[0]) == 4;
    return kFunctions.has(node.op) || moves(node);
  }

  /// Nodes all of whose operands are tensors of bytes already, and whose results lead to a layer.
  void find_steps() {
    std::set<ValueId> possible, needed;
    std::set<size_t> taken;
    for (const Layer& layer : sites_.layers) {
      possible.insert({layer.input, layer.output});
      needed.insert(layer.input);
      taken.insert(layer.node);
      taken.insert(layer.tail.begin(), layer.tail.end());
    }
    std::vector<size_t> candidates;
    for (size_t i = 0; i < graph_.nodes.size(); i++) {
      const Node& node = graph_.nodes[i];
      if (taken.count(i) || !is_step(node)) continue;
      if (!std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId id) { return !is_data(model_, id) || possible.count(id); }))
        continue;
      candidates.push_back(i);
      for (const ValueId id : node.outputs)
        if (id >= 0) possible.insert(id);
    }
    for (size_t k = candidates.size(); k-- > 0;) {
      const Node& node = graph_.nodes[candidates[k]];
      if (!std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return needed.count(id) != 0; }))
        continue;
      sites_.steps.push_back(candidates[k]);
      for (const ValueId id : node.inputs)
        if (is_data(model_, id)) needed.insert(id);
    }
    std::reverse(sites_.steps.begin(), sites_.steps.end());
    for (Layer& layer : sites_.layers)
      layer.gives_floats = layer.op != op::Conv && !needed.count(layer.output);
  }

  /// Whether limits alone read what a step makes: they are part of it.
  bool is_limited(const Node& step, const std::set<size_t>& steps) const {
    size_t place = 0;
    const Node* reader = step.outputs.size() == 1 ? only_reader(step.outputs[0], &place) : nullptr;
    return reader && !moves(step) && steps.count(place) &&
           (reader->op == op::Relu || reader->op == op::Clip);
  }

  void list_tensors() {
    std::set<ValueId> bytes, inside;
    const std::set<size_t> steps(sites_.steps.begin(), sites_.steps.end());
    for (const size_t place : sites_.steps)
      if (is_limited(graph_.nodes[place], steps)) inside.insert(graph_.nodes[place].outputs[0]);
    for (const Layer& layer : sites_.layers) bytes.insert({layer.input, layer.output});
    for (const size_t place : sites_.steps) {
      const Node& node = graph_.nodes[place];
      for (const ValueId id : node.inputs)
        if (is_data(model_, id)) bytes.insert(id);
      for (const ValueId id : node.outputs)
        if (id >= 0) {
          bytes.insert(id);
          if (moves(node)) sites_.moved[id] = node.inputs[0];
        }
    }
    const auto list = [&](ValueId id) {
      if (bytes.erase(id) && !inside.count(id)) sites_.tensors.push_back(id);
    };
    for (const ValueId id : graph_.inputs) list(id);
    for (const Node& node : graph_.nodes)
      for (const ValueId id : node.outputs) list(id);
  }

  const Model& model_;
  const graph::Graph& graph_;
  const Keep& keep_;
  std::set<std::string>* matched_;
  std::unordered_map<ValueId, std::vector<size_t>> readers_;
  Sites sites_;
};

}  // namespace

bool matches(const std::string& pattern, const std::string& name) {
  size_t p = 0, n = 0, star = std::string::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, from = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      p++, n++;
    } else if (star != std::string::npos) {
      p = star + 1, n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') p++;
  return p == pattern.size();
}

ValueId Sites::scaled_as(ValueId id) const {
  for (auto at = moved.find(id); at != moved.end(); at = moved.find(id)) id = at->second;
  return id;
}

Sites find_sites(const Model& model, const Keep& keep, std::set<std::string>* matched) {
  return Finder(model, keep, matched).run();
}

}  // namespace ingot::quantize
