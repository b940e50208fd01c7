// SPDX-License-Identifier: Apache-2.0
#include "tools/text/json_pattern.h"

#include "runtime/text/unicode.h"
#include "tools/files/failure.h"

namespace ingot::grammar {
namespace {

constexpr int kMaxPatternGroups = 64;  // in one another
constexpr uint32_t kMaxPatternTimes = 1u << 16;

class PatternReader {
 public:
  PatternReader(const std::string& pattern, const std::string& where, Grammar* grammar,
                JsonPieces* pieces)
      : text_(pattern), where_(where), g_(*grammar), pieces_(*pieces) {}

  ExprId read() {
    std::vector<ExprId> parts = {read_anchored()};
    while (take('|')) parts.push_back(read_anchored());
    if (at_ < text_.size()) refuse("a ) without its (");
    return g_.choice(std::move(parts));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    host::fail(host::Exit::kMismatch, where_ + ": at " + std::to_string(at_) + ": " + what);
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    host::fail(host::Exit::kUnsupported,
               where_ + ": at " + std::to_string(at_) + ": " + what + " is not supported");
  }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool has(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    const bool is_there = has(c);
    at_ += is_there;
    return is_there;
  }

  /// Without ^ anything may stand before it, without $ behind it.
  ExprId read_anchored() {
    const ExprId any = g_.repeat(pieces_.character(), 0, kUnbounded);
    std::vector<ExprId> parts;
    if (!take('^')) parts.push_back(any);
    parts.push_back(read_sequence(0));
    if (!take('$')) parts.push_back(any);
    if (at_ < text_.size() && !has('|') && !has(')')) unsupported("$ inside a pattern");
    return g_.sequence(std::move(parts));
  }

  ExprId read_choice(int depth) {
    if (depth > kMaxPatternGroups) unsupported("so deep a group");
    std::vector<ExprId> parts = {read_sequence(depth)};
    while (take('|')) parts.push_back(read_sequence(depth));
    return g_.choice(std::move(parts));
  }

  ExprId read_sequence(int depth) {
    std::vector<ExprId> parts;
    while (at_ < text_.size() && !has('|') && !has(')') && !(has('$') && depth == 0))
      parts.push_back(read_times(read_atom(depth)));
    return g_.sequence(std::move(parts));
  }

  ExprId read_atom(int depth) {
    const char c = peek();
    if (c == '^' || c == '$') unsupported(std::string(1, c) + " inside a pattern");
    if (c == '*' || c == '+' || c == '?' || c == '{') refuse("a repetition of nothing");
    if (c == '(') {
      at_++;
      if (take('?') && !take(':')) unsupported("a group of this kind");
      const ExprId group = read_choice(depth + 1);
      if (!take(')')) refuse("a ( without its )");
      return group;
    }
    if (c == '[') return pieces_.character_of(read_class());
    if (c == '.') {
      at_++;
      return pieces_.character_of(negated_set({{'\n', '\n'}, {'\r', '\r'}}));
    }
    CodeSet set;
    read_code(&set);
    return pieces_.character_of(sorted_set(std::move(set)));
  }

  ExprId read_times(ExprId part) {
    uint32_t least = 0, most = kUnbounded;
    if (take('*')) {
    } else if (take('+')) {
      least = 1;
    } else if (take('?')) {
      most = 1;
    } else if (take('{')) {
      least = most = read_count();
      if (take(',')) most = has('}') ? kUnbounded : read_count();
      if (!take('}')) refuse("expected }");
      if (most < least) refuse("a repetition that ends before it begins");
    } else {
      return part;
    }
    if (has('?') || has('+')) unsupported("a repetition that is not greedy");
    if (has('*') || has('{')) refuse("a repetition of a repetition");
    return g_.repeat(part, least, most);
  }

  uint32_t read_count() {
    if (peek() < '0' || peek() > '9') refuse("expected a number");
    uint32_t count = 0;
    for (; peek() >= '0' && peek() <= '9'; at_++) {
      count = count * 10 + uint32_t(peek() - '0');
      if (count > kMaxPatternTimes) refuse("a repetition that is too long");
    }
    return count;
  }

  CodeSet read_class() {
    at_++;
    const bool is_negated = take('^');
    CodeSet all;
    while (!has(']')) {
      if (at_ >= text_.size()) refuse("a [ without its ]");
      CodeSet low;
      const bool is_one = read_code(&low);
      if (!has('-') || peek(1) == ']') {
        all.insert(all.end(), low.begin(), low.end());
        continue;
      }
      at_++;
      CodeSet high;
      if (!is_one || !read_code(&high)) refuse("a range of more than characters");
      if (high[0].low < low[0].low) refuse("a range that ends before it begins");
      all.push_back({low[0].low, high[0].low});
    }
    at_++;
    all = sorted_set(std::move(all));
    return is_negated ? negated_set(all) : all;
  }

  /// A character, or the class of an escape. True: one character.
  bool read_code(CodeSet* out) {
    const text::Char c =
        text::char_at(reinterpret_cast<const uint8_t*>(text_.data()) + at_, text_.size() - at_);
    if (c.bytes == 0) refuse("the pattern ends too early");
    if (c.code != '\\') {
      at_ += c.bytes;
      *out = {{c.code, c.code}};
      return true;
    }
    at_++;
    const char escape = peek();
    if (at_ >= text_.size()) refuse("a \\ at the end");
    at_++;
    const CodeSet digits = {{'0', '9'}}, words = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    const CodeSet spaces = {{'\t', '\r'}, {' ', ' '}};
    const auto one = [&](uint32_t code) {
      *out = {{code, code}};
      return true;
    };
    switch (escape) {
      case 'd': *out = digits; return false;
      case 'D': *out = negated_set(digits); return false;
      case 'w': *out = words; return false;
      case 'W': *out = negated_set(words); return false;
      case 's': *out = spaces; return false;
      case 'S':  // none of Unicode's either, by whichever dialect it is read
        *out = negated_set(sorted_set({{'\t', '\r'},
                                       {0x1c, 0x20},
                                       {0x85, 0x85},
                                       {0xa0, 0xa0},
                                       {0x1680, 0x1680},
                                       {0x2000, 0x200a},
                                       {0x2028, 0x2029},
                                       {0x202f, 0x202f},
                                       {0x205f, 0x205f},
                                       {0x3000, 0x3000},
                                       {0xfeff, 0xfeff}}));
        return false;
      case 'n': return one('\n');
      case 'r': return one('\r');
      case 't': return one('\t');
      case 'f': return one('\f');
      case 'v': return one('\v');
      case 'x': return one(read_hex(2));
      case 'u': return one(read_hex(4));
      default: break;
    }
    const bool is_letter = (escape >= 'a' && escape <= 'z') || (escape >= 'A' && escape <= 'Z') ||
                           (escape >= '0' && escape <= '9') || uint8_t(escape) >= 0x80;
    if (is_letter) unsupported(std::string("\\") + escape);
    return one(uint8_t(escape));
  }

  uint32_t read_hex(int digits) {
    uint32_t code = 0;
    for (int i = 0; i < digits; i++, at_++) {
      const char c = peek();
      const bool is_digit = c >= '0' && c <= '9', is_lower = c >= 'a' && c <= 'f';
      if (!is_digit && !is_lower && !(c >= 'A' && c <= 'F')) refuse("expected digits of an escape");
      code = code << 4 | uint32_t(is_digit ? c - '0' : is_lower ? c - 'a' + 10 : c - 'A' + 10);
    }
    if (code >= 0xd800 && code <= 0xdfff) unsupported("half of a pair of surrogates");
    return code;
  }

  const std::string& text_;
  const std::string& where_;
  Grammar& g_;
  JsonPieces& pieces_;
  size_t at_ = 0;
};

}  // namespace

ExprId read_pattern(const std::string& pattern, const std::string& where, Grammar* grammar,
                    JsonPieces* pieces) {
  return PatternReader(pattern, where, grammar, pieces).read();
}

}  // namespace ingot::grammar
