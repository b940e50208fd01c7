// tools/onnx/import_control.cpp - If. Its branches see the names around it and share the one table of values.
#include "tools/onnx/call.h"

namespace ingot::onnx {
namespace {

std::shared_ptr<graph::Graph> branch(Call& call, const char* name) {
  const Attribute* attribute = call.attribute(name, kAttributeGraph);
  if (!attribute || !attribute->graph) call.translator().corrupt(describe(call.node()) + ": lacks its " + name);
  auto made = std::make_shared<graph::Graph>();
  made->name = std::string(attribute->graph->name);
  Scope inner;
  inner.parent = &call.scope();
  inner.graph = made.get();
  inner.opsets = call.scope().opsets;
  inner.arguments = call.scope().arguments;
  inner.prefix = call.scope().prefix;
  inner.depth = call.scope().depth;
  call.translator().translate_graph(*attribute->graph, inner);
  if (made->outputs.size() != call.output_count()) {
    call.translator().corrupt(describe(call.node()) + ": " + name + " has " + std::to_string(made->outputs.size()) +
                              " outputs, the node has " + std::to_string(call.output_count()));
  }
  return made;
}

void if_then_else(Call& call) {
  call.expect_inputs(1, 1);
  auto then_branch = branch(call, "then_branch"), else_branch = branch(call, "else_branch");
  graph::Node& made = call.emit("If");
  made.outputs.resize(call.output_count(), kAbsent);
  made.attributes["then_branch"] = std::move(then_branch);
  made.attributes["else_branch"] = std::move(else_branch);
}

}  // namespace

void add_control(TranslateTable& table) { table["If"] = if_then_else; }

}  // namespace ingot::onnx
