// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_loss.cpp - losses, which some networks keep as an output: the negative
// log likelihood of a class, and the cross entropy of a softmax.
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;

/// -weight[target] * x[n, target, ...], with the weights of what was not left out.
class LogLikelihood {
 public:
  LogLikelihood(NodeContext& s, ValueId x) : context(s), x_(x), dims_(s.run().value(x).dims) {}

  ValueId run() {
    const Dims target = context.dims(1);
    if (dims_.size() < 2 || target.size() + 1 != dims_.size())
      context.corrupt("its scores are " + text(dims_) + ", its classes " + text(target) +
                      ", expected [N, C, ...] and [N, ...]");
    const std::string reduction = context.node.text(attr::reduction, "mean");
    if (reduction != "none" && reduction != "sum" && reduction != "mean")
      context.refuse("reduction", "'" + reduction + "', known are none, sum and mean");
    ValueId classes = context.cast(context.in(1), DType::kI64), kept = kAbsent;
    if (context.node.has(attr::ignore_index)) {
      const ValueId left_out =
          context.scalar(DType::kI64, double(context.node.integer(attr::ignore_index, 0)));
      kept = context.make(op::Not, {context.make(op::Equal, {classes, left_out})});
      classes = context.make(op::Where, {kept, classes, context.scalar(DType::kI64, 0)});
    }
    const ValueId weights = weights_of(classes, kept);
    const ValueId picked = context.make(op::Neg, {picked_of(classes, target)});
    const ValueId loss = weights == kAbsent ? picked : context.make(op::Mul, {picked, weights});
    if (reduction == "none") return loss;
    if (reduction == "mean" && weights == kAbsent) return over_all(op::ReduceMean, loss);
    const ValueId sum = over_all(op::ReduceSum, loss);
    return reduction == "sum" ? sum
                              : context.make(op::Div, {sum, over_all(op::ReduceSum, weights)});
  }

 private:
  ValueId over_all(Operator op, ValueId x) {
    Integers axes;
    for (size_t i = 0; i < context.run().value(x).dims.size(); i++) axes.push_back(int64_t(i));
    return context.make(op, {x}, {{attr::axes, axes}, {attr::keepdims, int64_t(0)}});
  }
  ValueId weights_of(ValueId classes, ValueId kept) {
    const DType dtype = context.run().value(x_).dtype;
    if (!context.has(2)) return kept == kAbsent ? kAbsent : context.cast(kept, dtype);
    const ValueId each =
        context.make(op::Gather, {context.in(2), classes}, {{attr::axis, int64_t(0)}});
    if (kept == kAbsent) return each;
    return context.make(op::Where, {kept, each, context.scalar(dtype, 0)});
  }
  ValueId picked_of(ValueId classes, const Dims& target) {
    Dim rest(1);
    for (size_t i = 2; i < dims_.size(); i++) rest = rest * dims_[i];
    const ValueId flat = context.reshape(x_, {dims_[0], dims_[1], rest}),
                  at = context.reshape(classes, {dims_[0], Dim(1), rest});
    const ValueId found = context.make(op::GatherElements, {flat, at}, {{attr::axis, int64_t(1)}});
    return context.reshape(found, target);
  }

  NodeContext& context;
  const ValueId x_;
  const Dims dims_;
};

void negative_log_likelihood(NodeContext& context) {
  context.same(0, LogLikelihood(context, context.in(0)).run());
}
void softmax_cross_entropy(NodeContext& context) {
  const ValueId logs = context.make(op::LogSoftmax, {context.in(0)}, {{attr::axis, int64_t(1)}});
  context.same(0, LogLikelihood(context, logs).run());
  context.same(1, logs);
}

}  // namespace

void add_loss_rules(InferTable& table) {
  table[op::NegativeLogLikelihoodLoss] = negative_log_likelihood;
  table[op::SoftmaxCrossEntropyLoss] = softmax_cross_entropy;
}

}  // namespace ingot::graph
