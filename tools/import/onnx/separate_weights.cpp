// SPDX-License-Identifier: Apache-2.0
#include "tools/import/onnx/separate_weights.h"

#include <algorithm>

namespace ingot::onnx {
namespace {

bool is_plain(const Node& node) { return node.domain.empty() || node.domain == "ai.onnx"; }

bool is_floating(const Tensor& tensor) {
  return tensor.data_type == kFloat || tensor.data_type == kFloat16 ||
         tensor.data_type == kBfloat16 || tensor.data_type == kDouble;
}

const Attribute* attribute(const Node& node, Text name) {
  for (const Attribute& a : node.attributes)
    if (a.name == name) return &a;
  return nullptr;
}

/// Names that branches and bodies take from outside, or could.
void names_inside(const Node& node, std::set<Text>* out, int depth) {
  for (const Attribute& a : node.attributes) {
    if (!a.graph || depth > 64) continue;
    for (const Node& inner : a.graph->nodes) {
      out->insert(inner.inputs.begin(), inner.inputs.end());
      names_inside(inner, out, depth + 1);
    }
    for (const ValueInfo& output : a.graph->outputs) out->insert(output.name);
  }
}

/// Output channels that a bias of this node would have; 0: it takes none, or they are not known.
int64_t channels_of(const Node& node, const Tensor& weight) {
  const auto integer = [&](Text name, int64_t otherwise) {
    const Attribute* a = attribute(node, name);
    return a && a->type == kAttributeInt ? a->i : otherwise;
  };
  const std::vector<int64_t>& dims = weight.dims;
  int64_t channels = 0, elements = 1;
  if (node.op == "Conv" && dims.size() >= 3) channels = dims[0];
  if (node.op == "ConvTranspose" && dims.size() >= 3) {
    const int64_t group = integer("group", 1);
    if (group >= 1 && group <= dims[0] && dims[1] >= 0 && dims[1] < (int64_t(1) << 24))
      channels = group * dims[1];
  }
  if (node.op == "Gemm" && dims.size() == 2) channels = integer("transB", 0) ? dims[0] : dims[1];
  for (const int64_t d : dims) {  // a file that says more channels than it has numbers gets none
    if (d <= 0) return 0;
    if (elements < (int64_t(1) << 32)) elements *= std::min<int64_t>(d, int64_t(1) << 24);
  }
  return channels > 0 && channels <= elements && channels <= (int64_t(1) << 22) ? channels : 0;
}

}  // namespace

std::string module_of(const Node& node) {
  std::vector<std::string> parts;
  // "['', 'layer1', 'layer1.0', 'conv2d_3']": whole paths, the call itself last
  if (!node.module_scopes.empty()) {
    const Text text = node.module_scopes;
    for (size_t at = text.find('\''); at != Text::npos; at = text.find('\'', at + 1)) {
      const size_t end = text.find('\'', at + 1);
      if (end == Text::npos) break;
      parts.emplace_back(text.substr(at + 1, end - at - 1));
      at = end;
    }
    return parts.size() < 2 ? std::string() : parts[parts.size() - 2];
  }
  if (node.name.empty() || node.name[0] != '/') return "";
  for (size_t at = 1;
       // "/layer1/layer1.0/conv1/Conv": a container's part repeats the container's name
       at < node.name.size();) {
    const size_t end = node.name.find('/', at);
    if (end == Text::npos) break;
    const std::string part(node.name.substr(at, end - at));
    const bool of_container =
        !parts.empty() && part.compare(0, parts.back().size() + 1, parts.back() + ".") == 0;
    if (of_container)
      parts.back() = part;
    else
      parts.push_back(part);
    at = end + 1;
  }
  std::string module;
  for (const std::string& part : parts) module += (module.empty() ? "" : ".") + part;
  return module;
}

SeparatedWeights::SeparatedWeights(const Graph& graph) {
  for (const Tensor& tensor : graph.initializers) {
    taken_.insert(tensor.name);
    if (is_floating(tensor)) weights_.emplace(tensor.name, &tensor);
  }
  for (const SparseTensor& sparse : graph.sparse_initializers) taken_.insert(sparse.values.name);
  for (const ValueInfo& input : graph.inputs) taken_.insert(input.name);
  for (const Node& node : graph.nodes) taken_.insert(node.outputs.begin(), node.outputs.end());
  drop_identities(graph);
  split_shared();
  add_biases();
}

Text SeparatedWeights::own(std::string name) {
  while (taken_.count(Text(name))) name += "'";
  names_.push_back(std::move(name));
  taken_.insert(names_.back());
  return names_.back();
}

/// An Identity of a weight is that weight under another name; of an Identity of it too, whatever
/// their order in the file.
void SeparatedWeights::drop_identities(const Graph& graph) {
  std::set<Text> ports;
  for (const ValueInfo& output : graph.outputs) ports.insert(output.name);
  std::vector<bool> dropped(graph.nodes.size(), false);
  std::unordered_map<Text, std::vector<size_t>> readers;
  std::vector<Text> found;
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    const Node& node = graph.nodes[i];
    if (node.op == "Identity" && is_plain(node) && node.inputs.size() == 1 &&
        node.outputs.size() == 1 && !node.outputs[0].empty() && !ports.count(node.outputs[0]))
      readers[node.inputs[0]].push_back(i);
  }
  for (const Tensor& tensor : graph.initializers)
    if (weights_.count(tensor.name)) found.push_back(tensor.name);
  for (size_t k = 0; k < found.size(); k++) {
    const auto at = readers.find(found[k]);
    if (at == readers.end()) continue;
    for (const size_t i : at->second) {
      const Text name = graph.nodes[i].outputs[0];
      if (dropped[i] || weights_.count(name)) continue;
      dropped[i] = true;
      aliases.push_back({name, found[k], true});
      weights_.emplace(name, weights_.at(found[k]));
      found.push_back(name);
    }
  }
  for (size_t i = 0; i < graph.nodes.size(); i++)
    if (!dropped[i]) nodes.push_back(graph.nodes[i]);
}

/// The first reader keeps the initializer, each further one gets an alias. Branches and bodies see
/// the initializer.
void SeparatedWeights::split_shared() {
  std::set<Text> inside, read;
  for (const Node& node : nodes) names_inside(node, &inside, 0);
  for (Node& node : nodes) {
    for (Text& input : node.inputs) {
      const auto weight = weights_.find(input);
      if (weight == weights_.end() || weight->second->dims.empty()) continue;
      if (read.insert(input).second && !inside.count(input)) continue;
      const Text alias = own(std::string(input) + "'");
      aliases.push_back({alias, input, false});
      weights_.emplace(alias, weight->second);
      input = alias;
    }
  }
}

void SeparatedWeights::add_biases() {
  for (size_t i = 0; i < nodes.size(); i++) {
    Node& node = nodes[i];
    if (!is_plain(node) || node.inputs.size() < 2 ||
        (node.inputs.size() > 2 && !node.inputs[2].empty()))
      continue;
    const auto weight = weights_.find(node.inputs[1]);
    if (weight == weights_.end() || weight->second->data_type != kFloat) continue;
    const int64_t channels = channels_of(node, *weight->second);
    if (!channels) continue;
    const Text name = own("bias of " + std::string(node.inputs[1]));
    node.inputs.resize(2);
    node.inputs.push_back(name);
    biases.push_back({name, channels, i});
  }
}

}  // namespace ingot::onnx
