// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_control.cpp - If, Loop, Scan. Their graphs see the names around it and
// share the one table of values.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

/// A graph inside an attribute. Its inputs become values that the operator's rule gives types.
std::shared_ptr<graph::Graph> inner_graph(Call& call, const char* name) {
  const Attribute* attribute = call.attribute(name, kAttributeGraph);
  if (!attribute || !attribute->graph)
    call.translator().corrupt(describe(call.node()) + ": lacks its " + name);
  auto made = std::make_shared<graph::Graph>();
  made->name = std::string(attribute->graph->name);
  Scope inner;
  inner.parent = &call.scope();
  inner.graph = made.get();
  inner.opsets = call.scope().opsets;
  inner.arguments = call.scope().arguments;
  inner.prefix = call.scope().prefix;
  inner.depth = call.scope().depth;
  for (const ValueInfo& input : attribute->graph->inputs) {
    const ValueId id = call.translator().model.add_value(inner.prefix + std::string(input.name));
    if (!inner.names.emplace(input.name, id).second)
      call.translator().corrupt("input '" + std::string(input.name) + "' of " + name +
                                " is listed twice");
    made->inputs.push_back(id);
  }
  call.translator().translate_graph(*attribute->graph, inner);
  return made;
}

std::shared_ptr<graph::Graph> branch(Call& call, const char* name) {
  auto made = inner_graph(call, name);
  if (!made->inputs.empty())
    call.translator().corrupt("graph '" + made->name + "' of an If has inputs, expected none");
  if (made->outputs.size() != call.output_count()) {
    call.translator().corrupt(describe(call.node()) + ": " + name + " has " +
                              std::to_string(made->outputs.size()) + " outputs, the node has " +
                              std::to_string(call.output_count()));
  }
  return made;
}

void if_then_else(Call& call) {
  auto then_branch = branch(call, "then_branch"), else_branch = branch(call, "else_branch");
  graph::Node& made = call.emit(op::If);
  made.outputs.resize(call.output_count(), kAbsent);
  made.attributes[attr::then_branch] = std::move(then_branch);
  made.attributes[attr::else_branch] = std::move(else_branch);
}

void loop(Call& call) {
  auto body = inner_graph(call, "body");
  graph::Node& made = call.emit(op::Loop);
  made.outputs.resize(call.output_count(), kAbsent);
  made.attributes[attr::body] = std::move(body);
}

void scan(Call& call) {
  if (call.opset() < 9)
    return call.refuse("", "Scan of opset 8 has a batch axis and lengths",
                       "convert it with onnx.version_converter");
  auto body = inner_graph(call, "body");
  const int64_t sequences = call.integer("num_scan_inputs", 0);
  graph::Attributes lists;
  for (const auto key : {attr::scan_input_axes, attr::scan_input_directions, attr::scan_output_axes,
                         attr::scan_output_directions})
    lists[key] = call.integers(key).value_or(std::vector<int64_t>());
  graph::Node& made = call.emit(op::Scan);
  made.outputs.resize(call.output_count(), kAbsent);
  made.attributes = std::move(lists);
  made.attributes[attr::num_scan_inputs] = sequences;
  made.attributes[attr::body] = std::move(body);
}

}  // namespace

void add_control(TranslateTable& table) {
  table["If"] = {1, 1, if_then_else};
  table["Loop"] = loop;
  table["Scan"] = scan;
}

}  // namespace ingot::onnx
