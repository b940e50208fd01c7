// SPDX-License-Identifier: Apache-2.0
#include "tools/import/pt2/expression.h"

#include <cctype>
#include <vector>

namespace ingot::pt2 {
namespace {

using graph::Dim;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}
  std::optional<Dim> run() {
    auto found = term(0);
    blanks();
    if (at_ != text_.size()) return std::nullopt;
    return found;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') at_++;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  std::string word() {
    blanks();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      at_++;
    return text_.substr(begin, at_ - begin);
  }
  static std::optional<int64_t> number(const std::string& digits) {
    if (digits.empty() || digits.size() > 18) return std::nullopt;
    for (const char c : digits)
      if (!std::isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    return std::stoll(digits);
  }
  /// Symbol('s0', positive=True, ...)
  std::optional<Dim> symbol() {
    if (!take('\'')) return std::nullopt;
    const std::string name = word();
    if (name.empty() || !take('\'')) return std::nullopt;
    while (take(',')) {
      if (word().empty() || !take('=') || word().empty()) return std::nullopt;
    }
    return take(')') ? std::optional<Dim>(Dim::symbol(name)) : std::nullopt;
  }
  std::optional<Dim> term(int depth) {
    if (depth > 32 || ++terms_ > 256) return std::nullopt;
    const bool negative = take('-');
    const std::string head = word();
    if (head.empty()) return std::nullopt;
    if (const auto n = number(head)) return Dim(negative ? -*n : *n);
    if (negative) return std::nullopt;
    if (!take('(')) return Dim::symbol(head);
    if (head == "Symbol") return symbol();
    std::vector<Dim> operands;
    do {
      auto one = term(depth + 1);
      if (!one) return std::nullopt;
      operands.push_back(*one);
    } while (take(','));
    if (!take(')')) return std::nullopt;
    if (head == "Integer")
      return operands.size() == 1 ? std::optional<Dim>(operands[0]) : std::nullopt;
    if (head != "Add" && head != "Mul") return std::nullopt;
    Dim all = operands[0];
    for (size_t i = 1; i < operands.size(); i++)
      all = head == "Add" ? all + operands[i] : all * operands[i];
    return all;
  }

  const std::string& text_;
  size_t at_ = 0;
  int terms_ = 0;
};

}  // namespace

std::optional<Dim> parse_expression(const std::string& text) {
  try {
    return Parser(text).run();
  } catch (const graph::DimError&) {
    return std::nullopt;
  }
}

}  // namespace ingot::pt2
