// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_reduce.cpp - reductions, argmax, softmax.
#include <numeric>

#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

Dims without(const Dims& dims, const std::vector<int64_t>& axes, bool keep) {
  Dims out;
  size_t next = 0;
  for (size_t i = 0; i < dims.size(); i++) {
    const bool gone = next < axes.size() && axes[next] == int64_t(i);
    if (gone) next++;
    if (!gone)
      out.push_back(dims[i]);
    else if (keep)
      out.push_back(1);
  }
  return out;
}

/// What a reduction over no axis makes of each element.
ValueId of_each(NodeContext& context) {
  const Operator op = context.node.op;
  const ValueId x = context.in(0);
  if (op == op::ReduceL1 || op == op::ReduceL2) return context.make(op::Abs, {x});
  if (op == op::ReduceSumSquare) return context.make(op::Mul, {x, x});
  if (op == op::ReduceLogSum) return context.make(op::Log, {x});
  return x;
}

void reduce(NodeContext& context) {
  std::vector<int64_t> axes = context.integers(attr::axes, 1).value_or(std::vector<int64_t>());
  if (axes.empty()) {
    if (context.node.integer(attr::noop_with_empty_axes, 0) != 0)
      return context.same(0, of_each(context));
    axes.resize(size_t(context.rank(0)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  axes = context.axes(axes, context.rank(0));
  const bool keep = context.node.integer(attr::keepdims, 1) != 0;
  context.drop_inputs_from(1);
  context.erase({attr::noop_with_empty_axes});
  if (axes.empty()) return context.same(0, of_each(context));  // a scalar
  context.node.attributes[attr::axes] = axes;
  context.node.attributes[attr::keepdims] = int64_t(keep);
  context.set(0, context.dtype(0), without(context.dims(0), axes, keep));
}

void arg_reduce(NodeContext& context) {
  const int64_t axis = context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  context.node.attributes[attr::axis] = axis;
  context.set(0, DType::kI64,
              without(context.dims(0), {axis}, context.node.integer(attr::keepdims, 1) != 0));
}

void softmax(NodeContext& context) {
  if (context.rank(0) == 0) context.corrupt("its input is a scalar");
  const int64_t rank = context.rank(0), given = context.node.integer(attr::axis, -1);
  // The flattening form allows axis == rank: then every row is one element.
  const bool flatten = context.node.integer(attr::flatten, 0) != 0;
  const int64_t axis = flatten && given == rank ? rank : context.axis(given, rank);
  if (flatten) {
    context.erase({attr::flatten});
    int64_t wide = -1, count = 0;  // dimensions from axis on that are not 1
    for (int64_t i = axis; i < rank; i++) {
      if (context.dims(0)[size_t(i)] == Dim(1)) continue;
      count++;
      wide = i;
    }
    if (count > 1 || axis == rank) {
      const Dims dims = context.dims(0);
      const Dim rows = product(Dims(dims.begin(), dims.begin() + axis)),
                columns = product(Dims(dims.begin() + axis, dims.end()));
      const ValueId flat = context.reshape(context.in(0), {rows, columns});
      const ValueId result = context.make(context.node.op, {flat}, {{attr::axis, int64_t(1)}});
      return context.same(0, context.reshape(result, dims));
    }
    context.node.attributes[attr::axis] = count == 0 ? rank - 1 : wide;
  } else {
    context.node.attributes[attr::axis] = axis;
  }
  context.set(0, context.dtype(0), context.dims(0));
}

/// 1 at the first largest element along the axis, 0 elsewhere.
void hard_max(NodeContext& context) {
  const bool flatten = context.node.integer(attr::flatten, 0) != 0;
  const Dims dims = context.dims(0);
  ValueId x = context.in(0);
  int64_t axis = context.axis(context.node.integer(attr::axis, -1), context.rank(0));
  if (flatten) {
    x = context.reshape(x, {product(Dims(dims.begin(), dims.begin() + axis)),
                            product(Dims(dims.begin() + axis, dims.end()))});
    axis = 1;
  }
  const Dims rows = context.run().value(x).dims;
  Dims along(rows.size(), Dim(1));
  along[size_t(axis)] = rows[size_t(axis)];
  const ValueId largest =
      context.make(op::ArgMax, {x}, {{attr::axis, axis}, {attr::keepdims, int64_t(1)}});
  const ValueId place = context.reshape(context.counting(rows[size_t(axis)]), along);
  const ValueId hot = context.cast(context.make(op::Equal, {place, largest}), context.dtype(0));
  context.same(0, context.reshape(hot, dims));
}

}  // namespace

void add_reduce_rules(InferTable& table) {
  for (size_t i = 1; i < kOperatorCount; i++)
    if (kReductions.has(Operator(i))) table[Operator(i)] = reduce;
  table[op::ArgMax] = arg_reduce;
  table[op::ArgMin] = arg_reduce;
  table[op::Softmax] = softmax;
  table[op::LogSoftmax] = softmax;
  table[op::Hardmax] = hard_max;
}

}  // namespace ingot::graph
