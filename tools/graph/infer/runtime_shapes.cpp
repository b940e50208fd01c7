// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/runtime_shapes.cpp - symbolic dims that feed computation. There is no Shape at
// run time: a dim n is the sum of n ones.
#include <algorithm>

#include "tools/graph/infer/infer_shapes.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

ValueId append(Model& model, std::vector<Node>& to, const Node& like, Operator op,
               std::vector<ValueId> inputs, Dims dims, Attributes attributes) {
  Node node;
  node.op = op;
  node.name = like.name;
  node.sources = like.sources;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  const ValueId out = model.add_value(model.values[size_t(like.outputs[0])].name + "/" + text(op) +
                                          std::to_string(model.values.size()),
                                      DType::kI64);
  model.values[size_t(out)].dims = std::move(dims);
  model.values[size_t(out)].shape_known = true;
  node.outputs = {out};
  to.push_back(std::move(node));
  return out;
}

void lower_shape(Model& model, const Node& shape, std::vector<Node>& to) {
  const Dims dims = model.values[size_t(shape.inputs[0])].dims;
  const int64_t one = 1;
  std::vector<ValueId> parts;
  for (int64_t i = shape.integer(attr::start, 0);
       i < shape.integer(attr::end, int64_t(dims.size())); i++) {
    const Dim& d = dims[size_t(i)];
    if (const auto n = d.value()) {
      const int64_t number = *n;
      parts.push_back(model.add_constant("extent" + std::to_string(model.values.size()),
                                         make_constant(DType::kI64, {1}, &number)));
      continue;
    }
    const ValueId unit = model.add_constant("one" + std::to_string(model.values.size()),
                                            make_constant(DType::kI64, {1}, &one));
    const ValueId ones = append(model, to, shape, op::Expand, {unit}, {d}, {});
    parts.push_back(append(model, to, shape, op::ReduceSum, {ones}, {1},
                           {{attr::axes, std::vector<int64_t>{0}}, {attr::keepdims, int64_t(1)}}));
  }
  Node join;
  join.op = parts.size() == 1 ? op::Identity : op::Concat;
  join.name = shape.name;
  join.sources = shape.sources;
  join.inputs = parts;
  join.outputs = shape.outputs;
  if (parts.size() > 1) join.attributes[attr::axis] = int64_t(0);
  to.push_back(std::move(join));
}

void lower_graph(Model& model, Graph& graph) {
  std::vector<Node> old = std::move(graph.nodes), made;
  for (Node& node : old) {
    for (const auto& inner : node.subgraphs()) lower_graph(model, *inner);
    if (node.op == op::Shape)
      lower_shape(model, node, made);
    else
      made.push_back(std::move(node));
  }
  graph.nodes = std::move(made);
}

}  // namespace

void lower_runtime_shapes(Model& model) { lower_graph(model, model.graph); }

}  // namespace ingot::graph
