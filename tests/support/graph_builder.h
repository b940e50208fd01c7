// SPDX-License-Identifier: Apache-2.0
// tests/support/graph_builder.h - small graphs for tests of passes: built node by node, evaluated
// as they are built, so that dims need be given only where an operator reads them from its output.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/graph_evaluator.h"
#include "tools/compile/passes/common/editor.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/pipeline.h"

namespace ingot::test {

using graph::ValueId;

class GraphBuilder {
 public:
  graph::Model model;

  ValueId input(const std::string& name, const Dimensions& dims, DType dtype = DType::kF32) {
    ValueId id = typed(name, dtype, dims);
    model.graph.inputs.push_back(id);
    inputs_[name] = random(dims, dtype);
    return id;
  }
  /// Random numbers in [-1, 1).
  ValueId weights(const Dimensions& dims) { return constant(dims, random(dims, DType::kF32).at); }
  /// Random numbers in [0.5, 1.5): scales and variances.
  ValueId positive(const Dimensions& dims) {
    std::vector<double> all = random(dims, DType::kF32).at;
    for (double& x : all) x = 1 + x / 2;
    return constant(dims, all);
  }
  ValueId number(double x) { return constant({}, {x}); }
  ValueId constant(const Dimensions& dims, const std::vector<double>& all) {
    std::vector<float> narrow(all.begin(), all.end());
    return add_constant(graph::make_constant(DType::kF32, dims, narrow.data()));
  }
  ValueId indices(const Dimensions& dims, const std::vector<int64_t>& all) {
    return add_constant(graph::make_constant(DType::kI64, dims, all.data()));
  }

  /// One output. `dims` where the operator's output says how much; `dtype` where it is not that of
  /// the first operand.
  ValueId node(graph::Operator op, std::vector<ValueId> operands,
               passes::Attributes attributes = {}, const Dimensions& dims = {},
               DType dtype = DType::kInvalid) {
    return nodes(op, std::move(operands), std::move(attributes), {dims}, dtype)[0];
  }
  std::vector<ValueId> nodes(graph::Operator op, std::vector<ValueId> operands,
                             passes::Attributes attributes, const std::vector<Dimensions>& dims,
                             DType dtype = DType::kInvalid) {
    graph::Node made;
    made.op = op;
    made.name = text(op) + "_" + std::to_string(model.graph.nodes.size());
    made.inputs = std::move(operands);
    made.attributes = std::move(attributes);
    made.sources = {uint32_t(model.source_nodes.size())};
    for (const Dimensions& each : dims) {
      ValueId id = model.add_value(
          made.name + "_out" + std::to_string(made.outputs.size()),
          dtype == DType::kInvalid ? model.values[size_t(made.inputs[0])].dtype : dtype);
      if (!each.empty()) declare(id, each);
      made.outputs.push_back(id);
    }
    model.source_nodes.push_back({made.name, text(op), model.values[size_t(made.outputs[0])].name});
    model.graph.nodes.push_back(made);
    Evaluator evaluator = evaluated();
    for (ValueId id : made.outputs) declare(id, evaluator.get(id).dims);
    return made.outputs;
  }
  void output(ValueId id) { model.graph.outputs.push_back(id); }

  /// Outputs for the random inputs, by name.
  std::map<std::string, Tensor> outputs() {
    Evaluator evaluator = evaluated();
    std::map<std::string, Tensor> result;
    for (ValueId id : model.graph.outputs)
      result[model.values[size_t(id)].name] = evaluator.get(id);
    return result;
  }
  Tensor& input_tensor(const std::string& name) { return inputs_.at(name); }

  size_t count(const std::string& op) const {
    size_t n = 0;
    for (const graph::Node& node : model.graph.nodes) n += graph::text(node.op) == op;
    return n;
  }
  const graph::Node* find(const std::string& op) const {
    for (const graph::Node& node : model.graph.nodes)
      if (graph::text(node.op) == op) return &node;
    return nullptr;
  }
  std::string listing() const {
    std::string text;
    for (const graph::Node& node : model.graph.nodes) text += graph::text(node.op) + " ";
    return text;
  }

 private:
  ValueId typed(const std::string& name, DType dtype, const Dimensions& dims) {
    ValueId id = model.add_value(name, dtype);
    declare(id, dims);
    return id;
  }
  void declare(ValueId id, const Dimensions& dims) {
    model.values[size_t(id)].dims = graph::Dims(dims.begin(), dims.end());
    model.values[size_t(id)].shape_known = true;
  }
  ValueId add_constant(graph::Constant c) {
    Dimensions dims = c.dims;
    DType dtype = c.dtype;
    ValueId id = model.add_constant("c" + std::to_string(model.values.size()), std::move(c));
    model.values[size_t(id)].dtype = dtype;
    declare(id, dims);
    return id;
  }
  Tensor random(const Dimensions& dims, DType dtype) {
    Tensor t{dims, {}};
    for (int64_t i = 0; i < t.elements(); i++) {
      seed_ = seed_ * 6364136223846793005ull + 1442695040888963407ull;
      double x = double(int64_t(seed_ >> 40)) / double(1 << 23) - 1;  // exact in a float
      t.at.push_back(dtype == DType::kF32    ? x
                     : dtype == DType::kBool ? double(x > 0)
                                             : std::floor(x * 8));
    }
    return t;
  }
  Evaluator evaluated() {
    Evaluator evaluator(model);
    for (ValueId id : model.graph.inputs) {
      const std::string& name = model.values[size_t(id)].name;
      if (inputs_.count(name)) evaluator.set(id, inputs_.at(name));
    }
    evaluator.run(model.graph);
    return evaluator;
  }
  std::map<std::string, Tensor> inputs_;
  uint64_t seed_ = 1;
};

/// Largest difference relative to max(1, |expected|); infinite when dims or names differ. Equal
/// infinities and NaNs are equal.
inline double difference(const std::map<std::string, Tensor>& expected,
                         const std::map<std::string, Tensor>& found) {
  double worst = 0;
  for (auto& [name, want] : expected) {
    auto at = found.find(name);
    if (at == found.end() || at->second.dims != want.dims) return INFINITY;
    for (size_t i = 0; i < want.at.size(); i++) {
      double a = want.at[i], b = at->second.at[i];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      double d = std::fabs(a - b) / std::max(1.0, std::fabs(a));
      worst = std::isnan(d) ? INFINITY : std::max(worst, d);
    }
  }
  return worst;
}

/// Runs all passes; says in `worst` how far the outputs moved.
inline std::vector<passes::PassRecord> convert_and_compare(
    GraphBuilder& g, double& worst, const passes::PassOptions& options = {}) {
  std::map<std::string, Tensor> before = g.outputs();
  std::vector<passes::PassRecord> records = passes::run_passes(g.model, options);
  worst = difference(before, g.outputs());
  return records;
}

}  // namespace ingot::test
