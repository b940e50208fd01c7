// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_ml_linear.cpp - linear models and support vectors of ai.onnx.ml, and
// what their classifiers and those of trees share: labels, and functions of scores.
#include <algorithm>
#include <cmath>

#include "tools/import/onnx/ml_emitter.h"

namespace ingot::onnx {

namespace {

/// sqrt(2) erfinv(2 x - 1), in Winitzki's approximation, which onnxruntime takes.
ValueId probit(MlEmitter& ml, ValueId scores) {
  const auto n = [&](double x) { return ml.number(x); };
  const ValueId x = ml(op::Sub, {ml(op::Mul, {n(2), scores}), n(1)});
  const ValueId log = ml(op::Log, {ml(op::Mul, {ml(op::Sub, {n(1), x}), ml(op::Add, {n(1), x})})});
  const ValueId v = ml(op::Add, {n(2 / (3.14159 * 0.147)), ml(op::Mul, {n(0.5), log})});
  const ValueId under = ml(op::Sub, {ml(op::Mul, {v, v}), ml(op::Mul, {n(1 / 0.147), log})});
  const ValueId root = ml(op::Sqrt, {ml(op::Sub, {ml(op::Sqrt, {under}), v})});
  const ValueId negative = ml(op::Less, {x, n(0)});
  return ml(op::Mul, {n(std::sqrt(2.0)), ml(op::Where, {negative, ml(op::Neg, {root}), root})});
}

/// A softmax in which what is 0 stays 0.
ValueId softmax_zero(MlEmitter& ml, ValueId scores) {
  const ValueId most = ml.over(op::ReduceMax, scores, 1, true);
  const ValueId counts = ml(op::Greater, {ml(op::Abs, {scores}), ml.number(1e-7)});
  const ValueId some = ml(op::Exp, {ml(op::Sub, {scores, most})}),
                none = ml(op::Mul, {scores, ml(op::Exp, {ml(op::Neg, {most})})});
  const ValueId all = ml(op::Where, {counts, some, none});
  const ValueId sum = ml.over(op::ReduceSum, all, 1, true);
  const ValueId is_zero = ml(op::Equal, {sum, ml.number(0)});
  return ml(op::Div, {all, ml(op::Where, {is_zero, ml.number(1), sum})});
}

}  // namespace

ValueId post_transform(MlEmitter& ml, ValueId scores, const std::string& name) {
  if (name == "NONE" || name.empty()) return scores;
  if (name == "LOGISTIC") return ml(op::Sigmoid, {scores});
  if (name == "SOFTMAX") return ml(op::Softmax, {scores}, {{attr::axis, int64_t(1)}});
  if (name == "SOFTMAX_ZERO") return softmax_zero(ml, ml.cast(scores, DType::kF32));
  if (name == "PROBIT") return probit(ml, ml.cast(scores, DType::kF32));
  ml.call.refuse("post_transform", "'" + name + "' is not known");
  return scores;
}

ClassLabels::ClassLabels(MlEmitter& ml) : ml_(ml) {
  Call& call = ml.call;
  std::vector<int64_t> numbers;
  for (const char* name : {"classlabels_int64s", "classlabels_ints"})
    if (const auto given = call.integers(name); given && !given->empty()) numbers = *given;
  const size_t texts = call.texts("classlabels_strings").size();
  if (numbers.empty() && texts > 0) {
    for (size_t i = 0; i < texts; i++) numbers.push_back(int64_t(i));
    call.note(std::string(call.node().op) +
              ": its labels are texts; the output holds the place of a label in their list");
    if (call.wants(0)) call.translator().plain_ports.insert(call.output(0));
  }
  count_ = int64_t(numbers.size());
  labels_ = ml.integers({count_}, numbers);
}
ValueId ClassLabels::of_largest(ValueId scores) {
  const ValueId place =
      ml_(op::ArgMax, {scores}, {{attr::axis, int64_t(1)}, {attr::keepdims, int64_t(0)}});
  return ml_(op::Gather, {labels_, place}, {{attr::axis, int64_t(0)}});
}
ValueId ClassLabels::of_two(ValueId condition) {
  return ml_(op::Gather, {labels_, ml_.cast(condition, DType::kI64)}, {{attr::axis, int64_t(0)}});
}

namespace {

[[noreturn]] void wrong_lengths(Call& call) {
  call.translator().corrupt(describe(call.node()) + ": its lists differ in length");
}

/// x [N, F] in f32 times coefficients [rows, F], plus one number for each row.
ValueId linear_scores(MlEmitter& ml, const std::vector<double>& coefficients, int64_t rows,
                      const std::vector<double>& added) {
  Call& call = ml.call;
  const int64_t count = int64_t(coefficients.size());
  if (rows < 1 || count < rows || count % rows != 0 ||
      (!added.empty() && int64_t(added.size()) != rows))
    wrong_lengths(call);
  std::vector<ValueId> operands = {ml.cast(call.input(0), DType::kF32),
                                   ml.floats({rows, count / rows}, coefficients)};
  if (!added.empty()) operands.push_back(ml.floats({rows}, added));
  return ml(op::Gemm, operands,
            {{attr::alpha, 1.0},
             {attr::beta, 1.0},
             {attr::transA, int64_t(0)},
             {attr::transB, int64_t(1)}});
}
std::vector<double> reals(Call& call, const char* name) {
  return call.numbers(name).value_or(std::vector<double>());
}

void linear_regressor(Call& call) {
  MlEmitter ml(call);
  const int64_t targets = call.integer("targets", 1);
  const ValueId y =
      linear_scores(ml, reals(call, "coefficients"), targets, reals(call, "intercepts"));
  ml.give(0, post_transform(ml, y, call.text("post_transform", "NONE")));
}

void linear_classifier(Call& call) {
  MlEmitter ml(call);
  call.integer("multi_class", 0);  // the number of rows of coefficients says it
  ClassLabels labels(ml);
  const std::vector<double> coefficients = reals(call, "coefficients"),
                            intercepts = reals(call, "intercepts");
  const int64_t rows = intercepts.empty() ? labels.count() : int64_t(intercepts.size());
  const ValueId scores = linear_scores(ml, coefficients, rows, intercepts);
  const std::string transform = call.text("post_transform", "NONE");
  if (rows == 1 && labels.count() == 2) {
    const ValueId flat = ml(op::Squeeze, {scores}, {{attr::axes, std::vector<int64_t>{1}}});
    const ValueId one = post_transform(ml, scores, transform == "LOGISTIC" ? transform : "NONE");
    ml.give(0, labels.of_two(ml(op::Greater, {flat, ml.number(0)})));
    const ValueId other = ml(op::Sub, {ml.number(1), one});
    const ValueId both = ml(op::Concat, {other, one}, {{attr::axis, int64_t(1)}});
    ml.give(1, transform == "LOGISTIC" ? both : post_transform(ml, both, transform));
    return;
  }
  if (rows != labels.count()) wrong_lengths(call);
  ml.give(0, labels.of_largest(scores));
  ml.give(1, post_transform(ml, scores, transform));
}

/// [N, vectors] of x [N, F] and support vectors.
ValueId kernel_of(MlEmitter& ml, ValueId x, const std::vector<double>& vectors, int64_t count) {
  Call& call = ml.call;
  const std::string kind = call.text("kernel_type", "LINEAR");
  std::vector<double> numbers = reals(call, "kernel_params");
  numbers.resize(3, 0);
  const double gamma = numbers[0], zero = numbers[1], degree = numbers[2];
  if (count < 1 || vectors.empty() || int64_t(vectors.size()) % count != 0) wrong_lengths(call);
  const int64_t width = int64_t(vectors.size()) / count;
  const ValueId all = ml.floats({count, width}, vectors);
  if (kind == "RBF") {  // the differences themselves: squares that are taken apart lose digits
    const ValueId wide = ml(op::Unsqueeze, {x}, {{attr::axes, std::vector<int64_t>{1}}});
    const ValueId apart = ml(op::Sub, {wide, all});
    const ValueId squares = ml.over(op::ReduceSumSquare, apart, 2, false);
    return ml(op::Exp, {ml(op::Mul, {ml.number(-gamma), squares})});
  }
  const ValueId dot = ml(op::Gemm, {x, all},
                         {{attr::alpha, 1.0},
                          {attr::beta, 1.0},
                          {attr::transA, int64_t(0)},
                          {attr::transB, int64_t(1)}});
  if (kind == "LINEAR") return dot;
  const ValueId scaled = ml(op::Add, {ml(op::Mul, {ml.number(gamma), dot}), ml.number(zero)});
  if (kind == "POLY") return ml(op::Pow, {scaled, ml.number(degree)});
  if (kind == "SIGMOID") return ml(op::Tanh, {scaled});
  call.refuse("kernel_type", "'" + kind + "' is not known");
  return dot;
}

void svm_regressor(Call& call) {
  MlEmitter ml(call);
  const std::vector<double> coefficients = reals(call, "coefficients"), rho = reals(call, "rho"),
                            vectors = reals(call, "support_vectors");
  const int64_t count = call.integer("n_supports", 0);
  const bool one_class = call.integer("one_class", 0) != 0;
  if (rho.size() != 1) wrong_lengths(call);
  const ValueId x = ml.cast(call.input(0), DType::kF32);
  ValueId y = kAbsent;
  if (count > 0) {
    if (int64_t(coefficients.size()) != count) wrong_lengths(call);
    const ValueId k = kernel_of(ml, x, vectors, count);
    y = ml(op::Add, {ml(op::MatMul, {k, ml.floats({count, 1}, coefficients)}), ml.number(rho[0])});
  } else {
    call.text("kernel_type", "LINEAR"), call.numbers("kernel_params");
    y = linear_scores(ml, coefficients, 1, {rho[0]});
  }
  if (one_class)
    y = ml(op::Where, {ml(op::Greater, {y, ml.number(0)}), ml.number(1), ml.number(-1)});
  ml.give(0, post_transform(ml, y, call.text("post_transform", "NONE")));
}

/// Without support vectors a linear classifier; with them each pair of classes votes.
void svm_classifier(Call& call) {
  MlEmitter ml(call);
  ClassLabels labels(ml);
  const std::vector<double> coefficients = reals(call, "coefficients"), rho = reals(call, "rho"),
                            vectors = reals(call, "support_vectors");
  const std::vector<int64_t> each =
      call.integers("vectors_per_class").value_or(std::vector<int64_t>());
  const bool has_odds = !reals(call, "prob_a").empty() || !reals(call, "prob_b").empty();
  if (each.empty() || vectors.empty())
    return call.refuse("vectors_per_class", "a classifier without support vectors",
                       "export it as a LinearClassifier");
  if (has_odds)
    return call.refuse("prob_a", "probabilities by coupling of pairs",
                       "export it with probability=False");
  const int64_t classes = labels.count();
  int64_t count = 0;
  std::vector<int64_t> from;
  for (const int64_t n : each) {
    if (n < 0 || n > int64_t(vectors.size())) wrong_lengths(call);
    from.push_back(count), count += n;
  }
  if (int64_t(each.size()) != classes || classes < 2 || count < 1 ||
      int64_t(coefficients.size()) != (classes - 1) * count ||
      int64_t(rho.size()) != classes * (classes - 1) / 2)
    wrong_lengths(call);
  constexpr int64_t kMaxTable = int64_t(1) << 26;
  const int64_t least = std::max(count, classes);
  if (int64_t(rho.size()) > kMaxTable / least)
    return call.refuse(
        "", std::to_string(classes) + " classes and " + std::to_string(count) + " support vectors");
  const ValueId x = ml.cast(call.input(0), DType::kF32), k = kernel_of(ml, x, vectors, count);
  // Column p of the table has what pair p = (i, j) takes of each support vector.
  const int64_t pairs = int64_t(rho.size());
  std::vector<double> table(size_t(count * pairs), 0), votes(size_t(pairs * classes), 0),
      other_votes = votes;
  int64_t p = 0;
  for (int64_t i = 0; i < classes; i++)
    for (int64_t j = i + 1; j < classes; j++, p++) {
      for (int64_t v = 0; v < each[size_t(i)]; v++)
        table[size_t((from[size_t(i)] + v) * pairs + p)] =
            coefficients[size_t((j - 1) * count + from[size_t(i)] + v)];
      for (int64_t v = 0; v < each[size_t(j)]; v++)
        table[size_t((from[size_t(j)] + v) * pairs + p)] =
            coefficients[size_t(i * count + from[size_t(j)] + v)];
      votes[size_t(p * classes + i)] = other_votes[size_t(p * classes + j)] = 1;
    }
  const ValueId scores =
      ml(op::Add, {ml(op::MatMul, {k, ml.floats({count, pairs}, table)}), ml.floats({pairs}, rho)});
  const ValueId wins = ml.cast(ml(op::Greater, {scores, ml.number(0)}), DType::kF32);
  const ValueId losses = ml(op::Sub, {ml.number(1), wins});
  const ValueId counted =
      ml(op::Add, {ml(op::MatMul, {wins, ml.floats({pairs, classes}, votes)}),
                   ml(op::MatMul, {losses, ml.floats({pairs, classes}, other_votes)})});
  ml.give(0, labels.of_largest(counted));
  const std::string transform = call.text("post_transform", "NONE");
  if (classes == 2) {
    const ValueId both =
        ml(op::Concat, {ml(op::Neg, {scores}), scores}, {{attr::axis, int64_t(1)}});
    return ml.give(1, post_transform(ml, both, transform));
  }
  ml.give(1, post_transform(ml, scores, transform));
}

}  // namespace

void add_ml_linear(TranslateTable& table) {
  table["LinearRegressor"] = {1, 1, linear_regressor};
  table["LinearClassifier"] = {1, 1, linear_classifier};
  table["SVMRegressor"] = {1, 1, svm_regressor};
  table["SVMClassifier"] = {1, 1, svm_classifier};
}

}  // namespace ingot::onnx
