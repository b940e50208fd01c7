// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/stream/multiply_adds.h"

#include <map>
#include <string>

namespace ingot::convert {
namespace {

/// Dynamic dimensions, as that of a batch, count as 1.
double number(const graph::Dim& dim) {
  std::map<std::string, int64_t> ones;
  for (const std::string& symbol : dim.symbols()) ones[symbol] = 1;
  return double(dim.evaluate(ones));
}

struct NodeSizes {
  const graph::Model& model;
  const graph::Node& node;

  const graph::Dims& dims(size_t operand) const {
    return model.values[size_t(node.inputs[operand])].dims;
  }
  double elements(const graph::Dims& dims) const { return number(graph::product(dims)); }
  double operand(size_t i) const { return elements(dims(i)); }
  double output() const {
    for (const graph::ValueId id : node.outputs)
      if (id >= 0) return elements(model.values[size_t(id)].dims);
    return 0;
  }
  /// Elements of the weights for one index of their dimension `axis`.
  double weights_for_one(size_t axis) const {
    const double count = number(dims(1)[axis]);
    return count > 0 ? operand(1) / count : 0;
  }
};

double products_of(const NodeSizes& sizes) {
  const graph::Operator op = sizes.node.op;
  if (op == op::Conv || op == op::Linear || op == op::QuantizedConv2d ||
      op == op::QuantizedLinear || op == op::ConvInteger)
    return sizes.output() * sizes.weights_for_one(0);
  if (op == op::ConvTranspose) return sizes.operand(0) * sizes.weights_for_one(0);
  if (op == op::MatMul || op == op::Gemm || op == op::MatMulInteger) {
    const graph::Dims& a = sizes.dims(0);
    const bool transposed = op == op::Gemm && sizes.node.integer(attr::transA, 0) != 0;
    return a.empty() ? 0 : sizes.output() * number(a[transposed ? 0 : a.size() - 1]);
  }
  if (graph::kRecurrences.has(op)) {
    const graph::Dims& x = sizes.dims(0);
    return number(x[0] * x[1]) * (sizes.operand(1) + sizes.operand(2));
  }
  return 0;
}

}  // namespace

double multiply_adds(const graph::Model& model, const graph::Node& node) {
  return products_of(NodeSizes{model, node});
}

double multiply_adds(const graph::Model& model) {
  double all = 0;
  for (const graph::Node& node : model.graph.nodes)
    if (!node.dead) all += multiply_adds(model, node);
  return all;
}

}  // namespace ingot::convert
