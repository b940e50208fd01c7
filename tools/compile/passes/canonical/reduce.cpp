// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/elementwise.h"

namespace ingot::passes {
namespace {

const std::map<graph::Operator, const char*> kKinds = {
    {op::ReduceSum, "sum"},        {op::ReduceMean, "mean"},
    {op::ReduceMax, "max"},        {op::ReduceMin, "min"},
    {op::ReduceProd, "prod"},      {op::ReduceL1, "l1"},
    {op::ReduceL2, "l2"},          {op::ReduceSumSquare, "sum_square"},
    {op::ReduceLogSum, "log_sum"}, {op::ReduceLogSumExp, "log_sum_exp"}};

// The reduced dimensions stay, with extent 1, so that layouts can be followed through; a Reshape
// drops them where asked.
void keep_dims(Editor& e, Node& node, const Integers& axes, graph::Operator op,
               Attributes attributes) {
  Dims dims = e.dims(node.inputs[0]);
  for (int64_t axis : axes) dims[size_t(axis)] = Dim(1);
  ValueId out = node.outputs[0];
  e.kill(node);
  if (same(dims, e.dims(out))) {
    e.add(op, {node.inputs[0]}, {out}, node, std::move(attributes));
    return;
  }
  ValueId kept =
      e.emit(op, {node.inputs[0]}, e.value(out).dtype, dims, node, std::move(attributes));
  e.add(op::Reshape, {kept}, {out}, node);
}

void reduce(Canonical& c, Node& node) {
  Integers axes = node.integers(attr::axes);
  if (axes.empty()) return c.refuse(node, "axes", "a reduction over no dimension");
  int64_t mask = 0;
  for (int64_t axis : axes) mask |= int64_t(1) << axis;
  keep_dims(c.editor, node, axes, op::Reduce,
            {{attr::kind, std::string(kKinds.at(node.op))}, {attr::axes, mask}});
}

void arg_reduce(Canonical& c, Node& node) {
  int64_t axis = node.integer(attr::axis, 0);
  Attributes a = {{attr::largest, int64_t(node.op == op::ArgMax)},
                  {attr::axis, axis},
                  {attr::select_last, node.integer(attr::select_last_index, 0)}};
  keep_dims(c.editor, node, {axis}, op::ArgReduce, std::move(a));
}

/// No kernel has a softmax of doubles; its steps have kernels.
void softmax_of_doubles(Editor& e, Node& node) {
  const ValueId x = node.inputs[0], out = node.outputs[0];
  const int64_t axis = node.integer(attr::axis, 0);
  const bool is_log = node.op == op::LogSoftmax;
  const Dims dims = e.dims(x);
  Dims kept = dims;
  kept[size_t(axis)] = Dim(1);
  const auto fold = [&](const char* kind, ValueId from) {
    return e.emit(op::Reduce, {from}, DType::kF64, kept, node,
                  {{attr::kind, std::string(kind)}, {attr::axes, int64_t(1) << axis}});
  };
  const auto step = [&](Op op, const std::vector<ValueId>& from, const Dims& shape) {
    return e.emit(op::Elementwise, from, DType::kF64, shape, node,
                  elementwise({{op, 0, from.size() > 1 ? 1 : 0}}, "f64"));
  };
  e.kill(node);
  const ValueId shifted = step(Op::kSub, {x, fold("max", x)}, dims),
                power = step(Op::kExp, {shifted}, dims);
  const ValueId sum = fold("sum", power);
  const std::vector<ValueId> last = is_log
                                        ? std::vector<ValueId>{shifted, step(Op::kLog, {sum}, kept)}
                                        : std::vector<ValueId>{power, sum};
  e.add(op::Elementwise, last, {out}, node,
        elementwise({{is_log ? Op::kSub : Op::kDiv, 0, 1}}, "f64"));
}

void softmax(Canonical& c, Node& node) {
  if (c.editor.value(node.inputs[0]).dtype == DType::kF64)
    return softmax_of_doubles(c.editor, node);
  node.attributes = {{attr::axis, node.integer(attr::axis, 0)},
                     {attr::log, int64_t(node.op == op::LogSoftmax)}};
  node.op = op::Softmax;
}

}  // namespace

void add_reduce_rules(Rules& rules) {
  for (auto& [name, kind] : kKinds) rules[name] = reduce;
  rules[op::ArgMax] = rules[op::ArgMin] = arg_reduce;
  rules[op::Softmax] = rules[op::LogSoftmax] = softmax;
}

}  // namespace ingot::passes
