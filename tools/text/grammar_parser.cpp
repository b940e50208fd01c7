// SPDX-License-Identifier: Apache-2.0
// tools/text/grammar_parser.cpp - GBNF, as llama.cpp's users write it: rules of literals, classes
// of characters, groups, alternatives and repetitions.
#include <map>

#include "runtime/text/unicode.h"
#include "tools/files/failure.h"
#include "tools/text/grammar.h"

namespace ingot::grammar {
namespace {

constexpr int kMaxGroups = 128;  // in one another
constexpr uint32_t kMaxTimes = 1u << 20;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfParser {
 public:
  GbnfParser(std::string_view text, const std::string& where)
      : text_(text), where_(where), grammar_(where) {
    if (!text::is_utf8({reinterpret_cast<const uint8_t*>(text.data()), text.size()}))
      host::fail(host::Exit::kMismatch, where + ": is not UTF-8");
  }

  std::vector<uint8_t> compile() {
    for (skip(true); at_ < text_.size(); skip(true)) read_rule();
    for (const auto& [name, rule] : rules_)
      if (!rule.is_defined)
        host::fail(host::Exit::kMismatch, where_ + ": line " + std::to_string(rule.line) +
                                              ": there is no rule '" + name + "'");
    const auto root = rules_.find("root");
    if (root == rules_.end())
      host::fail(host::Exit::kMismatch, where_ + ": has no rule 'root', which answers begin with");
    return compile_grammar(grammar_, root->second.id);
  }

 private:
  struct Named {
    uint32_t id = 0;
    bool is_defined = false;
    size_t line = 0;  // of its first mention
  };

  [[noreturn]] void refuse(const std::string& what) const {
    host::fail(host::Exit::kMismatch, where_ + ": line " + std::to_string(line_) + ": " + what);
  }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void advance() { line_ += text_[at_++] == '\n'; }
  /// Spaces and comments; ends of lines too, if they may be there.
  void skip(bool lines) {
    for (; at_ < text_.size(); advance()) {
      if (peek() == '#')
        while (at_ < text_.size() && peek() != '\n' && peek() != '\r') at_++;
      const char c = peek();
      if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r'))) return;
    }
  }

  std::string read_name() {
    const size_t begin = at_;
    while (is_name_character(peek())) at_++;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Named& named(const std::string& name) {
    const auto [at, is_new] = rules_.try_emplace(name);
    if (is_new) at->second = {grammar_.add_rule(name, false), false, line_};
    return at->second;
  }

  void read_rule() {
    const std::string name = read_name();
    if (name.empty()) refuse("expected the name of a rule, found " + shown());
    skip(false);
    if (text_.substr(at_, 3) != "::=") refuse("expected ::= behind '" + name + "'");
    at_ += 3;
    Named& rule = named(name);
    if (rule.is_defined) refuse("rule '" + name + "' is there twice");
    rule.is_defined = true;
    const uint32_t id = rule.id;
    skip(true);
    grammar_.define(id, read_choice(0));
    if (at_ < text_.size() && peek() != '\n' && peek() != '\r')
      refuse("expected the end of the rule, found " + shown());
  }

  std::string shown() const {
    if (at_ >= text_.size()) return "the end";
    if (peek() == '\n' || peek() == '\r') return "the end of the line";
    const text::Char c =
        text::char_at(reinterpret_cast<const uint8_t*>(text_.data()) + at_, text_.size() - at_);
    return "'" + std::string(text_.substr(at_, c.bytes)) + "'";
  }

  /// A '|' may begin the next line.
  bool has_alternative() {
    const size_t at = at_, line = line_;
    skip(true);
    if (peek() == '|') return true;
    at_ = at, line_ = line;
    return false;
  }

  ExprId read_choice(int depth) {
    if (depth > kMaxGroups) refuse("groups nest deeper than " + std::to_string(kMaxGroups));
    std::vector<ExprId> parts = {read_sequence(depth)};
    while (has_alternative()) {
      at_++;
      skip(true);
      parts.push_back(read_sequence(depth));
    }
    return grammar_.choice(std::move(parts));
  }

  ExprId read_sequence(int depth) {
    std::vector<ExprId> parts;
    for (;; skip(depth > 0)) {
      const char c = peek();
      ExprId part = 0;
      if (c == '"') {
        part = read_literal();
      } else if (c == '[') {
        part = read_set();
      } else if (c == '.') {
        at_++;
        part = grammar_.set({{0, 0xd7ff}, {0xe000, kMaxCode}});
      } else if (c == '(') {
        at_++;
        skip(true);
        part = read_choice(depth + 1);
        skip(true);
        if (peek() != ')') refuse("expected ) , found " + shown());
        at_++;
      } else if (is_name_character(c)) {
        part = grammar_.call(named(read_name()).id);
      } else if (c == '<' || c == '!') {
        host::fail(host::Exit::kUnsupported, where_ + ": line " + std::to_string(line_) +
                                                 ": tokens by name or number (" + shown() +
                                                 ") are not supported; write their text");
      } else {
        if (c == '*' || c == '+' || c == '?' || c == '{')
          refuse("expected something before " + shown());
        return grammar_.sequence(std::move(parts));
      }
      parts.push_back(read_times(part));
    }
  }

  ExprId read_times(ExprId part) {
    for (;;) {
      skip(false);
      const char c = peek();
      if (c == '*' || c == '+' || c == '?') {
        at_++;
        part = grammar_.repeat(part, c == '+' ? 1 : 0, c == '?' ? 1 : kUnbounded);
      } else if (c == '{') {
        at_++;
        skip(false);
        const uint32_t least = read_count();
        uint32_t most = least;
        skip(false);
        if (peek() == ',') {
          at_++;
          skip(false);
          most = peek() == '}' ? kUnbounded : read_count();
          skip(false);
        }
        if (peek() != '}') refuse("expected } , found " + shown());
        at_++;
        if (most < least)
          refuse("a repetition of at least " + std::to_string(least) + " times, and at most " +
                 std::to_string(most));
        part = grammar_.repeat(part, least, most);
      } else {
        return part;
      }
    }
  }

  uint32_t read_count() {
    if (peek() < '0' || peek() > '9') refuse("expected a number, found " + shown());
    uint32_t count = 0;
    for (; peek() >= '0' && peek() <= '9'; at_++) {
      count = count * 10 + uint32_t(peek() - '0');
      if (count > kMaxTimes) refuse("repetitions of at most " + std::to_string(kMaxTimes));
    }
    return count;
  }

  ExprId read_literal() {
    std::string bytes;
    at_++;
    while (peek() != '"') {
      const uint32_t code = read_character();
      uint8_t utf8[4];
      const size_t count = text::put_code(code, utf8);
      bytes.append(reinterpret_cast<const char*>(utf8), count);
    }
    at_++;
    return grammar_.bytes(std::move(bytes));
  }

  ExprId read_set() {
    at_++;
    const bool is_negated = peek() == '^';
    if (is_negated) at_++;
    CodeSet set;
    while (peek() != ']') {
      const uint32_t low = read_character();
      uint32_t high = low;
      if (peek() == '-' && peek(1) != ']') {
        at_++;
        high = read_character();
      }
      if (high < low) refuse("a range of characters that ends before it begins");
      set.push_back({low, high});
    }
    at_++;
    set = sorted_set(std::move(set));
    return grammar_.set(is_negated ? negated_set(set) : set);
  }

  /// One code point of a literal or a class.
  uint32_t read_character() {
    if (at_ >= text_.size()) refuse("the text ends inside a literal or a class");
    if (peek() != '\\') {
      const text::Char c =
          text::char_at(reinterpret_cast<const uint8_t*>(text_.data()) + at_, text_.size() - at_);
      line_ += peek() == '\n';
      at_ += c.bytes;
      return c.code;
    }
    at_++;
    const char c = peek();
    at_ += at_ < text_.size();
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x': return read_hex(2);
      case 'u': return read_hex(4);
      case 'U': return read_hex(8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^': return uint32_t(c);
      default: refuse(std::string("the escape \\") + c + " is not known");
    }
  }

  uint32_t read_hex(int digits) {
    uint64_t code = 0;
    for (int i = 0; i < digits; i++, at_++) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse("expected " + std::to_string(digits) + " digits of an escape");
      code = code << 4 | uint64_t(digit);
    }
    if (code > kMaxCode || (code >= 0xd800 && code <= 0xdfff))
      refuse("an escape of what is no character");
    return uint32_t(code);
  }

  const std::string_view text_;
  const std::string& where_;
  Grammar grammar_;
  std::map<std::string, Named> rules_;
  size_t at_ = 0, line_ = 1;
};

}  // namespace

std::vector<uint8_t> compile_gbnf(std::string_view text, const std::string& where) {
  return GbnfParser(text, where).compile();
}

}  // namespace ingot::grammar
