// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/operand_check.cpp - operands against the rows of operators.def.
#include <string_view>
#include <vector>

#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

constexpr int64_t kAnyRank = INT64_MAX;  // sources have more dimensions than programs

struct OperandRule {
  char type = 'a';
  int64_t low = 0, high = kAnyRank;
  bool like_first = false, optional = false;
};

std::vector<OperandRule> parse_row(std::string_view row) {
  std::vector<OperandRule> rules;
  for (size_t at = 0; at < row.size();) {
    size_t end = row.find(' ', at);
    if (end == std::string_view::npos) end = row.size();
    const std::string_view word = row.substr(at, end - at);
    at = end + 1;
    OperandRule rule;
    rule.type = word[0];
    rule.optional = word.back() == '?';
    rule.like_first = word[1] == '=';
    if (word[1] >= '0' && word[1] <= '9') {
      rule.low = rule.high = word[1] - '0';
      if (word.size() > 2 && word[2] == '+') rule.high = kAnyRank;
      if (word.size() > 3 && word[2] == '-') rule.high = word[3] - '0';
    }
    rules.push_back(rule);
  }
  return rules;
}

/// By Operator.
const std::vector<std::vector<OperandRule>>& operand_rules() {
  static const auto* const kRules = [] {
    auto* rules = new std::vector<std::vector<OperandRule>>;
    for (const OperatorRow& row : kOperators) rules->push_back(parse_row(row.operands));
    return rules;
  }();
  return *kRules;
}

bool has_type(char type, DType dtype) {
  switch (type) {
    case 'n': return dtype != DType::kBool;
    case 'f': return is_floating(dtype);
    case 'i': return dtype == DType::kI32 || dtype == DType::kI64;
    case 'b': return dtype == DType::kBool;
    default: return true;
  }
}
const char* type_text(char type) {
  switch (type) {
    case 'n': return "a number";
    case 'f': return "floating point";
    case 'i': return "i32 or i64";
    default: return "bool";
  }
}
std::string rank_text(const OperandRule& rule) {
  const std::string low = std::to_string(rule.low);
  if (rule.high == rule.low) return low;
  return rule.high == kAnyRank ? "at least " + low : low + " to " + std::to_string(rule.high);
}

}  // namespace

void check_operands(const NodeContext& context) {
  const std::vector<OperandRule>& rules = operand_rules()[size_t(context.node.op)];
  for (size_t i = 0; i < rules.size(); i++) {
    OperandRule rule = rules[i];
    const std::string which = "operand " + std::to_string(i);
    if (!context.has(i)) {
      if (!rule.optional) context.corrupt(which + " is missing; its operator needs it");
      continue;
    }
    if (rule.like_first) rule.low = rule.high = context.rank(0);
    if (context.rank(i) < rule.low || context.rank(i) > rule.high)
      context.corrupt(which + " has shape " + text(context.dims(i)) + " of rank " +
                      std::to_string(context.rank(i)) + ", expected rank " + rank_text(rule));
    if (rule.type == 's' && context.dtype(i) != context.dtype(0))
      context.corrupt(which + " has type " + dtype_text(context.dtype(i)) + ", expected " +
                      dtype_text(context.dtype(0)) + " as operand 0 has");
    if (!has_type(rule.type, context.dtype(i)))
      context.corrupt(which + " has type " + dtype_text(context.dtype(i)) + ", expected " +
                      type_text(rule.type));
  }
}

}  // namespace ingot::graph
