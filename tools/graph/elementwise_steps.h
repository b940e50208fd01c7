// SPDX-License-Identifier: Apache-2.0
// tools/graph/elementwise_steps.h - what an operator of a graph computes of each element, as steps
// of runtime/op/functions.def: lowering writes them, folding and the tables of int8 run them.
// Threads  any.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/op/scalar_functions.h"
#include "tools/graph/graph.h"

namespace ingot::graph {

/// ElementwiseStep in double. Registers 0 .. n - 1 are the operands, the next ones earlier steps.
struct Step {
  ElementwiseOp op = ElementwiseOp::kIdentity;
  int a = 0, b = 0, c = 0;
  double alpha = 0, beta = 0;
};

/// What holds every value of `dtype`.
ComputeType compute_type(DType dtype);

struct ElementwiseSteps {
  ComputeType compute = ComputeType::kF32;
  std::vector<Step> steps;
};
/// `operands` are the types of the node's inputs. Nothing: it is no operator of single elements, or
/// Cast, whose result is another type's.
std::optional<ElementwiseSteps> elementwise_steps(const Node& node,
                                                  const std::vector<DType>& operands);

/// Whether its nodes have steps.
bool has_steps(Operator op);

/// One element through the steps; f32 is rounded after each, as in a run. `operands` has `count`
/// numbers, at most kMaxElementwiseInputs.
double run_steps(const ElementwiseSteps& all, const double* operands, size_t count);
int64_t run_steps(const ElementwiseSteps& all, const int64_t* operands, size_t count);

}  // namespace ingot::graph
