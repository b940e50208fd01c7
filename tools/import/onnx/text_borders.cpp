// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/text_borders.cpp - see text_borders.h.
#include "tools/import/onnx/text_borders.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace ingot::onnx {
namespace {

bool has_attribute(const Node& node, const char* name) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [&](const Attribute& a) { return a.name == name; });
}
bool has_text_tensor(const Node& node, const char* name) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const Attribute& a) {
    return a.name == name && a.tensor && a.tensor->data_type == kString;
  });
}
/// What keeps the type of what it reads.
bool moves(const Node& node) {
  static const std::set<Text> kMovement = {
      "Identity", "Reshape",   "Squeeze", "Unsqueeze", "Flatten",
      "Concat",   "Transpose", "Slice",   "Split",     "Gather",
      "Where",    "Expand",    "Tile",    "ScatterND", "ArrayFeatureExtractor",
      "GatherND", "Pad",       "Compress"};
  return kMovement.count(node.op) > 0;
}
/// Whether its first output is text.
bool makes_text(const Node& node, bool reads_text) {
  if (node.op == "LabelEncoder")
    return has_attribute(node, "values_strings") || has_text_tensor(node, "values_tensor");
  if (node.op == "CategoryMapper") return !reads_text;
  if (node.op == "Constant")
    return has_attribute(node, "value_string") || has_attribute(node, "value_strings") ||
           has_text_tensor(node, "value");
  if (node.op == "Cast")
    return std::any_of(node.attributes.begin(), node.attributes.end(),
                       [](const Attribute& a) { return a.name == "to" && a.i == kString; });
  return node.op.substr(0, 6) == "String" || (reads_text && moves(node));
}

std::string list_of(const std::vector<Text>& names) {
  std::string out = "[";
  for (const Text name : names) out += (out.size() > 1 ? ", '" : "'") + std::string(name) + "'";
  return out + "]";
}
void add_once(Text name, std::vector<Text>* names) {
  if (!name.empty() && std::find(names->begin(), names->end(), name) == names->end())
    names->push_back(name);
}

}  // namespace

std::optional<graph::Unsupported> text_to_cut(const Graph& graph) {
  std::set<Text> texts, constants;
  std::vector<Text> fed, kept, operators;
  const ValueInfo* border = nullptr;
  bool is_input = true;
  for (const Tensor& tensor : graph.initializers) {
    constants.insert(tensor.name);
    if (tensor.data_type == kString) texts.insert(tensor.name);
  }
  for (const ValueInfo& input : graph.inputs) {
    if (constants.count(input.name)) continue;
    if (input.element_type != kString) {
      add_once(input.name, &fed);
      continue;
    }
    texts.insert(input.name);
    if (!border) border = &input;
  }
  for (const Node& node : graph.nodes) {
    const auto is_text = [&](Text name) { return texts.count(name) > 0; };
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), is_text);
    const bool makes = makes_text(node, reads);
    if (node.op == "Constant" && !node.outputs.empty()) constants.insert(node.outputs[0]);
    for (size_t i = 0; i < node.outputs.size(); i++)
      if (makes && (i == 0 || node.op == "Split"))
        texts.insert(node.outputs[i]);
      else if (reads)
        add_once(node.outputs[i], &fed);  // numbers made of text: where the rest begins
    for (const Text name : node.inputs)
      if (makes && !is_text(name) && !constants.count(name)) add_once(name, &kept);
    if ((reads || makes) && node.op != "Constant" && !moves(node)) add_once(node.op, &operators);
  }
  for (const ValueInfo& output : graph.outputs) {
    if (!texts.count(output.name) && output.element_type != kString) {
      add_once(output.name, &kept);
      continue;
    }
    if (!border) border = &output, is_input = false;
  }
  if (!border) return std::nullopt;
  std::string done;
  for (const Text op : operators) done += (done.empty() ? "" : ", ") + std::string(op);
  const std::string rest = done.empty() ? "" : "; what " + done + " did is the caller's";
  const std::string cut = fed.empty() || kept.empty()
                              ? "nothing of it computes with numbers alone"
                              : "cut it off: onnx.utils.extract_model(MODEL, CUT, " + list_of(fed) +
                                    ", " + list_of(kept) + ")" + rest;
  return graph::Unsupported{is_input ? "input" : "output",
                            "",
                            "",
                            std::string(border->name),
                            "is text (STRING), and programs have numbers alone",
                            cut};
}

}  // namespace ingot::onnx
