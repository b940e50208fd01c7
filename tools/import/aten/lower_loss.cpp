// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_loss.cpp - losses, which some programs give beside their result. Each is
// a formula of every element, then none, the mean, or the sum of all.
#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

enum : int64_t { kEach = 0, kMean = 1, kSum = 2 };

Results reduced_loss(Operands& o, const Term& loss, int64_t reduction) {
  if (reduction < kEach || reduction > kSum)
    o.corrupt("has reduction " + std::to_string(reduction));
  if (reduction == kEach) return result_of(loss);
  if (loss.rank() == 0) return result_of(loss);
  return result_of(loss.reduce(reduction == kMean ? op::ReduceMean : op::ReduceSum, {}));
}
Results reduced_loss(Operands& o, const Term& loss) {
  return reduced_loss(o, loss, o.integer("reduction"));
}
Term square(const Term& x) { return x * x; }
/// Square near 0, straight beyond `edge`.
Results difference_loss(Operands& o) {
  const Terms t = two_terms(o, "self", "target");
  const Term apart = t.x - t.y, size = absolute(apart);
  if (o.op() == "l1_loss") return reduced_loss(o, size);
  if (o.op() == "mse_loss") return reduced_loss(o, square(apart));
  if (o.op() == "huber_loss") {
    const double edge = o.number("delta");
    return reduced_loss(o, where(size < edge, square(apart) * 0.5, (size - edge / 2) * edge));
  }
  const double edge = o.number("beta");
  if (edge == 0) return reduced_loss(o, size);
  return reduced_loss(o, where(size < edge, square(apart) * (0.5 / edge), size - edge / 2));
}
Results cross_entropy_of_two(Operands& o) {
  const Terms t = two_terms(o, "self", "target");
  const bool logits = o.op().find("logits") != std::string::npos;
  Term loss = t.x;
  if (logits) {
    // (1 - y) x + (1 + (w - 1) y) log(1 + exp(-x))
    Term weight = t.x.number(1);
    if (o.given("pos_weight")) weight = (term(o, "pos_weight") - 1.0) * t.y + 1.0;
    loss = (1.0 - t.y) * t.x + weight * call(op::Softplus, -t.x);
  } else {
    const auto limited = [](const Term& x) { return larger(logarithm(x), -100); };
    loss = -(t.y * limited(t.x) + (1.0 - t.y) * limited(1.0 - t.x));
  }
  if (o.given("weight")) loss = loss * term(o, "weight");
  return reduced_loss(o, loss);
}
Results divergence(Operands& o) {
  const Terms t = two_terms(o, "self", "target");
  if (o.flag("log_target")) return reduced_loss(o, exponential(t.y) * (t.y - t.x));
  return reduced_loss(o, where(equal(t.y, 0), 0, t.y * logarithm(t.y)) - t.y * t.x);
}

/// Of log probabilities [N, C, ...] those of the classes, times their weights.
struct ChosenClasses {
  Term loss, weight;
};
ChosenClasses chosen_classes(Operands& o, const Term& log, const Term& target) {
  const int64_t axis = log.rank() == 1 ? 0 : 1, left_out = o.integer("ignore_index");
  if (target.rank() + 1 != log.rank())
    o.corrupt("has targets of " + graph::text(target.dims()) + " for " + graph::text(log.dims()));
  Dims column = target.dims();
  column.insert(column.begin() + axis, Dim(1));
  const Term kept = !equal(target, double(left_out));
  const Term index = where(kept, target, 0);
  const Term picked = gathered_along(log, index.reshape(column), axis).reshape(target.dims());
  Term weight = kept.cast(log.dtype());
  if (o.given("weight"))
    weight = weight * gathered(term(o, "weight"), index.reshape({graph::product(index.dims())}), 0)
                          .reshape(index.dims());
  return {-(picked * weight), weight};
}
Results reduced_by_weight(Operands& o, const Term& loss, const Term& weight) {
  const int64_t reduction = o.integer("reduction");
  if (reduction != kMean || loss.rank() == 0) {
    if (reduction == kMean) return result_of(loss / weight);
    return reduced_loss(o, loss, reduction);
  }
  return result_of(loss.reduce(op::ReduceSum, {}) / weight.reduce(op::ReduceSum, {}));
}
Results negative_log_likelihood(Operands& o) {
  const ChosenClasses c = chosen_classes(o, term(o, "self"), term(o, "target").cast(DType::kI64));
  Results results = reduced_by_weight(o, c.loss, c.weight);
  if (o.op() == "nll_loss_forward" || o.op() == "nll_loss2d_forward")
    results.push_back(c.weight.rank() == 0 ? value_of(c.weight)
                                           : value_of(c.weight.reduce(op::ReduceSum, {})));
  return results;
}
Results cross_entropy(Operands& o) {
  const Term x = term(o, "self");
  const int64_t axis = x.rank() == 1 ? 0 : 1;
  const Term log = call(op::LogSoftmax, x, {{attr::axis, axis}});
  const double smooth = o.number("label_smoothing");
  const Term target = term(o, "target");
  Dims row(size_t(x.rank()), Dim(1));
  row[size_t(axis)] = x.dims()[size_t(axis)];
  const Term weights = o.given("weight") ? term(o, "weight").reshape(row) : x.number(1);
  const int64_t classes = smooth > 0 ? fixed(o, "self", row[size_t(axis)]) : 1;
  if (graph::is_floating(target.dtype())) {
    const Term y = smooth > 0 ? target * (1 - smooth) + smooth / double(classes) : target;
    const Term loss = -(log * y * weights).reduce(op::ReduceSum, {axis});
    const int64_t reduction = o.integer("reduction");
    o.integer("ignore_index");
    if (reduction != kMean || loss.rank() == 0) return reduced_loss(o, loss, reduction);
    return result_of(loss.reduce(op::ReduceMean, {}));
  }
  const ChosenClasses c = chosen_classes(o, log, target.cast(DType::kI64));
  if (smooth == 0) return reduced_by_weight(o, c.loss, c.weight);
  const Term kept =
      (!equal(target.cast(DType::kI64), double(o.integer("ignore_index")))).cast(x.dtype());
  const Term even = -(log * weights).reduce(op::ReduceSum, {axis}) * kept;
  return reduced_by_weight(o, c.loss * (1 - smooth) + even * (smooth / double(classes)), c.weight);
}

Term clipped(const Term& x) { return larger(x, 0); }
Results margin_losses(Operands& o) {
  const std::string& op = o.op();
  if (op == "soft_margin_loss") {
    const Terms t = two_terms(o, "self", "target");
    return reduced_loss(o, call(op::Softplus, -(t.x * t.y)));
  }
  if (op == "hinge_embedding_loss") {
    const Terms t = two_terms(o, "self", "target");
    const Term far = where(equal(t.y, -1), clipped(o.number("margin") - t.x), 0);
    return reduced_loss(o, where(equal(t.y, 1), t.x, 0) + far);
  }
  if (op == "margin_ranking_loss") {
    const Term order = term(o, "target");
    const Term apart = term(o, "input1") - term(o, "input2");
    return reduced_loss(o, clipped(o.number("margin") - order * apart));
  }
  const Term x = term(o, "input1"), y = term(o, "input2"), target = term(o, "target");
  const int64_t last = x.rank() - 1;
  const auto dot = [last](const Term& a, const Term& b) {
    return (a * b).reduce(op::ReduceSum, {last});
  };
  constexpr double kEpsilon = 1e-12;  // as PyTorch adds to both squares
  const Term cosine = dot(x, y) / square_root((dot(x, x) + kEpsilon) * (dot(y, y) + kEpsilon));
  const Term far = where(equal(target, -1), clipped(cosine - o.number("margin")), 0);
  return reduced_loss(o, where(equal(target, 1), 1.0 - cosine, 0) + far);
}
Results triplet_loss(Operands& o) {
  const double p = o.number("p"), eps = o.number("eps");
  const Term anchor = term(o, "anchor"), near = term(o, "positive"), far = term(o, "negative");
  const auto distance = [&](const Term& a, const Term& b) {
    const Term size = absolute(a - b + eps);
    const int64_t last = size.rank() - 1;
    if (p == 2) return size.reduce(op::ReduceL2, {last});
    const Term sum = call(op::Pow, size, size.number(p)).reduce(op::ReduceSum, {last});
    return call(op::Pow, sum, sum.number(1 / p));
  };
  Term apart = distance(anchor, far);
  if (o.flag("swap")) apart = smaller(apart, distance(near, far));
  return reduced_loss(o, clipped(distance(anchor, near) - apart + o.number("margin")));
}
Results poisson_loss(Operands& o) {
  const Terms t = two_terms(o, "input", "target");
  Term loss = o.flag("log_input") ? exponential(t.x) - t.y * t.x
                                  : t.x - t.y * logarithm(t.x + o.number("eps"));
  if (o.flag("full")) {
    constexpr double kTurn = 6.283185307179586;
    const Term more = t.y * logarithm(t.y) - t.y + logarithm(t.y * kTurn) * 0.5;
    loss = loss + where(t.y > 1, more, 0);
  } else {
    o.number("eps");
  }
  return reduced_loss(o, loss);
}

}  // namespace

void add_losses(Table& table) {
  const std::string two = "Tensor self, Tensor target, ", reduction = "int reduction=1";
  table.add_all("l1_loss mse_loss", two + reduction, difference_loss);
  table.add("smooth_l1_loss", two + reduction + ", float beta=1.0", difference_loss);
  table.add("huber_loss", two + reduction + ", float delta=1.0", difference_loss);
  table.add("binary_cross_entropy", two + "Tensor? weight=None, " + reduction,
            cross_entropy_of_two);
  table.add("binary_cross_entropy_with_logits",
            two + "Tensor? weight=None, Tensor? pos_weight=None, " + reduction,
            cross_entropy_of_two);
  table.add("kl_div", two + reduction + ", *, bool log_target=False", divergence);
  const std::string classes = two + "Tensor? weight=None, " + reduction + ", int ignore_index=-100";
  table.add_all("nll_loss nll_loss_nd nll_loss2d nll_loss_forward nll_loss2d_forward", classes,
                negative_log_likelihood);
  table.add("cross_entropy_loss", classes + ", float label_smoothing=0.0", cross_entropy);
  table.add("soft_margin_loss", two + reduction, margin_losses);
  table.add("hinge_embedding_loss", two + "float margin=1.0, " + reduction, margin_losses);
  const std::string pair = "Tensor input1, Tensor input2, Tensor target, float margin=0.0, ";
  table.add_all("margin_ranking_loss cosine_embedding_loss", pair + reduction, margin_losses);
  table.add("triplet_margin_loss",
            "Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float "
            "eps=1e-06, bool swap=False, " +
                reduction,
            triplet_loss);
  table.add("poisson_nll_loss",
            "Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction",
            poisson_loss);
}

}  // namespace ingot::aten
