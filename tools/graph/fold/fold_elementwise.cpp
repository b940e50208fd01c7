// SPDX-License-Identifier: Apache-2.0
// tools/graph/fold/fold_elementwise.cpp - operators of single elements, each operand broadcast: the
// steps that a run would take.
#include "tools/graph/fold/fold_elementwise.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tools/graph/elementwise_steps.h"
#include "tools/graph/functions.h"
#include "tools/graph/movement.h"
#include "tools/graph/symbolic.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Ints = std::vector<int64_t>;
/// Positions of each operand's elements in the broadcast output.
std::optional<std::vector<Ints>> spread(const std::vector<const Constant*>& inputs,
                                        const Ints& dims) {
  Node expand;
  expand.op = op::Expand;
  std::vector<Ints> out;
  for (const Constant* c : inputs) {
    if (!c || c->dims.size() > dims.size()) return std::nullopt;
    auto sources = movement_sources(expand, 0, {c->dims}, dims, {}, {});
    if (!sources) return std::nullopt;
    out.push_back(std::move(*sources));
  }
  return out;
}

std::optional<Constant> cast(const Constant& x, DType dtype, const Ints& dims) {
  if (is_floating(dtype)) return make_floating(dtype, dims, read_numbers(x));
  if (is_floating(x.dtype)) {
    const std::vector<double> numbers = read_numbers(x);
    Ints out;
    for (const double v : numbers) {
      if (dtype == DType::kBool)
        out.push_back(v != 0);
      else if (!(std::abs(v) < 9.2e18))
        return std::nullopt;  // what an overflow gives is the machine's business
      else
        out.push_back(int64_t(v));
    }
    return make_integer(dtype, dims, out);
  }
  return make_integer(dtype, dims, read_integers(x));
}

/// Steps that are computed in floating point and, or, in whole numbers alone.
bool has_bodies(const ElementwiseSteps& all, bool whole) {
  return std::all_of(all.steps.begin(), all.steps.end(), [&](const Step& step) {
    const FunctionDomain domain = function_domain(step.op);
    return domain == FunctionDomain::kAny || (domain == FunctionDomain::kInteger) == whole;
  });
}

/// The f32 of a kernel is the number here, rounded: one operation, which is no approximation.
bool rounds_once(const Step& step) {
  switch (step.op) {
    case ElementwiseOp::kRsqrt:
    case ElementwiseOp::kHardSigmoid:
    case ElementwiseOp::kHardSwish:
    case ElementwiseOp::kScaleShift:
    case ElementwiseOp::kSoftsign: return false;
    default: return f64_bits(step.op) == FunctionBits::kExact;
  }
}

/// More elements than extents or scales have, which inference must know, and bits that only a
/// kernel gives: fold_by_running of tools/compile has it run.
bool is_left_to_kernels(const ElementwiseSteps& all, const Ints& dims) {
  return count_of(dims) > kMaxContents &&
         !std::all_of(all.steps.begin(), all.steps.end(), rounds_once);
}

template <class Number>
Constant fold_steps(const ElementwiseSteps& all, const std::vector<const Constant*>& inputs,
                    const std::vector<Ints>& at, DType dtype, const Ints& dims) {
  std::vector<std::vector<Number>> operands;
  for (const Constant* each : inputs) {
    if constexpr (std::is_same_v<Number, double>)
      operands.push_back(read_numbers(*each));
    else
      operands.push_back(read_integers(*each));
  }
  std::vector<Number> out(at[0].size());
  Number element[kMaxElementwiseInputs];
  for (size_t i = 0; i < out.size(); i++) {
    for (size_t k = 0; k < operands.size(); k++) element[k] = operands[k][size_t(at[k][i])];
    out[i] = run_steps(all, element, operands.size());
  }
  if (is_floating(dtype)) return make_floating(dtype, dims, {out.begin(), out.end()});
  Ints stored;
  for (const Number x : out) {
    if constexpr (std::is_same_v<Number, double>)
      stored.push_back(scalar::truncate(x));
    else
      stored.push_back(x);
  }
  return make_integer(dtype, dims, stored);
}

}  // namespace

std::optional<Constant> fold_elementwise(const Node& node,
                                         const std::vector<const Constant*>& inputs, DType dtype,
                                         const Ints& dims) {
  std::vector<DType> types;
  for (const Constant* each : inputs) {
    if (!each) return std::nullopt;
    types.push_back(each->dtype);
  }
  if (node.op == op::Cast) return cast(*inputs[0], dtype, dims);
  const auto all = elementwise_steps(node, types);
  if (!all) return std::nullopt;
  const bool whole = all->compute == ComputeType::kI64 || all->compute == ComputeType::kU64;
  const auto at = spread(inputs, dims);
  if (!at || !has_bodies(*all, whole) || is_left_to_kernels(*all, dims)) return std::nullopt;
  return whole ? fold_steps<int64_t>(*all, inputs, *at, dtype, dims)
               : fold_steps<double>(*all, inputs, *at, dtype, dims);
}

}  // namespace ingot::graph
