// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/quantize/equalize.h"

#include <algorithm>
#include <cmath>

#include "tools/graph/tensor_math.h"

namespace ingot::quantize {
namespace {

// The largest channel to the one in the middle, from which on bytes are short of steps.
constexpr double kUnbalanced = 4;
constexpr double kMaxFactor = 1e4;  // or its inverse: numbers stay far from the ends of f32

double median(std::vector<double> numbers) {
  std::nth_element(numbers.begin(), numbers.begin() + int64_t(numbers.size() / 2), numbers.end());
  return numbers[numbers.size() / 2];
}
/// Of channels through which something comes.
bool is_unbalanced(std::vector<double> numbers) {
  std::erase_if(numbers, [](double each) { return each <= 0; });
  if (numbers.empty()) return false;
  const double most = *std::max_element(numbers.begin(), numbers.end());
  return most > kUnbalanced * median(std::move(numbers));
}

bool is_depthwise(const Layer& layer, int64_t channels) {
  return layer.groups == channels && layer.outputs == channels;
}

/// The index of a weight along one dimension.
struct IndexAlong {
  int64_t count, inner;
  IndexAlong(size_t axis, const std::vector<int64_t>& dims) : count(dims[axis]), inner(1) {
    for (size_t d = axis + 1; d < dims.size(); d++) inner *= dims[d];
  }
  size_t operator()(int64_t i) const { return size_t(i / inner % count); }
};

/// The largest weight that reads each channel.
std::vector<double> largest_weights(const Layer& layer, const Constant& weights) {
  const IndexAlong input(size_t(1 - layer.axis), weights.dims);
  std::vector<double> largest(size_t(input.count), 0);
  for (int64_t i = 0; i < weights.elements(); i++) {
    double& most = largest[input(i)];
    most = std::max(most, std::fabs(double(weights.as<float>()[i])));
  }
  return largest;
}

/// No limits but Relu lie between: they would have to move with the channels.
bool scales_through(const Model& model, const Layer& layer) {
  return std::all_of(layer.tail.begin(), layer.tail.end(), [&](size_t place) {
    const graph::Operator op = model.graph.nodes[place].op;
    return op == op::Relu || op == op::Add;
  });
}

void reads(const graph::Graph& graph, std::map<ValueId, int>* count) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) (*count)[id]++;
    for (const auto& inner : node.subgraphs()) reads(*inner, count);
  }
  for (const ValueId id : graph.outputs) (*count)[id]++;
}

std::vector<double> factors_of(const std::vector<double>& held,
                               const std::vector<double>* weights) {
  std::vector<double> factors(held.size(), 1);
  const double most = *std::max_element(held.begin(), held.end());
  for (size_t c = 0; c < held.size(); c++) {
    const double read = weights ? (*weights)[c] : 1;
    if (held[c] <= 0 || read <= 0) continue;  // nothing comes through it
    // Weights of a depthwise convolution have a scale each and pay nothing.
    const double factor = weights ? std::sqrt(held[c] / read) : held[c] / most;
    factors[c] = std::clamp(factor, 1 / kMaxFactor, kMaxFactor);
  }
  return factors;
}

/// weights[i] times factor(i), in the place of the node's operand.
template <class Factor>
void scale_operand(Model& model, Node& node, size_t operand, Factor factor) {
  const Constant& old = *model.constant(node.inputs[operand]);
  std::vector<double> numbers = graph::read_numbers(old);
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] *= factor(int64_t(i));
  Constant made = graph::make_floating(DType::kF32, old.dims, numbers);
  const std::string name = model.values[size_t(node.inputs[operand])].name;
  node.inputs[operand] = model.add_constant(name, std::move(made));
}

}  // namespace

namespace {

std::set<ValueId> read_as_bytes(const Model& model, const Sites& sites) {
  std::set<ValueId> all;
  for (const Layer& layer : sites.layers) all.insert(layer.input);
  for (const size_t place : sites.steps)
    all.insert(model.graph.nodes[place].inputs.begin(), model.graph.nodes[place].inputs.end());
  return all;
}

}  // namespace

std::vector<Equalized> find_unbalanced(const Model& model, const Sites& sites,
                                       const std::map<ValueId, std::vector<double>>& largest) {
  std::map<ValueId, int> count;
  reads(model.graph, &count);
  // What steps and layers give is made of bytes.
  std::map<ValueId, const Layer*> made;
  for (const size_t place : sites.steps)
    for (const ValueId id : model.graph.nodes[place].outputs) made[id] = nullptr;
  for (const Layer& layer : sites.layers) made[layer.output] = &layer;
  for (const ValueId id : model.graph.inputs) made[id] = nullptr;
  std::vector<Equalized> pairs;
  for (const Layer& second : sites.layers) {
    const auto held = largest.find(second.input);
    if (held == largest.end()) continue;
    const auto maker = made.find(second.input);
    // Of an operator in floating point each reader has a division of its own.
    if (maker != made.end() && count[second.input] != 1) continue;
    const Layer* first = maker == made.end() ? nullptr : maker->second;
    if (maker != made.end() && (!first || !scales_through(model, *first))) continue;
    const int64_t channels = int64_t(held->second.size());
    if (first && first->outputs != channels) continue;
    const bool depthwise = is_depthwise(second, channels);
    if (!depthwise && second.groups != 1) continue;
    if (first && (first->op != op::Conv || second.op != op::Conv)) continue;
    std::vector<double> weights;
    if (!depthwise) weights = largest_weights(second, *model.constant(second.weights));
    if (int64_t(weights.size()) != channels && !depthwise) continue;
    if (!is_unbalanced(held->second) && (depthwise || !first || !is_unbalanced(weights))) continue;
    Equalized pair;
    if (first) pair.first = first->node, pair.axis = first->axis, pair.tail = first->tail;
    pair.second = second.node;
    pair.factors = factors_of(held->second, depthwise ? nullptr : &weights);
    pairs.push_back(std::move(pair));
  }
  const std::set<ValueId> on_bytes = read_as_bytes(model, sites);
  for (const Layer& first : sites.layers) {
    const auto held = largest.find(first.output);
    if (held == largest.end() || first.gives_floats || on_bytes.count(first.output) ||
        !scales_through(model, first) || int64_t(held->second.size()) != first.outputs ||
        !is_unbalanced(held->second))
      continue;
    pairs.push_back(
        {first.node, Equalized::kNone, factors_of(held->second, nullptr), first.axis, first.tail});
  }
  return pairs;
}

namespace {

/// The weights of the node that reads the channels.
void scale_reader(Model& model, Node& reader, const std::vector<double>& factors) {
  const std::vector<int64_t> dims = model.constant(reader.inputs[1])->dims;
  const bool is_conv = reader.op == op::Conv;
  if (is_conv && dims[1] != int64_t(factors.size())) {  // depthwise
    const int64_t taps = model.constant(reader.inputs[1])->elements() / dims[0];
    return scale_operand(model, reader, 1, [&](int64_t i) { return factors[size_t(i / taps)]; });
  }
  const bool inputs_last = is_conv || (reader.op == op::Gemm && reader.integer(attr::transB, 0));
  const IndexAlong input(inputs_last ? 1 : 0, dims);
  scale_operand(model, reader, 1, [&](int64_t i) { return factors[input(i)]; });
}

void scale_maker(Model& model, const Equalized& pair) {
  Node& maker = model.graph.nodes[pair.first];
  const std::vector<double>& factors = pair.factors;
  const IndexAlong output(size_t(pair.axis), model.constant(maker.inputs[1])->dims);
  scale_operand(model, maker, 1, [&](int64_t i) { return 1 / factors[output(i)]; });
  const auto each = [&](int64_t i) { return 1 / factors[size_t(i)]; };
  if (maker.inputs.size() > 2 && maker.inputs[2] >= 0) scale_operand(model, maker, 2, each);
  for (const size_t place : pair.tail)  // the bias of a MatMul
    for (size_t i = 0; i < model.graph.nodes[place].inputs.size(); i++)
      if (model.constant(model.graph.nodes[place].inputs[i]))
        scale_operand(model, model.graph.nodes[place], i, each);
}

/// One number for each channel, dimension 1 of images, else the last.
ValueId channel_numbers(Model& model, const std::string& name, const std::vector<double>& numbers,
                        size_t behind) {
  std::vector<int64_t> dims = {int64_t(numbers.size())};
  dims.insert(dims.end(), behind, 1);
  return model.add_constant(name, graph::make_floating(DType::kF32, dims, numbers));
}
size_t dims_behind(const Model& model, const Node& node, ValueId x) {
  return node.op == op::Conv ? model.values[size_t(x)].dims.size() - 2 : 0;
}

/// Behind `last` of a layer: its channels multiplied, under the same value.
Node product(Model& model, const Node& layer, Node& last, const std::vector<double>& factors) {
  const ValueId y = last.outputs[0];
  graph::Value even = model.values[size_t(y)];
  even.name += "/even";
  const ValueId by =
      channel_numbers(model, even.name + "/factors", factors, dims_behind(model, layer, y));
  model.values.push_back(std::move(even));
  last.outputs[0] = ValueId(model.values.size()) - 1;
  Node made;
  made.op = op::Mul;
  made.name = last.name;
  made.sources = last.sources;
  made.inputs = {last.outputs[0], by};
  made.outputs = {y};
  return made;
}

/// In front of `reader`: its input divided channel by channel.
Node division(Model& model, Node& reader, const std::vector<double>& factors) {
  graph::Value even = model.values[size_t(reader.inputs[0])];
  std::vector<double> inverse;
  for (const double factor : factors) inverse.push_back(1 / factor);
  const std::string name = even.name + "/even";
  const ValueId by = channel_numbers(model, name + "/factors", inverse,
                                     dims_behind(model, reader, reader.inputs[0]));
  even.name = name;
  model.values.push_back(std::move(even));
  Node made;
  made.op = op::Mul;
  made.name = reader.name;
  made.sources = reader.sources;
  made.inputs = {reader.inputs[0], by};
  made.outputs = {ValueId(model.values.size()) - 1};
  reader.inputs[0] = made.outputs[0];
  return made;
}

}  // namespace

void equalize(Model& model, const std::vector<Equalized>& pairs) {
  std::map<size_t, Node> before, after;  // by the node beside which they stand
  for (const Equalized& pair : pairs) {
    std::vector<Node>& nodes = model.graph.nodes;
    if (pair.second != Equalized::kNone) scale_reader(model, nodes[pair.second], pair.factors);
    if (pair.first != Equalized::kNone) scale_maker(model, pair);
    if (pair.first == Equalized::kNone)
      before[pair.second] = division(model, nodes[pair.second], pair.factors);
    if (pair.second == Equalized::kNone) {
      const size_t last = pair.tail.empty() ? pair.first : pair.tail.back();
      after[last] = product(model, nodes[pair.first], nodes[last], pair.factors);
    }
  }
  std::vector<Node> all;
  for (size_t i = 0; i < model.graph.nodes.size(); i++) {
    if (const auto at = before.find(i); at != before.end()) all.push_back(std::move(at->second));
    all.push_back(std::move(model.graph.nodes[i]));
    if (const auto at = after.find(i); at != after.end()) all.push_back(std::move(at->second));
  }
  model.graph.nodes = std::move(all);
}

}  // namespace ingot::quantize
