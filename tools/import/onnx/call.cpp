// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/call.cpp - attributes by type, outputs on demand, refusals with all that a
// reader needs to find the node.
#include "tools/import/onnx/call.h"

#include "tools/import/onnx/no_effect.h"

namespace ingot::onnx {
namespace {

const char* type_name(int32_t type) {
  static const char* const kNames[] = {
      "nothing", "FLOAT",   "INT",     "STRING", "TENSOR",        "GRAPH",          "FLOATS",
      "INTS",    "STRINGS", "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO"};
  return type >= 0 && type < int32_t(std::size(kNames)) ? kNames[type] : "an unknown type";
}

}  // namespace

Call::Call(Translator& translator, Scope& scope, const Node& node, int64_t opset)
    : translator_(translator), scope_(scope), node_(node), opset_(opset) {
  for (const Text name : node.inputs) {
    const std::optional<ValueId> id = name.empty() ? kAbsent : scope.find(name);
    if (!id)
      translator.corrupt(describe(node) + " reads '" + std::string(name) +
                         "', which nothing makes");
    inputs_.push_back(*id);
  }
  while (!inputs_.empty() && inputs_.back() == kAbsent) inputs_.pop_back();
  source_ = uint32_t(translator.model.source_nodes.size());
  std::string output;
  for (const Text name : node.outputs) {
    if (output.empty()) output = std::string(name);
  }
  translator.model.source_nodes.push_back({std::string(node.name), std::string(node.op), output});
  for (const ValueId id : inputs_) {
    const auto left_out = translator.training_only.find(id);
    if (left_out != translator.training_only.end()) {
      refuse("", "reads '" + translator.model.values[size_t(id)].name + "': " + left_out->second,
             "export in evaluation mode");
    }
  }
}

const Attribute* Call::attribute(AttributeText key, int32_t type) {
  known_.insert(key.text);
  for (const Attribute& found : node_.attributes) {
    if (found.name != key.text) continue;
    const Attribute* attribute = &found;
    if (!found.reference.empty()) {
      if (!scope_.arguments)
        translator_.corrupt(describe(node_) + ": attribute '" + std::string(key.text) +
                            "' refers to an argument of a function, and it stands in none");
      if (!scope_.arguments->count(found.reference)) return nullptr;
      attribute = scope_.arguments->at(found.reference);
    }
    // An empty list is written without a type by some exporters; a value without one is ambiguous.
    if (attribute->type == kAttributeUndefined) {
      const bool list =
          type == kAttributeInts || type == kAttributeFloats || type == kAttributeStrings;
      if (!list || !attribute->ints.empty() || !attribute->floats.empty() ||
          !attribute->strings.empty())
        translator_.corrupt(describe(node_) + ": attribute '" + std::string(key.text) +
                            "' has no type, expected " + type_name(type));
      return nullptr;
    }
    if (attribute->type != type) {
      translator_.corrupt(describe(node_) + ": attribute '" + std::string(key.text) + "' is " +
                          type_name(attribute->type) + ", expected " + type_name(type));
    }
    const bool hollow = (type == kAttributeTensor && !attribute->tensor) ||
                        (type == kAttributeGraph && !attribute->graph) ||
                        (type == kAttributeSparse && !attribute->sparse);
    if (hollow)
      translator_.corrupt(describe(node_) + ": attribute '" + std::string(key.text) +
                          "' holds no " + type_name(type));
    return attribute;
  }
  return nullptr;
}
int64_t Call::integer(AttributeText key, int64_t otherwise) {
  const Attribute* found = attribute(key, kAttributeInt);
  return found ? found->i : otherwise;
}
double Call::number(AttributeText key, double otherwise) {
  const Attribute* found = attribute(key, kAttributeFloat);
  return found ? double(found->f) : otherwise;
}
std::string Call::text(AttributeText key, const std::string& otherwise) {
  const Attribute* found = attribute(key, kAttributeString);
  return found ? std::string(found->s) : otherwise;
}
std::optional<std::vector<int64_t>> Call::integers(AttributeText key) {
  const Attribute* found = attribute(key, kAttributeInts);
  if (!found) return std::nullopt;
  return found->ints;
}
std::optional<std::vector<double>> Call::numbers(AttributeText key) {
  const Attribute* found = attribute(key, kAttributeFloats);
  if (!found) return std::nullopt;
  return std::vector<double>(found->floats.begin(), found->floats.end());
}
std::vector<std::string> Call::texts(AttributeText key) {
  const Attribute* found = attribute(key, kAttributeStrings);
  if (!found) return {};
  return {found->strings.begin(), found->strings.end()};
}

ValueId Call::output(size_t i) {
  if (!wants(i)) return kAbsent;
  const auto found = outputs_.find(i);
  if (found != outputs_.end()) return found->second;
  const Text name = node_.outputs[i];
  const ValueId id = translator_.model.add_value(scope_.prefix + std::string(name));
  scope_.names[name] = id;
  outputs_[i] = id;
  return id;
}
std::vector<ValueId> Call::outputs() {
  std::vector<ValueId> all;
  for (size_t i = 0; i < node_.outputs.size(); i++) all.push_back(output(i));
  while (!all.empty() && all.back() == kAbsent) all.pop_back();
  return all;
}

graph::Node& Call::emit(graph::Operator op, std::vector<ValueId> inputs,
                        std::vector<ValueId> outputs) {
  graph::Node made;
  made.op = op;
  made.name = scope_.prefix + std::string(node_.name);
  while (!inputs.empty() && inputs.back() == kAbsent) inputs.pop_back();
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  made.sources = {source_};
  scope_.graph->nodes.push_back(std::move(made));
  return scope_.graph->nodes.back();
}
ValueId Call::temporary(const std::string& suffix) {
  std::string base;
  for (const Text name : node_.outputs) {
    if (base.empty()) base = std::string(name);
  }
  return translator_.model.add_value(scope_.prefix + base + "/" + suffix);
}
void Call::alias(size_t output, ValueId value) {
  if (wants(output)) scope_.names[node_.outputs[output]] = value;
}
void Call::leave_out(size_t output_index, const std::string& why) {
  if (wants(output_index)) translator_.training_only[output(output_index)] = why;
}
void Call::make_constant(size_t output, graph::Constant constant, int32_t element_type) {
  if (!wants(output)) return;
  const std::string name = scope_.prefix + std::string(node_.outputs[output]);
  const ValueId id = translator_.model.add_constant(name, std::move(constant));
  scope_.names[node_.outputs[output]] = id;
  translator_.note_type(id, element_type);
}

void Call::refuse(const std::string& attribute, const std::string& why, const std::string& hint) {
  refused_ = true;
  const graph::SourceNode& source = translator_.model.source_nodes[source_];
  translator_.unsupported.push_back({source.op, attribute, source.name, source.output, why, hint});
}
void Call::note(const std::string& sentence) {
  std::vector<std::string>& notes = translator_.model.notes;
  for (const std::string& said : notes) {
    if (said == sentence) return;
  }
  notes.push_back(sentence);
}
void Call::refuse_unknown_attributes() {
  std::set<Text> names;
  for (const Attribute& attribute : node_.attributes)
    if (!names.insert(attribute.name).second)
      translator_.corrupt(describe(node_) + ": attribute '" + std::string(attribute.name) +
                          "' stands twice");
  for (const Attribute& attribute : node_.attributes) {
    if (known_.count(attribute.name) || no_effect(node_.op, attribute.name)) continue;
    refuse(std::string(attribute.name),
           "the attribute is not known for this operator in opset " + std::to_string(opset_));
  }
}
void Call::expect_inputs(size_t lowest, size_t highest) {
  bool good = inputs_.size() >= lowest && inputs_.size() <= highest;
  const size_t present = highest == SIZE_MAX ? inputs_.size() : lowest;  // of a list, all
  for (size_t i = 0; good && i < present; i++) good = inputs_[i] != kAbsent;
  if (good) return;
  std::string range = std::to_string(lowest);
  if (highest == SIZE_MAX)
    range += " or more";
  else if (lowest != highest)
    range += " to " + std::to_string(highest);
  translator_.corrupt(describe(node_) + ": has " + std::to_string(inputs_.size()) +
                      " inputs, expected " + range +
                      (inputs_.size() >= lowest ? ", none of them missing" : ""));
}

const TranslateTable& translate_table() {
  static const TranslateTable kTable = [] {
    TranslateTable table;
    add_elementwise(table);
    add_shape(table);
    add_movement(table);
    add_quantize(table);
    add_quantized(table);
    add_conv(table);
    add_matmul(table);
    add_normalize(table);
    add_recurrent(table);
    add_control(table);
    add_declared(table);
    add_simplified_norm(table);
    return table;
  }();
  return kTable;
}

}  // namespace ingot::onnx
