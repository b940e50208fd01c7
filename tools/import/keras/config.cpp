// SPDX-License-Identifier: Apache-2.0
#include "tools/import/keras/config.h"

#include "tools/graph/graph.h"

namespace ingot::keras {
namespace {

using graph::fail_corrupt;

const Json& member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object() || !object.contains(key))
    fail_corrupt(where, std::string("lacks '") + key + "'; the configuration is damaged");
  return object[key];
}
std::string text(const Json& object, const char* key, const std::string& where) {
  const Json& found = member(object, key, where);
  if (!found.is_string())
    fail_corrupt(where, std::string("'") + key + "' is no text; the configuration is damaged");
  return found.get<std::string>();
}

/// ["layer", 0, 0], with more behind it in Keras 2.
bool read_reference(const Json& at, Reference* out) {
  if (!at.is_array() || at.size() < 3 || !at[0].is_string() || !at[1].is_number_integer() ||
      !at[2].is_number_integer())
    return false;
  *out = {at[0].get<std::string>(), at[1].get<int64_t>(), at[2].get<int64_t>()};
  return true;
}
/// In lists, dicts of names, or alone.
void collect_references(const Json& at, std::vector<Reference>* out) {
  Reference one;
  if (read_reference(at, &one)) return out->push_back(one);
  if (at.is_structured())
    for (const Json& item : at) collect_references(item, out);
}

/// Keras 3: arguments as they were passed.
void collect_arguments(const Json& at, const std::string& name, Call* call) {
  if (at.is_number()) {
    call->number_first |= call->numbers.empty() && call->inputs.empty();
    call->has_fraction |= at.is_number_float();
    return call->numbers.push_back(at.get<double>());
  }
  if (at.is_string() || at == true) {
    call->arguments.emplace_back(name, at.dump());
    return;
  }
  if (at.is_object() && at.contains("class_name") && at["class_name"] == "__keras_tensor__") {
    const auto inner = at.find("config");
    Reference one;
    if (inner != at.end() && inner->is_object() && inner->contains("keras_history") &&
        read_reference((*inner)["keras_history"], &one))
      call->inputs.push_back(one);
    return;
  }
  if (at.is_structured())
    for (const Json& item : at) collect_arguments(item, name, call);
}
std::vector<Reference> tensors_of(const Json& at) {
  Call call;
  collect_arguments(at, "", &call);
  return call.inputs;
}

Call read_call(const Json& node, bool is_indexing) {
  Call call;
  if (node.is_object()) {
    const Json* arguments = node.contains("args") ? &node["args"] : nullptr;
    if (is_indexing && arguments && arguments->is_array() && arguments->size() == 2 &&
        tensors_of((*arguments)[1]).empty()) {
      call.index = (*arguments)[1];
      arguments = &(*arguments)[0];
    }
    if (arguments) collect_arguments(*arguments, "", &call);
    if (node.contains("kwargs") && node["kwargs"].is_object())
      for (const auto& [key, value] : node["kwargs"].items()) {
        if (key == "inputs" || key == "x1" || key == "x2" || key == "x")
          collect_arguments(value, key, &call);
        else if (std::vector<Reference> tensors = tensors_of(value); !tensors.empty())
          call.tensor_arguments.emplace_back(value.is_array() && key == "mask" ? "masks" : key,
                                             std::move(tensors));
        else if (!value.is_null() && value != false)
          call.arguments.emplace_back(key, value.dump());
      }
    return call;
  }
  collect_references(node, &call.inputs);  // Keras 2: [["layer", 0, 0, {arguments}], ...]
  if (!node.is_array()) return call;
  for (const Json& input : node) {
    if (!input.is_array() || input.size() < 4 || !input[3].is_object()) continue;
    for (const auto& [key, value] : input[3].items())
      if (value.is_array()) {
        std::vector<Reference> tensors;
        collect_references(value, &tensors);
        Reference one;
        call.tensor_arguments.emplace_back(
            key == "mask" && !read_reference(value, &one) ? "masks" : key, std::move(tensors));
      } else if (!value.is_null() && value != false) {
        call.arguments.emplace_back(key, value.dump());
      }
  }
  return call;
}

Layer read_layer(const Json& at, const std::string& where) {
  Layer layer;
  layer.kind = text(at, "class_name", where);
  layer.config = member(at, "config", where);
  if (!layer.config.is_object() && !layer.config.is_array())
    fail_corrupt(where, "a layer without a configuration");
  if (at.contains("module") && at["module"].is_string())
    layer.module = at["module"].get<std::string>();
  if (at.contains("name") && at["name"].is_string())
    layer.name = at["name"].get<std::string>();
  else if (layer.config.is_object() && layer.config.contains("name") &&
           layer.config["name"].is_string())
    layer.name = layer.config["name"].get<std::string>();
  if (at.contains("inbound_nodes") && at["inbound_nodes"].is_array())
    for (const Json& node : at["inbound_nodes"])
      layer.calls.push_back(read_call(node, layer.kind == "GetItem" || layer.kind == "Take"));
  return layer;
}

}  // namespace

Config read_config(const Json& model, const std::string& where) {
  Config out;
  const std::string kind = text(model, "class_name", where);
  const Json& config = member(model, "config", where);
  out.is_sequential = kind == "Sequential";
  if (kind != "Sequential" && kind != "Functional" && kind != "Model")
    throw graph::refusal(where, {{kind, "", "", "", "is a class of its own",
                                  "build it with the Functional interface, or export it to "
                                  "ONNX"}});
  const Json& layers =
      // the oldest Sequential is the list itself
      config.is_array() ? config : member(config, "layers", where);
  if (!layers.is_array()) fail_corrupt(where, "'layers' is no list; the configuration is damaged");
  if (config.is_object() && config.contains("name") && config["name"].is_string())
    out.name = config["name"].get<std::string>();
  for (const Json& layer : layers) out.layers.push_back(read_layer(layer, where));
  if (out.is_sequential) return out;
  collect_references(member(config, "input_layers", where), &out.inputs);
  collect_references(member(config, "output_layers", where), &out.outputs);
  return out;
}

}  // namespace ingot::keras
