// tools/graph/functions.h - operators of a graph that are one elementwise function and nothing
// else, without attributes: the rows of runtime/op/functions.def that name a node.
// Threads  any.
#pragma once
#include <cstring>
#include <map>
#include <string_view>

#include "runtime/op/elementwise.h"

namespace ingot::graph {

enum class FunctionResult : uint8_t { kSame, kCompare, kLogical };

struct Function {
  std::string_view node;  // "Mish"
  ElementwiseOp op;
  int operands;
  FunctionDomain domain;
  FunctionResult result;
  bool is_onnx;  // an operator of ONNX has this name and this meaning
};

inline constexpr Function kFunctions[] = {
#define INGOT_FUNCTION(name, number, operands, domain, f64, result, node, source) \
  {node,                                                                          \
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
inline const Function* find_function(std::string_view node) {
  static const auto* const kByNode = [] {
    auto* rows = new std::map<std::string_view, const Function*>;
    for (const Function& row : kFunctions)
      if (!row.node.empty()) rows->emplace(row.node, &row);
    return rows;
  }();
  const auto found = kByNode->find(node);
  return found == kByNode->end() ? nullptr : found->second;
}

}  // namespace ingot::graph
