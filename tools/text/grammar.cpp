// SPDX-License-Identifier: Apache-2.0
#include "tools/text/grammar.h"

#include <algorithm>

#include "tools/files/failure.h"

namespace ingot::grammar {
namespace {

constexpr size_t kMaxExprs = size_t{1} << 22;
constexpr CodeRange kSurrogates = {0xd800, 0xdfff};

}  // namespace

CodeSet sorted_set(CodeSet ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.low < b.low; });
  CodeSet all;
  for (const CodeRange& r : ranges) {
    if (!all.empty() && r.low <= all.back().high + 1)
      all.back().high = std::max(all.back().high, r.high);
    else
      all.push_back(r);
  }
  CodeSet set;  // without surrogates
  for (const CodeRange& r : all) {
    if (r.low < kSurrogates.low) set.push_back({r.low, std::min(r.high, kSurrogates.low - 1)});
    if (r.high > kSurrogates.high) set.push_back({std::max(r.low, kSurrogates.high + 1), r.high});
  }
  return set;
}

CodeSet negated_set(const CodeSet& set) {
  CodeSet rest;
  uint32_t next = 0;
  for (const CodeRange& r : set) {
    if (r.low > next) rest.push_back({next, r.low - 1});
    next = r.high + 1;
  }
  if (next <= kMaxCode) rest.push_back({next, kMaxCode});
  return sorted_set(std::move(rest));
}

CodeSet common_set(const CodeSet& a, const CodeSet& b) {
  CodeSet both;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const CodeRange r = {std::max(a[i].low, b[j].low), std::min(a[i].high, b[j].high)};
    if (r.low <= r.high) both.push_back(r);
    if (a[i].high < b[j].high)
      i++;
    else
      j++;
  }
  return both;
}

ExprId Grammar::add(Expr expr) {
  if (exprs_.size() == kMaxExprs)
    host::fail(host::Exit::kUnsupported, where_ + ": larger than a grammar may be");
  exprs_.push_back(std::move(expr));
  return ExprId(exprs_.size() - 1);
}

ExprId Grammar::bytes(std::string text) {
  Expr e;
  e.bytes = std::move(text);
  return add(std::move(e));
}

ExprId Grammar::set(CodeSet set) {
  Expr e;
  e.kind = ExprKind::kSet;
  e.set = std::move(set);
  return add(std::move(e));
}

ExprId Grammar::sequence(std::vector<ExprId> parts) {
  if (parts.size() == 1) return parts[0];
  Expr e;
  e.kind = ExprKind::kSequence;
  e.parts = std::move(parts);
  return add(std::move(e));
}

ExprId Grammar::choice(std::vector<ExprId> parts) {
  if (parts.size() == 1) return parts[0];
  Expr e;
  e.kind = ExprKind::kChoice;
  e.parts = std::move(parts);
  return add(std::move(e));
}

ExprId Grammar::repeat(ExprId part, uint32_t least, uint32_t most) {
  Expr e;
  e.kind = ExprKind::kRepeat;
  e.parts = {part};
  e.least = least, e.most = most;
  return add(std::move(e));
}

ExprId Grammar::call(uint32_t rule) {
  Expr e;
  e.kind = ExprKind::kRule;
  e.rule = rule;
  return add(std::move(e));
}

ExprId Grammar::members(Expr members) {
  members.kind = ExprKind::kMembers;
  return add(std::move(members));
}

uint32_t Grammar::add_rule(std::string name, bool is_shared) {
  rules_.push_back({std::move(name), 0, is_shared});
  return uint32_t(rules_.size() - 1);
}

}  // namespace ingot::grammar
