// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/translator.cpp - graphs, scopes, functions; the operators are in
// import_<family>.cpp.
#include "tools/import/onnx/translator.h"

#include <algorithm>
#include <memory>

#include "tools/import/onnx/call.h"
#include "tools/import/onnx/narrow.h"
#include "tools/import/onnx/refused_operators.h"
#include "tools/import/onnx/separate_weights.h"
#include "tools/plugins/plugins.h"

namespace ingot::onnx {
namespace {

constexpr size_t kMaxNodes = 1u << 18;  // after inlining: calls of calls can make many of few
constexpr int kMaxCallDepth = 32;

bool is_default_domain(Text domain) { return domain.empty() || domain == "ai.onnx"; }
Text domain_key(Text domain) { return is_default_domain(domain) ? Text() : domain; }

std::string first_output(const Node& node) {
  for (const Text name : node.outputs) {
    if (!name.empty()) return std::string(name);
  }
  return "";
}
graph::Unsupported unsupported_node(const Node& node, std::string why, std::string hint) {
  graph::Unsupported out;
  out.op = is_default_domain(node.domain) ? std::string(node.op)
                                          : std::string(node.domain) + "." + std::string(node.op);
  out.node = std::string(node.name);
  out.output = first_output(node);
  out.why = std::move(why);
  out.hint = std::move(hint);
  return out;
}

}  // namespace

graph::Model Translator::run() {
  model.name = std::string(source_.graph.name);
  model.source_format = "onnx";
  model.max_elements = options_.max_elements;
  model.source_producer = std::string(source_.producer_name);
  if (!source_.producer_version.empty())
    model.source_producer += " " + std::string(source_.producer_version);
  for (const Entry& entry : source_.metadata)
    model.metadata[std::string(entry.key)] = std::string(entry.value);
  Scope scope;
  scope.graph = &model.graph;
  for (const OpsetImport& import : source_.opsets)
    scope.opsets[domain_key(import.domain)] = import.version;
  model.graph.name = model.name;
  const auto opset = scope.opsets.find("");
  if (opset != scope.opsets.end() &&
      (opset->second < kOldestOpset || opset->second > kNewestOpset)) {
    unsupported.push_back({"opset_import", "", "", "",
                           "opset " + std::to_string(opset->second) + ", supported are " +
                               std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset),
                           "convert it with onnx.version_converter"});
    return std::move(model);
  }
  declare_initializers(source_.graph, scope);
  std::unique_ptr<SeparatedWeights> separated;
  if (options_.replace_weights) {
    separated = std::make_unique<SeparatedWeights>(source_.graph);
    replace_weights(*separated, scope);
  }
  declare_inputs(source_.graph, scope);
  check_options();
  translate_nodes(separated ? separated->nodes : source_.graph.nodes, scope);
  declare_outputs(source_.graph, scope);
  return std::move(model);
}

void Translator::translate_graph(const Graph& source, Scope& scope) {
  declare_initializers(source, scope);
  translate_nodes(source.nodes, scope);
  declare_outputs(source, scope);
}

void Translator::note_type(ValueId id, int32_t element_type) {
  if (narrow_type(element_type)) narrow_types[id] = element_type;
}

void Translator::declare_initializers(const Graph& source, Scope& scope) {
  const auto declare = [&](const Tensor& tensor, auto&& read) {
    const std::string name(tensor.name);
    if (name.empty()) corrupt("an initializer has no name");
    if (scope.names.count(tensor.name))
      corrupt("initializer '" + name + "' is given twice; names must be made once");
    try {
      const ValueId id = model.add_constant(scope.prefix + name, read(name));
      scope.names[tensor.name] = id;
      note_type(id, tensor.data_type);
    } catch (const TensorRefused& refused) {
      unsupported.push_back({"initializer", "", "", name, refused.why, ""});
      scope.names[tensor.name] = model.add_value(scope.prefix + name);
    }
  };
  for (const Tensor& tensor : source.initializers) {
    declare(tensor, [&](const std::string& name) { return read_tensor(tensor, name, &external_); });
  }
  for (const SparseTensor& sparse : source.sparse_initializers) {
    declare(sparse.values,
            [&](const std::string& name) { return read_sparse(sparse, name, &external_); });
  }
}

void Translator::translate_nodes(const std::vector<Node>& nodes, Scope& scope) {
  const std::string where =
      name_ + (scope.graph->name.empty() ? "" : ": graph '" + scope.graph->name + "'");
  for (const size_t i : run_order(nodes, scope, where)) translate_node(nodes[i], scope);
}

const Function* Translator::find_function(const Node& node) const {
  for (const Function& function : source_.functions) {
    if (function.name == node.op && domain_key(function.domain) == domain_key(node.domain) &&
        function.overload == node.overload) {
      return &function;
    }
  }
  return nullptr;
}

void Translator::translate_node(const Node& node, Scope& scope) {
  if (++node_count_ > kMaxNodes)
    corrupt("more than " + std::to_string(kMaxNodes) + " nodes when its functions are inlined");
  const auto poison_outputs = [&] {
    for (const Text name : node.outputs) {
      if (!name.empty() && !scope.names.count(name))
        scope.names[name] = model.add_value(scope.prefix + std::string(name));
    }
  };
  const auto translate = [&](const Translation& by, int64_t version) {
    Call call(*this, scope, node, version);
    by(call);
    if (!call.refused()) call.refuse_unknown_attributes();
    poison_outputs();
  };
  const bool is_ours = is_default_domain(node.domain) && translate_table().count(node.op);
  if (!is_ours && plugins::find(node.domain, node.op))
    return translate(import_custom, kNewestOpset);
  if (const Function* function = find_function(node)) {
    inline_function(*function, node, scope);
    return poison_outputs();
  }
  const auto opset = scope.opsets.find(domain_key(node.domain));
  if (node.domain == "com.microsoft") {
    if (const auto known = microsoft_table().find(node.op); known != microsoft_table().end())
      return translate(known->second, kNewestOpset);
  }
  if (node.domain == "ai.onnx.ml") {
    if (const auto known = ml_table().find(node.op); known != ml_table().end())
      return translate(known->second, kNewestOpset);
  }
  if (node.domain == "ai.onnx.preview") {
    if (const auto known = preview_table().find(node.op); known != preview_table().end())
      return translate(known->second, kNewestOpset);
  }
  if (!is_default_domain(node.domain)) {
    unsupported.push_back(unsupported_node(
        node, "the operator is not supported",
        node.domain == "com.microsoft"
            ? "export the model without an optimizer that fuses operators for one runtime; those "
              "of "
              "com.microsoft that are supported: ingot operators"
            : "export with standard ONNX operators, or give a library that has it with --plugin"));
    return poison_outputs();
  }
  if (opset == scope.opsets.end())
    corrupt(describe(node) + ": the model imports no opset for the default domain");
  if (opset->second < kOldestOpset || opset->second > kNewestOpset) {
    unsupported.push_back(unsupported_node(node,
                                           "opset " + std::to_string(opset->second) +
                                               ", supported are " + std::to_string(kOldestOpset) +
                                               " to " + std::to_string(kNewestOpset),
                                           "convert it with onnx.version_converter"));
    return poison_outputs();
  }
  const auto handler = translate_table().find(node.op);
  if (handler == translate_table().end()) {
    const RefusedOperator refused = refused_operator(node.op);
    unsupported.push_back(unsupported_node(node, refused.why, refused.hint));
    return poison_outputs();
  }
  translate(handler->second, opset->second);
}

void Translator::inline_function(const Function& function, const Node& node, Scope& scope) {
  if (scope.depth >= kMaxCallDepth) {
    corrupt("function '" + std::string(function.name) + "' calls itself or nests deeper than " +
            std::to_string(kMaxCallDepth));
  }
  Scope inner;
  inner.graph = scope.graph;
  inner.depth = scope.depth + 1;
  inner.prefix =
      scope.prefix + (node.name.empty() ? first_output(node) : std::string(node.name)) + "/";
  for (const OpsetImport& import : function.opsets)
    inner.opsets[domain_key(import.domain)] = import.version;
  for (const auto& [domain, version] : scope.opsets) inner.opsets.emplace(domain, version);
  std::map<Text, const Attribute*> arguments;
  for (const Attribute& attribute : function.defaults) arguments[attribute.name] = &attribute;
  for (const Attribute& attribute : node.attributes) {
    const bool declared =
        arguments.count(attribute.name) ||
        std::count(function.attributes.begin(), function.attributes.end(), attribute.name);
    if (!declared) {
      unsupported.push_back({std::string(node.op), std::string(attribute.name),
                             std::string(node.name), first_output(node),
                             "the function of the model has no such attribute", ""});
      continue;
    }
    const Attribute* given = &attribute;
    if (!attribute.reference.empty()) {
      if (!scope.arguments || !scope.arguments->count(attribute.reference)) continue;
      given = scope.arguments->at(attribute.reference);
    }
    arguments[attribute.name] = given;
  }
  inner.arguments = &arguments;
  if (node.inputs.size() > function.inputs.size()) {
    corrupt(describe(node) + ": passes " + std::to_string(node.inputs.size()) +
            " inputs to a function of " + std::to_string(function.inputs.size()));
  }
  for (size_t i = 0; i < function.inputs.size(); i++) {
    const Text given = i < node.inputs.size() ? node.inputs[i] : Text();
    inner.names[function.inputs[i]] = given.empty() ? kAbsent : *scope.find(given);
  }
  translate_nodes(function.nodes, inner);
  for (size_t i = 0; i < node.outputs.size(); i++) {
    if (node.outputs[i].empty()) continue;
    if (i >= function.outputs.size())
      corrupt(describe(node) + ": takes more outputs than its function has");
    const std::optional<ValueId> value = inner.find(function.outputs[i]);
    if (!value || *value < 0)
      corrupt("function '" + std::string(function.name) + "' does not make its output '" +
              std::string(function.outputs[i]) + "'");
    scope.names[node.outputs[i]] = *value;
  }
}

void Translator::declare_outputs(const Graph& source, Scope& scope) {
  std::set<ValueId> taken(scope.graph->inputs.begin(), scope.graph->inputs.end());
  std::set<Text> names;
  std::set<std::string> ports;
  for (const ValueInfo& info : source.outputs) {
    const std::optional<ValueId> value = scope.find(info.name);
    if (!value)
      corrupt("output '" + std::string(info.name) + "' of graph '" + std::string(source.name) +
              "' is made by no node");
    // Listed twice: given twice, the second time under a name of its own.
    const bool repeated = !names.insert(info.name).second;
    std::string port(info.name);
    for (int count = 1; repeated && (scope.find(port) || !ports.insert(port).second); count++)
      port = std::string(info.name) + "_" + std::to_string(count);
    // what a body gives is its node's to judge
    if (scope.parent == nullptr && !info.kind.empty() && !info.is_tensor &&
        !plain_ports.count(*value)) {
      unsupported.push_back({"output", "", "", std::string(info.name),
                             "is a " + std::string(info.kind) + ", only tensors are supported",
                             ""});
    }
    ValueId id = *value;
    if (scope.parent == nullptr && info.is_tensor && narrow_type(info.element_type))
      note_narrow_port(id, info);
    if (training_only.count(id))
      unsupported.push_back({"output", "", "", std::string(info.name), training_only.at(id),
                             "export in evaluation mode"});
    // A name that another value carries (of an Identity or Dropout that went away) must survive as
    // a port.
    const bool own = !taken.count(id) && !model.constant(id) && scope.names.count(info.name);
    if (scope.parent == nullptr && !repeated && model.values[size_t(id)].name != info.name) {
      const bool renamed = own && std::none_of(source.outputs.begin(), source.outputs.end(),
                                               [&](const ValueInfo& other) {
                                                 return other.name == model.values[size_t(id)].name;
                                               });
      if (renamed) model.values[size_t(id)].name = std::string(info.name);
    }
    if (repeated ||
        (scope.parent == nullptr && (!own || model.values[size_t(id)].name != info.name))) {
      graph::Node copy;
      copy.op = op::Identity;
      copy.name = port;
      copy.inputs = {id};
      id = model.add_value(port);
      copy.outputs = {id};
      scope.graph->nodes.push_back(std::move(copy));
    }
    taken.insert(id);
    scope.graph->outputs.push_back(id);
  }
  if (scope.parent == nullptr && source.outputs.empty()) corrupt("the graph has no outputs");
}

}  // namespace ingot::onnx
