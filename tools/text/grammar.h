// SPDX-License-Identifier: Apache-2.0
// tools/text/grammar.h - a grammar of rules as it is read, and its compilation to the automaton
// that runtime/text/grammar.h describes.
// Errors   host::Failure kMismatch: what was given is no grammar, or no text satisfies it;
//          kUnsupported: what is not known or too large. Each is "WHERE: what".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::grammar {

constexpr uint32_t kUnbounded = ~uint32_t{0};
constexpr uint32_t kMaxCode = 0x10ffff;

struct CodeRange {
  uint32_t low, high;
};
using CodeSet = std::vector<CodeRange>;  // code points, in order, without surrogates
CodeSet sorted_set(CodeSet ranges);
CodeSet negated_set(const CodeSet& set);
CodeSet common_set(const CodeSet& a, const CodeSet& b);

enum class ExprKind : uint8_t { kBytes, kSet, kSequence, kChoice, kRepeat, kRule, kMembers };

using ExprId = uint32_t;
/// kMembers: parts are members of an object in this order, of which those that are not required may
/// be left out. A separator stands between two. `extra` may follow them, any number of times;
/// `behind` follows the last, if there is one.
struct Expr {
  ExprKind kind = ExprKind::kBytes;
  std::string bytes;
  CodeSet set;
  std::vector<ExprId> parts;
  std::vector<bool> required;
  uint32_t least = 0, most = 0;  // of a repetition
  uint32_t rule = 0;
  ExprId separator = 0, behind = 0, extra = 0;
  bool has_extra = false;
};

struct Rule {
  std::string name;
  ExprId body = 0;
  bool is_shared = false;  // one automaton for all its uses, whatever its size
};

class Grammar {
 public:
  explicit Grammar(std::string where) : where_(std::move(where)) {}
  const std::string& where() const { return where_; }

  ExprId bytes(std::string text);
  ExprId set(CodeSet set);
  ExprId sequence(std::vector<ExprId> parts);
  ExprId choice(std::vector<ExprId> parts);  // of none: nothing satisfies it
  ExprId repeat(ExprId part, uint32_t least, uint32_t most);
  ExprId optional(ExprId part) { return repeat(part, 0, 1); }
  ExprId call(uint32_t rule);
  ExprId members(Expr members);
  uint32_t add_rule(std::string name, bool is_shared);
  void define(uint32_t rule, ExprId body) { rules_[rule].body = body; }

  const Expr& expr(ExprId id) const { return exprs_[id]; }
  const Rule& rule(uint32_t id) const { return rules_[id]; }
  uint32_t rules() const { return uint32_t(rules_.size()); }

 private:
  ExprId add(Expr expr);
  std::string where_;
  std::vector<Expr> exprs_;
  std::vector<Rule> rules_;
};

/// `text` is GBNF with a rule `root`.
std::vector<uint8_t> compile_gbnf(std::string_view text, const std::string& where);
std::vector<uint8_t> compile_grammar(const Grammar& grammar, uint32_t root);

}  // namespace ingot::grammar
