// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/write/program_builder.h"

namespace ingot::convert {
namespace {

/// The result for two numbers, where there is one.
std::optional<int64_t> fold(DimOp op, int64_t a, int64_t b) {
  switch (op) {
    case DimOp::kAdd: return a + b;
    // a negative number is no Dim
    case DimOp::kSub: return a >= b ? std::optional(a - b) : std::nullopt;
    case DimOp::kMul: return a * b;
    case DimOp::kFloorDiv: return b > 0 ? std::optional(a / b) : std::nullopt;
    case DimOp::kCeilDiv: return b > 0 ? std::optional((a + b - 1) / b) : std::nullopt;
    case DimOp::kMin: return a < b ? a : b;
    case DimOp::kMax: return a > b ? a : b;
    case DimOp::kSymbol: break;
  }
  return std::nullopt;
}

}  // namespace

int32_t ProgramSpec::add_value(ValueSpec value) {
  values.push_back(std::move(value));
  return int32_t(values.size()) - 1;
}

Dim ProgramSpec::add_symbol(const std::string& name, int64_t low, int64_t high) {
  for (; placed_symbols < symbols.size(); placed_symbols++)
    symbol_places.emplace(symbols[placed_symbols].name, placed_symbols);
  const auto [found, is_new] = symbol_places.emplace(name, symbols.size());
  if (is_new) symbols.push_back({name, low, high});
  return add_dim_expr(DimOp::kSymbol, Dim(found->second), 0);
}

Dim ProgramSpec::add_dim_expr(DimOp op, Dim a, Dim b) {
  if (op != DimOp::kSymbol && a >= 0 && b >= 0)
    if (const auto folded = fold(op, a, b)) return *folded;
  for (; placed_exprs < dim_exprs.size(); placed_exprs++) {
    const DimExpr& each = dim_exprs[placed_exprs];
    expr_places.emplace(std::tuple(each.op, each.a, each.b), placed_exprs);
  }
  const auto [found, is_new] = expr_places.emplace(std::tuple(op, a, b), dim_exprs.size());
  if (is_new) dim_exprs.push_back({op, a, b});
  return -1 - Dim(found->second);
}

InstructionSpec& ProgramSpec::add_instruction(Attributes attributes, std::vector<int32_t> inputs,
                                              std::vector<int32_t> outputs, uint32_t subprogram) {
  auto& instructions = subprograms.at(subprogram).instructions;
  instructions.push_back({std::move(attributes), std::move(inputs), std::move(outputs), {}, 1});
  return instructions.back();
}

}  // namespace ingot::convert
