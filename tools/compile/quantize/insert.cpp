// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/quantize/insert.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tools/graph/infer/incremental_inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::quantize {
namespace {

constexpr double kMaxBias = double(1 << 30);  // of a bias as i32; room for what kernels fold in

Node node_of(graph::Operator op, std::vector<ValueId> inputs, ValueId output, const Node& like) {
  Node made;
  made.op = op;
  made.name = like.name;
  made.sources = like.sources;
  made.inputs = std::move(inputs);
  made.outputs = {output};
  return made;
}

class Inserter {
 public:
  Inserter(Model& model, const Sites& sites, const Found& found, const InsertOptions& options)
      : model_(model),
        sites_(sites),
        found_(found),
        options_(options),
        inference_(model, &unsupported_) {
    for (size_t i = 0; i < sites.layers.size(); i++) {
      layer_at_[sites.layers[i].node] = &sites.layers[i];
      on_bytes_.insert(sites.layers[i].node);
      made_of_bytes_.insert(sites.layers[i].output);
      for (const size_t place : sites.layers[i].tail) tail_of_[place] = &sites.layers[i];
      last_of_[sites.layers[i].tail.empty() ? sites.layers[i].node : sites.layers[i].tail.back()] =
          &sites.layers[i];
    }
    for (const size_t place : sites.steps) {
      on_bytes_.insert(place);
      const Node& step = model.graph.nodes[place];
      made_of_bytes_.insert(step.outputs.begin(), step.outputs.end());
    }
    for (const ValueId id : sites.tensors) bytes_.insert(id);
    for (const Layer& layer : sites.layers)
      if (layer.gives_floats) bytes_.erase(layer.output);
  }

  /// What is there stays; `losses_` beside it.
  void run_beside() {
    losses_ = true;
    run();
  }

  void run() {
    std::vector<Node> old = std::move(model_.graph.nodes);
    inference_.enter(&made_);
    for (const ValueId id : model_.graph.inputs)
      if (!losses_ && bytes_.count(id)) quantize_beside(id, Node{});
    for (size_t i = 0; i < old.size(); i++) {
      if (!losses_) {
        place(std::move(old[i]), i);
        continue;
      }
      made_.push_back(old[i]);
      if (const auto last = last_of_.find(i); last != last_of_.end()) add_loss(old, *last->second);
    }
    inference_.leave();
    if (!unsupported_.empty())
      graph::fail_internal("quantization: " + unsupported_[0].op + ": " + unsupported_[0].why);
    model_.graph.nodes = std::move(made_);
  }

 private:
  ByteScale scale(ValueId id) const {
    const auto at = found_.ranges.find(sites_.scaled_as(id));
    return scale_of(at == found_.ranges.end() ? Range{} : at->second);
  }

  ValueId constant(const std::string& name, Constant constant) {
    return model_.add_constant(name, std::move(constant));
  }

  /// `to` is `from` after a way through bytes, with the scale of `tensor`.
  void pair(ValueId from, ValueId to, ValueId tensor, const Node& like) {
    const std::string name = model_.values[size_t(tensor)].name;
    const ByteScale s = scale(tensor);
    const ValueId factor =
        constant(name + "/scale", graph::make_scalar(DType::kF32, double(s.scale)));
    const ValueId zero = constant(name + "/zero", graph::make_scalar(DType::kU8, double(s.zero)));
    const ValueId bytes = model_.add_value(name + "/bytes");
    inference_.add(node_of(op::QuantizeLinear, {from, factor, zero}, bytes, like));
    inference_.add(
        node_of(op::DequantizeLinear, {inference_.resolve(bytes), factor, zero}, to, like));
    const ValueId made = inference_.resolve(to);
    if (made != to) made_.push_back(node_of(op::Identity, {made}, to, like));
  }

  /// For readers on bytes; others read the floats that were there before.
  void quantize_beside(ValueId id, const Node& like) {
    const std::string name = model_.values[size_t(id)].name;
    const ValueId to = model_.add_value(name + "/dequantized", DType::kF32);
    model_.values[size_t(to)].dims = model_.values[size_t(id)].dims;
    model_.values[size_t(to)].shape_known = true;
    pair(id, to, id, like);
    instead_[id] = to;
  }

  void place(Node node, size_t at) {
    const auto layer = layer_at_.find(at);
    if (on_bytes_.count(at))
      for (ValueId& id : node.inputs)
        if (const auto to = instead_.find(id); to != instead_.end()) id = to->second;
    if (layer != layer_at_.end()) round_weights(node, *layer->second);
    if (const auto tail = tail_of_.find(at); tail != tail_of_.end() && node.op == op::Add)
      correct_added(node, *tail->second);
    std::vector<std::pair<ValueId, ValueId>> turned;
    std::vector<ValueId> beside;
    for (ValueId& id : node.outputs) {
      if (id < 0 || !bytes_.count(id)) continue;
      if (!made_of_bytes_.count(id)) {
        beside.push_back(id);
        continue;
      }
      graph::Value inner = model_.values[size_t(id)];
      inner.name += "/sum";
      model_.values.push_back(std::move(inner));
      turned.push_back({ValueId(model_.values.size()) - 1, id});
      id = turned.back().first;
    }
    Node like;
    like.name = node.name, like.sources = node.sources;
    made_.push_back(std::move(node));
    for (const auto& [from, to] : turned) pair(from, to, to, like);
    for (const ValueId id : beside) quantize_beside(id, like);
  }

  /// A value like `id`, of a node that is added.
  ValueId another(ValueId id, const std::string& what) {
    graph::Value made = model_.values[size_t(id)];
    made.name += what;
    made.constant = nullptr;
    model_.values.push_back(std::move(made));
    return ValueId(model_.values.size()) - 1;
  }

  /// The layer once more, of its own operands as bytes.
  void add_loss(const std::vector<Node>& old, const Layer& layer) {
    if (!instead_.count(layer.input)) quantize_beside(layer.input, old[layer.node]);
    std::map<ValueId, ValueId> twins = {{layer.input, instead_.at(layer.input)}};
    std::vector<size_t> places = {layer.node};
    places.insert(places.end(), layer.tail.begin(), layer.tail.end());
    for (const size_t at : places) {
      Node twin = old[at];
      for (ValueId& id : twin.inputs)
        if (const auto to = twins.find(id); to != twins.end()) id = to->second;
      if (at == layer.node) round_weights(twin, layer);
      if (at != layer.node && twin.op == op::Add) correct_added(twin, layer);
      const ValueId made = another(twin.outputs[0], "/twin");
      twins[twin.outputs[0]] = made;
      twin.outputs = {made};
      made_.push_back(std::move(twin));
    }
    const std::string number = std::to_string(&layer - sites_.layers.data());
    const Node& like = old[layer.node];
    ValueId rounded = twins.at(layer.output);
    if (!layer.gives_floats) {
      rounded = another(layer.output, "/rounded");
      pair(twins.at(layer.output), rounded, layer.output, like);
    }
    const ValueId error = model_.add_value("");
    inference_.add(node_of(op::Sub, {rounded, layer.output}, error, like));
    sum_of_squares(inference_.resolve(error), "noise:" + number, like);
    sum_of_squares(layer.output, "signal:" + number, like);
  }
  void sum_of_squares(ValueId x, const std::string& name, const Node& like) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < model_.values[size_t(x)].dims.size(); i++) axes.push_back(int64_t(i));
    const ValueId made = model_.add_value(name);
    Node node = node_of(op::ReduceSumSquare, {x}, made, like);
    node.attributes[attr::axes] = axes;
    node.attributes[attr::keepdims] = int64_t(0);
    inference_.add(std::move(node));
    model_.graph.outputs.push_back(inference_.resolve(made));
    model_.values[size_t(inference_.resolve(made))].name = name;
  }

  void round_weights(Node& node, const Layer& layer) {
    const Constant weights = *model_.constant(layer.weights);
    require_finite(weights, text(layer.op), layer.name, "weights");
    std::vector<double> bias;
    if (layer.bias >= 0) {
      require_finite(*model_.constant(layer.bias), text(layer.op), layer.name, "bias");
      bias = graph::read_numbers(*model_.constant(layer.bias));
    }
    const double input = double(scale(layer.input).scale);
    // The scale of the sums is a normal number, on whose steps the bias fits i32.
    std::vector<double> smallest(size_t(layer.outputs),
                                 4 * double(std::numeric_limits<float>::min()) / input);
    for (size_t o = 0; o < bias.size(); o++)
      smallest[o] = std::max(smallest[o], std::fabs(bias[o]) / (input * kMaxBias));
    const ByteWeights rounded =
        quantize_weights(weights, layer.axis, options_.fit_weights, smallest);
    const auto means = found_.means.find(layer.input);
    std::vector<double>& errors = errors_[&layer];
    errors.clear();
    if (options_.correct_bias && means != found_.means.end())
      errors = mean_error(layer, weights, rounded, means->second);
    if (const auto shift = found_.shifts.find(layer.output);
        shift != found_.shifts.end() && shift->second.size() == size_t(layer.outputs)) {
      errors.resize(size_t(layer.outputs), 0);
      for (size_t o = 0; o < errors.size(); o++) errors[o] += shift->second[o];
    }
    node.inputs[1] = dequantized(node, layer, weights, rounded);
    if (layer.op == op::MatMul) return;  // its bias is an Add
    if (bias.empty() && !errors_[&layer].empty()) bias.assign(size_t(layer.outputs), 0);
    if (bias.empty()) return;
    node.inputs.resize(3);
    node.inputs[2] = whole_bias(node, layer, rounded, std::move(bias), input);
  }

  ValueId dequantized(const Node& node, const Layer& layer, const Constant& weights,
                      const ByteWeights& rounded) {
    const std::string name = model_.values[size_t(layer.weights)].name;
    model_.allow_folding(weights.elements());
    const ValueId bytes = constant(
        name + "/bytes", graph::make_constant(DType::kI8, weights.dims, rounded.bytes.data()));
    const ValueId scales = constant(
        name + "/scales",
        graph::make_constant(DType::kF32, {int64_t(rounded.scales.size())}, rounded.scales.data()));
    const ValueId made = model_.add_value(name + "/dequantized");
    Node dequantize = node_of(op::DequantizeLinear, {bytes, scales}, made, node);
    dequantize.attributes[attr::axis] = layer.axis;
    inference_.add(std::move(dequantize));
    return inference_.resolve(made);
  }

  /// In steps of the sums: i32, with the scale of the input times that of the channel's weights.
  ValueId whole_bias(const Node& node, const Layer& layer, const ByteWeights& rounded,
                     std::vector<double> bias, double input) {
    std::vector<int32_t> steps;
    std::vector<float> scales;
    for (size_t o = 0; o < bias.size(); o++) {
      if (!errors_[&layer].empty()) bias[o] -= errors_[&layer][o];
      scales.push_back(float(input) * rounded.scales[o]);
      const double step = std::nearbyint(bias[o] / double(scales.back()));
      steps.push_back(int32_t(std::fmin(std::fmax(step, -2.0 * kMaxBias + 1), 2.0 * kMaxBias - 1)));
    }
    const int64_t count = int64_t(bias.size());
    const std::string name = model_.values[size_t(layer.output)].name + "/bias";
    const ValueId whole =
        constant(name + "/steps", graph::make_constant(DType::kI32, {count}, steps.data()));
    const ValueId factor =
        constant(name + "/scales", graph::make_constant(DType::kF32, {count}, scales.data()));
    const ValueId made = model_.add_value(name);
    Node dequantize = node_of(op::DequantizeLinear, {whole, factor}, made, node);
    dequantize.attributes[attr::axis] = int64_t(0);
    inference_.add(std::move(dequantize));
    return inference_.resolve(made);
  }

  /// The Add behind a MatMul stays one, of floats: its constant takes the correction.
  void correct_added(Node& node, const Layer& layer) {
    const std::vector<double>& errors = errors_[&layer];
    if (errors.empty()) return;
    for (ValueId& id : node.inputs) {
      const Constant* bias = model_.constant(id);
      if (!bias || bias->elements() != layer.outputs) continue;
      std::vector<double> numbers = graph::read_numbers(*bias);
      for (size_t o = 0; o < numbers.size(); o++) numbers[o] -= errors[o];
      id = constant(model_.values[size_t(id)].name + "/corrected",
                    graph::make_floating(DType::kF32, bias->dims, numbers));
      return;
    }
  }

  Model& model_;
  const Sites& sites_;
  const Found& found_;
  const InsertOptions& options_;
  std::vector<graph::Unsupported> unsupported_;
  graph::IncrementalInference inference_;
  std::vector<Node> made_;
  std::map<size_t, const Layer*> layer_at_, tail_of_, last_of_;
  bool losses_ = false;
  std::set<size_t> on_bytes_;
  std::set<ValueId> bytes_, made_of_bytes_;
  std::map<ValueId, ValueId> instead_;
  std::map<const Layer*, std::vector<double>> errors_;
};

}  // namespace

void require_finite(const Constant& constant, const std::string& op, const std::string& name,
                    const char* what) {
  for (int64_t i = 0; i < constant.elements(); i++)
    if (!std::isfinite(constant.as<float>()[i]))
      graph::fail_unsupported(op + " '" + name + "': its " + what +
                              " have NaN or infinite numbers, which no byte stands for; "
                              "leave it in floating point with --keep-fp32 '" +
                              name + "'");
}

void add_outputs(Model& model, const Sites& sites) {
  std::set<ValueId> inputs;
  for (const Layer& layer : sites.layers) inputs.insert(layer.input);
  for (const ValueId id : sites.tensors) {
    if (sites.scaled_as(id) == id || inputs.count(id)) add_named_outputs(model, {id}, "calibrate");
  }
}

void add_named_outputs(Model& model, const std::vector<ValueId>& ids, const std::string& what) {
  for (const ValueId id : ids) {
    graph::Value port = model.values[size_t(id)];
    port.name = what + ":" + std::to_string(id);
    model.values.push_back(std::move(port));
    const ValueId made = ValueId(model.values.size()) - 1;
    Node same;
    same.op = op::Identity;
    same.name = model.values[size_t(made)].name;
    same.inputs = {id};
    same.outputs = {made};
    model.graph.nodes.push_back(std::move(same));
    model.graph.outputs.push_back(made);
  }
}

std::vector<ValueId> find_last_outputs(const Model& model, const Sites& sites) {
  std::set<size_t> layers;
  for (const Layer& layer : sites.layers) layers.insert(layer.node);
  std::set<ValueId> leads;  // to a layer
  for (size_t i = model.graph.nodes.size(); i-- > 0;) {
    const Node& node = model.graph.nodes[i];
    const bool to_layer =
        layers.count(i) || std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](ValueId id) { return leads.count(id) != 0; });
    if (to_layer) leads.insert(node.inputs.begin(), node.inputs.end());
  }
  std::vector<ValueId> last;
  for (const Layer& layer : sites.layers) {
    const bool adds = std::all_of(layer.tail.begin(), layer.tail.end(), [&](size_t place) {
      return model.graph.nodes[place].op == op::Add;
    });
    if (adds && !leads.count(layer.output)) last.push_back(layer.output);
  }
  return last;
}

int64_t number_of_output(const std::string& name, const std::string& what) {
  if (name.rfind(what + ":", 0) != 0) return -1;
  return std::strtoll(name.c_str() + what.size() + 1, nullptr, 10);
}

void add_layer_losses(Model& model, const Sites& sites, const Found& found,
                      const InsertOptions& options) {
  Inserter(model, sites, found, options).run_beside();
}

void insert_quantization(Model& model, const Sites& sites, const Found& found,
                         const InsertOptions& options) {
  Inserter(model, sites, found, options).run();
}

}  // namespace ingot::quantize
