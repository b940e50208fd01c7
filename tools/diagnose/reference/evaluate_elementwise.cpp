// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <limits>

#include "tools/compile/lower/lower_attributes.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/diagnose/reference/evaluator.h"
#include "tools/graph/functions.h"

namespace ingot::reference {
namespace {

using graph::Node;
using passes::Op;
using passes::Step;

bool integral(DType t) {
  return t != DType::kF32 && t != DType::kF64 && t != DType::kF16 && t != DType::kBF16 &&
         t != DType::kInvalid;
}

/// Bytes hold whole numbers modulo 256.
double stored(double x, DType to) {
  if (to == DType::kBool) return double(x != 0);
  if (!integral(to)) return x;
  if ((to != DType::kI8 && to != DType::kU8) || !std::isfinite(x)) return std::trunc(x);
  const int64_t low = to == DType::kI8 ? -128 : 0, n = int64_t(x) - low;
  return double(n - (n >> 8) * 256 + low);
}

/// Of whole numbers by their own bodies: exact in double below 2^53.
double call(Op f, double a, double b, double c, DType type, const scalar::Numbers& by) {
  if (!integral(type)) return scalar::call(f, a, b, c, by);
  const auto number = [](double x) { return scalar::truncate(x); };
  return double(scalar::call(f, number(a), number(b), number(c), type == DType::kU64, by));
}

Tensor chain(Evaluator& e, const Node& node, const Dimensions& dims) {
  std::vector<Step> steps = passes::steps_of(node);
  const DType compute = passes::compute_dtype(node.text(attr::compute, "f32"));
  DType to = e.dtype(node.outputs[0]);
  Tensor y{dims, {}};
  std::vector<const Tensor*> operands;
  for (size_t i = 0; i < node.inputs.size(); i++) operands.push_back(&e.in(node, i));
  std::vector<double> reg;
  size_t index = 0;
  for_each_index(dims, [&](const Dimensions& at) {
    reg.clear();
    for (const Tensor* operand : operands) {
      double x = operand->dims == dims ? operand->at[index] : broadcast_at(*operand, at);
      reg.push_back(integral(compute) ? std::trunc(x) : x);
    }
    index++;
    for (const Step& s : steps) {
      auto read = [&](int r) { return r == kConstantRegister ? s.alpha : reg[size_t(r)]; };
      int arity = elementwise_arity(s.op);
      reg.push_back(call(s.op, read(s.a), arity > 1 ? read(s.b) : 0, arity > 2 ? read(s.c) : 0,
                         compute, {s.alpha, s.beta}));
    }
    y.at.push_back(stored(steps.empty() ? reg[0] : reg.back(), to));
  });
  return y;
}

Dimensions joint(const Dimensions& a, const Dimensions& b) {
  Dimensions result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); i++) {
    int64_t from_a = i < result.size() - a.size() ? 1 : a[i - (result.size() - a.size())];
    int64_t from_b = i < result.size() - b.size() ? 1 : b[i - (result.size() - b.size())];
    result[i] = from_a == 1 ? from_b : from_a;
  }
  return result;
}

// A source operator of one operand and numbers, as a function.
std::function<double(double)> with_numbers(const Node& node) {
  const auto function = [](Op f, double a = 0, double b = 0) {
    return [=](double x) { return scalar::unary(f, x, {a, b}); };
  };
#define INGOT_NUMBERED_1(name, alpha, value) \
  if (node.op == op::name) return function(Op::k##name, node.number(attr::alpha, value));
#define INGOT_NUMBERED_2(name, alpha, value, beta, second) \
  if (node.op == op::name)                                 \
    return function(Op::k##name, node.number(attr::alpha, value), node.number(attr::beta, second));
#include "tools/graph/numbered_functions.def"
  if (node.op == op::Swish) {
    const double alpha = node.number(attr::alpha, 0);
    return [=](double x) { return x * sigmoid(alpha * x); };
  }
  if (node.op == op::Gelu)
    return function(node.text(attr::approximate, "none") == "tanh" ? Op::kGeluTanh : Op::kGelu);
  if (node.op == op::Clip)
    return function(Op::kClip, node.number(attr::min, -std::numeric_limits<double>::infinity()),
                    node.number(attr::max, std::numeric_limits<double>::infinity()));
  if (node.op == op::Identity) return function(Op::kIdentity);
  const graph::Function* const row = graph::find_function(node.op);
  return row && row->operands == 1 ? function(row->op) : std::function<double(double)>();
}

// Of an operator with two operands.
std::optional<Op> binary_function(const Node& node) {
  if (node.op == op::PRelu) return Op::kPrelu;
  if (node.op == op::Mod) return Op::kMod;
  const graph::Function* const row = graph::find_function(node.op);
  if (!row || row->operands != 2) return std::nullopt;
  return row->op;
}

}  // namespace

std::function<double(double)> activation_of(const Node& node) {
  const ActivationSpec spec = convert::activation_of(node);
  if (spec.kind == Activation::kNone) return nullptr;
  return [=](double x) { return scalar::activate(spec, x); };
}

std::vector<Tensor> evaluate_elementwise(Evaluator& e, const Node& node) {
  Dimensions dims;
  if (node.op == op::Elementwise) {
    if (!e.declared(node, 0, dims)) return {};
    return {chain(e, node, dims)};
  }
  if (std::function<double(double)> f = with_numbers(node)) {
    Tensor y = e.in(node, 0);
    for (double& x : y.at) x = f(x);
    return {y};
  }
  if (node.op == op::Cast) {
    Tensor y = e.in(node, 0);
    for (double& x : y.at) x = stored(x, DType(node.integer(attr::to, 1)));
    return {y};
  }
  if (node.op == op::Where) {
    dims = joint(joint(e.in(node, 0).dims, e.in(node, 1).dims), e.in(node, 2).dims);
    Tensor y{dims, {}};
    for_each_index(dims, [&](const Dimensions& at) {
      y.at.push_back(broadcast_at(e.in(node, broadcast_at(e.in(node, 0), at) != 0 ? 1 : 2), at));
    });
    return {y};
  }
  const auto function = binary_function(node);
  if (!function) return {};
  const Tensor &a = e.in(node, 0), &b = e.in(node, 1);
  const DType type = e.dtype(node.inputs[0]);
  Tensor y{joint(a.dims, b.dims), {}};
  for_each_index(y.dims, [&](const Dimensions& at) {
    y.at.push_back(call(*function, broadcast_at(a, at), broadcast_at(b, at), 0, type, {}));
  });
  return {y};
}

}  // namespace ingot::reference
