// SPDX-License-Identifier: Apache-2.0
// The editor's questions about ports cost nothing that grows with their number, and values know
// which tensor of the source they hold.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"

using namespace ingot;
using namespace ingot::test;
using Integers = std::vector<int64_t>;

TEST_CASE("editor: a graph with many outputs is edited without walking them for every node") {
  constexpr size_t kOutputs = 5000;
  graph::Model model;
  const ValueId x = model.add_value("x", DType::kF32);
  model.graph.inputs.push_back(x);
  for (size_t i = 0; i < kOutputs; i++) {
    graph::Node node;
    node.op = op::Relu, node.name = "n" + std::to_string(i);
    node.inputs = {x}, node.outputs = {model.add_value(node.name, DType::kF32)};
    model.graph.outputs.push_back(node.outputs[0]);
    model.graph.nodes.push_back(node);
    node.op = op::Identity, node.inputs = node.outputs;
    node.outputs = {model.add_value(node.name + "/same", DType::kF32)};
    model.graph.nodes.push_back(node);
  }
  for (graph::Value& value : model.values) value.dims = {2, 3}, value.shape_known = true;
  passes::Editor e(model, model.graph);
  size_t outputs = 0, bypassed = 0;
  for (passes::Node* node : e.nodes()) {
    outputs += e.is_output(node->outputs[0]);
    if (node->op == op::Identity) bypassed += e.bypass(*node, node->inputs[0]);
  }
  CHECK(outputs == kOutputs);
  CHECK(bypassed == kOutputs);
  CHECK(e.ports_walked() == kOutputs + 1);  // once, when it was opened
}

TEST_CASE(
    "editor: an output that becomes another value is no output any more, each place for itself") {
  graph::Model model;
  const ValueId x = model.add_value("x"), y = model.add_value("y"), z = model.add_value("z");
  model.graph.inputs = {x};
  model.graph.outputs = {y, z, y};
  passes::Editor e(model, model.graph);
  e.set_graph_output(0, z);
  CHECK(e.is_output(y));
  CHECK(e.is_output(z));
  e.set_graph_output(2, x);
  CHECK(!e.is_output(y));
  CHECK(e.is_output(x));
  CHECK(model.graph.outputs == std::vector<ValueId>{z, z, x});
  e.set_graph_input(0, y);
  CHECK(e.is_input(y));
  CHECK(!e.is_input(x));
}

TEST_CASE(
    "editor: transposes and reshapes that passes add say which tensor of the source a value "
    "holds") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 3, 5, 4});
  const ValueId y = g.node(op::Relu, {x});
  g.output(y);
  for (const bool forward : {true, false}) {
    CAPTURE(forward);
    graph::Model model = g.model;
    for (graph::Value& value : model.values) value.source = graph::kAbsent;
    model.values[size_t(y)].source = y;
    model.values[size_t(y)].order = {0, 1, 2, 3};
    passes::Editor e(model, model.graph);
    passes::Node* relu = e.producer(y);
    ValueId last = graph::kAbsent, row = graph::kAbsent;
    if (forward) {
      last = e.transpose(y, {0, 2, 3, 1}, *relu);
      row = e.reshape(last, {5, 1, 4, 3}, *relu);
    } else {
      last = e.new_value("last", DType::kF32, {1, 5, 4, 3});
      row = e.new_value("row", DType::kF32, {5, 1, 4, 3});
      e.add(op::Transpose, {last}, {y}, *relu, {{attr::perm, Integers{0, 3, 1, 2}}});
      e.add(op::Reshape, {row}, {last}, *relu);
    }
    CHECK(e.value(last).source == y);
    CHECK(e.value(last).order == Integers{0, 2, 3, 1});
    CHECK(e.value(row).source == y);
    CHECK(e.value(row).order == Integers{2, -1, 3, 1});
    const ValueId merged = e.reshape(last, {20, 3}, *relu);
    CHECK(e.value(merged).source == graph::kAbsent);
  }
}
