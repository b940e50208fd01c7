// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/elementwise_steps.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "tools/graph/functions.h"

namespace ingot::graph {
namespace {

using Op = ElementwiseOp;
using Steps = std::vector<Step>;

/// Functions of one operand and two numbers.
struct Numbered {
  Op op;
  AttributeName alpha;
  std::optional<AttributeName> beta;
  double otherwise_alpha, otherwise_beta;
};
const std::map<Operator, Numbered> kNumbered = {
#define INGOT_NUMBERED_1(name, alpha, value) {op::name, {Op::k##name, attr::alpha, {}, value, 0}},
#define INGOT_NUMBERED_2(name, alpha, value, beta, second) \
  {op::name, {Op::k##name, attr::alpha, attr::beta, value, second}},
#include "tools/graph/numbered_functions.def"
};

Steps swish(const Node& node, ComputeType) {
  const double alpha = node.number(attr::alpha, 1);
  if (alpha == 1) return {{Op::kSilu}};
  return {{Op::kScaleShift, 0, 0, 0, alpha, 0}, {Op::kSigmoid, 1}, {Op::kMul, 0, 2}};
}

Steps is_infinite(const Node& node, ComputeType) {
  const bool negative = node.integer(attr::detect_negative, 1) != 0,
             positive = node.integer(attr::detect_positive, 1) != 0;
  Steps steps = {{Op::kIsInf}};
  if (negative && positive) return steps;
  steps.push_back({negative ? Op::kLess : Op::kGreater, 0, kConstantRegister, 0, 0, 0});
  steps.push_back({Op::kLogicalAnd, 1, 2});
  if (!negative && !positive) steps.push_back({Op::kLogicalAnd, 3, kConstantRegister, 0, 0, 0});
  return steps;
}

Steps clip(const Node& node, ComputeType compute) {
  const double low = node.number(attr::min, -std::numeric_limits<double>::infinity()),
               high = node.number(attr::max, std::numeric_limits<double>::infinity());
  if (low == 0 && std::isinf(high)) return {{Op::kRelu}};
  if (compute == ComputeType::kF32 || (!std::isinf(low) && !std::isinf(high)))
    return {{Op::kClip, 0, 0, 0, low, high}};
  // Integers have no infinity to clip against.
  if (std::isinf(low) && std::isinf(high)) return {{Op::kIdentity}};
  if (std::isinf(high)) return {{Op::kMax, 0, kConstantRegister, 0, low, 0}};
  return {{Op::kMin, 0, kConstantRegister, 0, high, 0}};
}

Steps modulo(const Node& node, ComputeType) {
  return {{node.integer(attr::fmod, 0) ? Op::kFmod : Op::kMod, 0, 1}};
}
Steps shift(const Node& node, ComputeType) {
  return {{node.text(attr::direction, "LEFT") == "LEFT" ? Op::kShiftLeft : Op::kShiftRight, 0, 1}};
}
Steps gelu(const Node& node, ComputeType) {
  return {{node.text(attr::approximate, "none") == "tanh" ? Op::kGeluTanh : Op::kGelu}};
}
Steps where(const Node&, ComputeType) { return {{Op::kSelect, 0, 1, 2}}; }
Steps prelu(const Node&, ComputeType) { return {{Op::kPrelu, 0, 1}}; }

/// Where attributes decide.
const std::map<Operator, Steps (*)(const Node&, ComputeType)> kDecided = {
    {op::BitShift, shift}, {op::Clip, clip},   {op::Gelu, gelu},   {op::IsInf, is_infinite},
    {op::Mod, modulo},     {op::PRelu, prelu}, {op::Swish, swish}, {op::Where, where}};

std::optional<Steps> steps_of(const Node& node, ComputeType compute) {
  if (const Function* const row = find_function(node.op))
    return row->operands == 1 ? Steps{{row->op}} : Steps{{row->op, 0, 1}};
  if (const auto found = kNumbered.find(node.op); found != kNumbered.end()) {
    const Numbered& row = found->second;
    return Steps{{row.op, 0, 0, 0, node.number(row.alpha, row.otherwise_alpha),
                  row.beta ? node.number(*row.beta, row.otherwise_beta) : 0}};
  }
  const auto found = kDecided.find(node.op);
  if (found == kDecided.end()) return std::nullopt;
  return found->second(node, compute);
}

/// The registers behind the operands, one after another; the last one.
template <class Number, class Constant, class Function>
Number run(const std::vector<Step>& steps, const Number* operands, size_t count,
           const Constant& constant, const Function& function) {
  Number registers[kMaxElementwiseInputs + kMaxElementwiseSteps];
  for (size_t i = 0; i < count; i++) registers[i] = operands[i];
  for (const Step& step : steps) {
    const int arity = elementwise_arity(step.op);
    const auto read = [&](int r, int least) {
      return arity < least ? Number() : r == kConstantRegister ? constant(step) : registers[r];
    };
    registers[count++] = function(step, read(step.a, 1), read(step.b, 2), read(step.c, 3));
  }
  return registers[count - 1];
}

}  // namespace

ComputeType compute_type(DType dtype) {
  switch (dtype) {
    case DType::kF64: return ComputeType::kF64;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return ComputeType::kF32;
    case DType::kU64: return ComputeType::kU64;
    default: return ComputeType::kI64;
  }
}

std::optional<ElementwiseSteps> elementwise_steps(const Node& node,
                                                  const std::vector<DType>& operands) {
  ElementwiseSteps all;
  const size_t typed = node.op == op::Where ? 1 : 0;
  if (operands.size() <= typed || operands.size() > kMaxElementwiseInputs) return std::nullopt;
  all.compute = compute_type(operands[typed]);
  auto steps = steps_of(node, all.compute);
  if (!steps) return std::nullopt;
  all.steps = std::move(*steps);
  // A whole number to a power that is none.
  if (node.op == op::Pow && operands.size() == 2 && all.compute != ComputeType::kF32 &&
      compute_type(operands[1]) == ComputeType::kF32)
    all.compute = ComputeType::kF64;
  return all;
}

bool has_steps(Operator op) {
  return find_function(op) || kNumbered.count(op) != 0 || kDecided.count(op) != 0;
}

double run_steps(const ElementwiseSteps& all, const double* operands, size_t count) {
  const bool single = all.compute == ComputeType::kF32;
  const auto stored = [&](double x) { return single ? double(float(x)) : x; };
  return run<double>(
      all.steps, operands, count, [&](const Step& s) { return stored(s.alpha); },
      [&](const Step& s, double a, double b, double c) {
        return stored(scalar::call(s.op, a, b, c, {stored(s.alpha), stored(s.beta)}));
      });
}

int64_t run_steps(const ElementwiseSteps& all, const int64_t* operands, size_t count) {
  return run<int64_t>(
      all.steps, operands, count, [](const Step& s) { return scalar::truncate(s.alpha); },
      [&](const Step& s, int64_t a, int64_t b, int64_t c) {
        return scalar::call(s.op, a, b, c, all.compute == ComputeType::kU64, {s.alpha, s.beta});
      });
}

}  // namespace ingot::graph
