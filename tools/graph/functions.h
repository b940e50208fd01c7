// SPDX-License-Identifier: Apache-2.0
// tools/graph/functions.h - operators of a graph that are one elementwise function and nothing
// else, without attributes: the rows of runtime/op/functions.def that name a node.
// Threads  any.
#pragma once
#include <string_view>

#include "runtime/op/elementwise.h"
#include "tools/graph/operator.h"

namespace ingot::graph {

enum class FunctionResult : uint8_t { kSame, kCompare, kLogical };

struct Function {
  Operator node;  // op::Mish; kNone: no operator is this function alone
  ElementwiseOp op;
  int operands;
  FunctionDomain domain;
  FunctionResult result;
  bool is_onnx;  // an operator of ONNX has this name and this meaning
};

inline constexpr Function kFunctions[] = {
#define INGOT_FUNCTION(name, number, operands, domain, f64, result, node, source) \
  {Operator::node,                                                                \
   ElementwiseOp::k##name,                                                        \
   operands,                                                                      \
   FunctionDomain::k##domain,                                                     \
   FunctionResult::k##result,                                                     \
   std::string_view(#source) == "Onnx"},
#include "runtime/op/functions.def"
};

/// Of a row.
constexpr FunctionDomain function_domain(ElementwiseOp op) {
  for (const Function& row : kFunctions)
    if (row.op == op) return row.domain;
  return FunctionDomain::kFloat;
}

/// The function that a node of this operator is; null: none.
constexpr const Function* find_function(Operator node) {
  for (const Function& row : kFunctions)
    if (node != Operator::kNone && row.node == node) return &row;
  return nullptr;
}

}  // namespace ingot::graph
