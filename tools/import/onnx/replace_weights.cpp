// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/replace_weights.cpp - what an overlay is told of the graph, and what it did
// taken into the graph.
#include "tools/import/onnx/separate_weights.h"
#include "tools/import/onnx/translator.h"

namespace ingot::onnx {
namespace {

const Attribute* attribute(const Node& node, Text name, int32_t type) {
  for (const Attribute& a : node.attributes)
    if (a.name == name && a.type == type) return &a;
  return nullptr;
}

/// By name of a value: the only node that reads it; null where several do.
std::unordered_map<Text, const Node*> only_readers(const std::vector<Node>& nodes) {
  std::unordered_map<Text, const Node*> readers;
  for (const Node& node : nodes) {
    for (const Text name : node.inputs) {
      const auto [found, added] = readers.emplace(name, &node);
      if (!added && found->second != &node) found->second = nullptr;
    }
  }
  return readers;
}

}  // namespace

void Translator::replace_weights(SeparatedWeights& separated, Scope& scope) {
  graph::WeightSites sites;
  std::set<ValueId> weights;
  const auto add = [&](ValueId id) {
    if (!model.constant(id) || !weights.insert(id).second) return;
    sites.initializers.push_back(id);
  };
  for (const Tensor& tensor : source_.graph.initializers) add(scope.names[tensor.name]);
  for (const SeparatedWeights::Alias& alias : separated.aliases) {
    const ValueId of = scope.names[alias.of];
    const graph::Constant* constant = model.constant(of);
    if (!constant) {
      scope.names[alias.name] = of;
      continue;
    }
    const graph::Constant same = *constant;
    const ValueId id = scope.names[alias.name] = model.add_constant(std::string(alias.name), same);
    if (!alias.named) sites.copies[id] = of;
    add(id);
  }
  // one for each count of channels, since they share their bytes
  std::map<int64_t, graph::Constant> zeros;
  for (const SeparatedWeights::Bias& bias : separated.biases) {
    auto zero = zeros.find(bias.channels);
    if (zero == zeros.end()) {
      const std::vector<float> numbers(size_t(bias.channels), 0);
      zero = zeros
                 .emplace(bias.channels,
                          graph::make_constant(DType::kF32, {bias.channels}, numbers.data()))
                 .first;
    }
    const ValueId id = model.add_constant(std::string(bias.name), zero->second);
    scope.names[bias.name] = id;
    sites.zeros.insert(id);
    add(id);
  }
  const auto readers = only_readers(separated.nodes);
  const auto weight_of = [&](Text name) {
    const auto found = scope.names.find(name);
    return !name.empty() && found != scope.names.end() && weights.count(found->second)
               ? found->second
               : kAbsent;
  };
  for (const Node& node : separated.nodes) {
    graph::WeightReader reader;
    bool reads = false;
    for (const Text name : node.inputs) {
      reader.operands.push_back(weight_of(name));
      reads |= reader.operands.back() != kAbsent;
    }
    if (!reads) continue;
    reader.op = graph::find_operator(node.op);
    reader.node = std::string(node.name);
    reader.module = module_of(node);
    const auto integer = [&](Text name, int64_t otherwise) {
      const Attribute* a = attribute(node, name, kAttributeInt);
      return a ? a->i : otherwise;
    };
    reader.group = integer("group", 1);
    reader.hidden = integer("hidden_size", 0);
    reader.flipped = integer("transB", 0) != 0;
    if (const Attribute* direction = attribute(node, "direction", kAttributeString))
      reader.direction = std::string(direction->s);
    const auto next = node.outputs.empty() ? readers.end() : readers.find(node.outputs[0]);
    if (node.op == "MatMul" && next != readers.end() && next->second && next->second->op == "Add")
      for (const Text name : next->second->inputs)
        if (reader.added == kAbsent) reader.added = weight_of(name);
    sites.readers.push_back(std::move(reader));
  }
  options_.replace_weights(model, sites);
  // still the zeros: the node goes on without
  for (const SeparatedWeights::Bias& bias : separated.biases)
    if (model.constant(scope.names[bias.name])->bytes == zeros.at(bias.channels).bytes)
      separated.nodes[bias.node].inputs.pop_back();
}

}  // namespace ingot::onnx
