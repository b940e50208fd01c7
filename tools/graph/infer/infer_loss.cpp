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
    const std::string reduction = context.node.text("reduction", "mean");
    if (reduction != "none" && reduction != "sum" && reduction != "mean")
      context.refuse("reduction", "'" + reduction + "', known are none, sum and mean");
    ValueId classes = context.cast(context.in(1), DType::kI64), kept = kAbsent;
    if (context.node.has("ignore_index")) {
      const ValueId left_out =
          context.scalar(DType::kI64, double(context.node.integer("ignore_index", 0)));
      kept = context.make("Not", {context.make("Equal", {classes, left_out})});
      classes = context.make("Where", {kept, classes, context.scalar(DType::kI64, 0)});
    }
    const ValueId weights = weights_of(classes, kept);
    const ValueId picked = context.make("Neg", {picked_of(classes, target)});
    const ValueId loss = weights == kAbsent ? picked : context.make("Mul", {picked, weights});
    if (reduction == "none") return loss;
    if (reduction == "mean" && weights == kAbsent) return over_all("ReduceMean", loss);
    const ValueId sum = over_all("ReduceSum", loss);
    return reduction == "sum" ? sum : context.make("Div", {sum, over_all("ReduceSum", weights)});
  }

 private:
  ValueId over_all(const char* op, ValueId x) {
    Integers axes;
    for (size_t i = 0; i < context.run().value(x).dims.size(); i++) axes.push_back(int64_t(i));
    return context.make(op, {x}, {{"axes", axes}, {"keepdims", int64_t(0)}});
  }
  ValueId weights_of(ValueId classes, ValueId kept) {
    const DType dtype = context.run().value(x_).dtype;
    if (!context.has(2)) return kept == kAbsent ? kAbsent : context.cast(kept, dtype);
    const ValueId each = context.make("Gather", {context.in(2), classes}, {{"axis", int64_t(0)}});
    if (kept == kAbsent) return each;
    return context.make("Where", {kept, each, context.scalar(dtype, 0)});
  }
  ValueId picked_of(ValueId classes, const Dims& target) {
    Dim rest(1);
    for (size_t i = 2; i < dims_.size(); i++) rest = rest * dims_[i];
    const ValueId flat = context.reshape(x_, {dims_[0], dims_[1], rest}),
                  at = context.reshape(classes, {dims_[0], Dim(1), rest});
    const ValueId found = context.make("GatherElements", {flat, at}, {{"axis", int64_t(1)}});
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
  const ValueId logs = context.make("LogSoftmax", {context.in(0)}, {{"axis", int64_t(1)}});
  context.same(0, LogLikelihood(context, logs).run());
  context.same(1, logs);
}

}  // namespace

void add_loss_rules(InferTable& table) {
  table["NegativeLogLikelihoodLoss"] = negative_log_likelihood;
  table["SoftmaxCrossEntropyLoss"] = softmax_cross_entropy;
}

}  // namespace ingot::graph
