// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/common/source_order.h"

#include <optional>

namespace ingot::passes {
namespace {

using graph::Dims;
using graph::Value;
using Order = std::vector<int64_t>;

bool is_single(const graph::Dim& dim) { return dim.value() == std::optional<int64_t>(1); }

Dims without_ones(const Dims& dims) {
  Dims all;
  for (const graph::Dim& dim : dims)
    if (!is_single(dim)) all.push_back(dim);
  return all;
}

/// The order of `dims` that has the same elements one after another as a value of dims `known`,
/// where that can be said.
std::optional<Order> reshaped(const Dims& known, const Order& order, const Dims& dims) {
  if (without_ones(known) != without_ones(dims)) return std::nullopt;
  Order found;
  size_t k = 0;
  for (const graph::Dim& dim : dims) {
    if (is_single(dim)) {
      found.push_back(-1);
      continue;
    }
    while (is_single(known[k])) k++;
    found.push_back(order[k++]);
  }
  return found;
}

void hold(Value* value, graph::ValueId source, Order order) {
  value->source = source;
  value->order = std::move(order);
}

}  // namespace

void begin_source_orders(graph::Model& model) {
  for (size_t i = 0; i < model.values.size(); i++) {
    Value& value = model.values[i];
    if (!value.shape_known || value.constant) continue;
    Order order;
    for (size_t k = 0; k < value.dims.size(); k++) order.push_back(int64_t(k));
    hold(&value, graph::ValueId(i), std::move(order));
  }
}

void relate_to_source(graph::Model& model, const graph::Node& node) {
  const bool is_transpose = node.op == op::Transpose;
  if ((!is_transpose && node.op != op::Reshape) || node.inputs.empty() ||
      node.outputs.size() != 1 || node.inputs[0] < 0 || node.outputs[0] < 0)
    return;
  Value &x = model.values[size_t(node.inputs[0])], &y = model.values[size_t(node.outputs[0])];
  const bool forward = x.source >= 0;
  if (forward == (y.source >= 0) || !x.shape_known || !y.shape_known || x.constant || y.constant)
    return;
  Value &known = forward ? x : y, &other = forward ? y : x;
  if (!is_transpose) {
    if (auto order = reshaped(known.dims, known.order, other.dims))
      hold(&other, known.source, std::move(*order));
    return;
  }
  const std::vector<int64_t> perm = node.integers(attr::perm);
  if (perm.size() != known.order.size()) return;
  Order order(perm.size());
  for (size_t k = 0; k < perm.size(); k++) {
    const size_t of_x = size_t(perm[k]);
    order[forward ? k : of_x] = known.order[forward ? of_x : k];
  }
  hold(&other, known.source, std::move(order));
}

}  // namespace ingot::passes
