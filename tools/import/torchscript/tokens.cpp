// SPDX-License-Identifier: Apache-2.0
#include "tools/import/torchscript/tokens.h"

#include "tools/graph/graph.h"

namespace ingot::torchscript {
namespace {

constexpr size_t kMaxIndents = 256;

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || uint8_t(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

std::string shown(char c) {
  if (c >= 32 && c < 127) return std::string("'") + c + "'";
  return "byte " + std::to_string(int(uint8_t(c)));
}

}  // namespace

void Tokens::refuse(const std::string& what) const {
  graph::fail_corrupt(name_ + ":" + std::to_string(line_) + ": " + what);
}

/// At the start of a line: blocks that begin or end there. Lines without anything say nothing.
bool Tokens::line_start(Token* out) {
  size_t indent = 0;
  for (;;) {
    indent = 0;
    while (at_ < source_.size() && source_[at_] == ' ') at_++, indent++;
    if (at_ < source_.size() && source_[at_] == '\t')
      refuse("is indented with a tab, expected spaces");
    if (at_ < source_.size() && source_[at_] == '#')
      while (at_ < source_.size() && source_[at_] != '\n') at_++;
    if (at_ < source_.size() && source_[at_] == '\r') at_++;
    if (at_ >= source_.size() || source_[at_] != '\n') break;
    at_++, line_++;
  }
  if (at_ >= source_.size()) indent = 0;
  fresh_line_ = false;
  *out = {TokenKind::kIndent, line_, {}};
  if (indent > indents_.back()) {
    if (indents_.size() >= kMaxIndents)
      refuse("nests more than " + std::to_string(kMaxIndents) + " blocks");
    indents_.push_back(indent);
    return true;
  }
  while (indent < indents_.back()) {
    indents_.pop_back();
    dedents_++;
  }
  if (indent != indents_.back()) refuse("its indentation is that of no block around it");
  return false;
}

void Tokens::skip_blanks() {
  for (; at_ < source_.size(); at_++) {
    const char c = source_[at_];
    if (c == '#') {
      while (at_ < source_.size() && source_[at_] != '\n') at_++;
      if (at_ >= source_.size()) return;
    }
    if (source_[at_] == '\n') {
      if (open_ == 0) return;
      line_++;
    } else if (source_[at_] != ' ' && source_[at_] != '\t' && source_[at_] != '\r') {
      return;
    }
  }
}

Token Tokens::next() {
  Token token;
  if (fresh_line_ && open_ == 0 && line_start(&token)) return token;
  if (dedents_ > 0) {
    dedents_--;
    return {TokenKind::kDedent, line_, {}};
  }
  skip_blanks();
  if (at_ >= source_.size()) {
    if (open_ > 0) refuse("ends inside a bracket; the file is cut short");
    if (anything_) {  // the last line may lack its end
      anything_ = false;
      fresh_line_ = true;
      return {TokenKind::kLineEnd, line_, {}};
    }
    return {TokenKind::kEnd, line_, {}};
  }
  const char c = source_[at_];
  if (c == '\n') {
    token = {TokenKind::kLineEnd, line_, {}};
    at_++, line_++;
    fresh_line_ = true;
    anything_ = false;
    return token;
  }
  anything_ = true;
  if (is_name_start(c)) return name_token();
  if (is_digit(c) || (c == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1])))
    return number_token();
  if (c == '"' || c == '\'') return text_token();
  return mark_token();
}

Token Tokens::name_token() {
  const size_t from = at_;
  while (at_ < source_.size() && is_name(source_[at_])) at_++;
  return {TokenKind::kName, line_, source_.substr(from, at_ - from)};
}

Token Tokens::number_token() {
  const size_t from = at_;
  bool real = false;
  while (at_ < source_.size()) {
    const char c = source_[at_];
    const bool exponent = c == 'e' || c == 'E';
    if (exponent && at_ + 1 < source_.size() &&
        (source_[at_ + 1] == '-' || source_[at_ + 1] == '+'))
      at_++;
    if (!is_digit(c) && c != '.' && !exponent) break;
    real = real || !is_digit(c);
    at_++;
  }
  if (at_ < source_.size() && is_name_start(source_[at_])) {
    if (source_[at_] == 'j')
      graph::fail_unsupported(name_ + ":" + std::to_string(line_) +
                              ": complex numbers are not supported");
    refuse("a number is followed by " + shown(source_[at_]));
  }
  return {real ? TokenKind::kFloat : TokenKind::kInteger, line_, source_.substr(from, at_ - from)};
}

Token Tokens::text_token() {
  const size_t from = at_;
  const char quote = source_[at_++];
  while (at_ < source_.size() && source_[at_] != quote && source_[at_] != '\n')
    at_ += source_[at_] == '\\' ? 2 : 1;
  if (at_ >= source_.size() || source_[at_] != quote) refuse("a string has no end");
  at_++;
  return {TokenKind::kText, line_, source_.substr(from, at_ - from)};
}

Token Tokens::mark_token() {
  const char c = source_[at_];
  const size_t from = at_;
  size_t count = 1;
  if (c == '-' && at_ + 1 < source_.size() && source_[at_ + 1] == '>') count = 2;
  const bool opens = c == '(' || c == '[' || c == '{', closes = c == ')' || c == ']' || c == '}';
  if (!opens && !closes && c != ',' && c != ':' && c != '.' && c != '=' && c != '-')
    refuse(shown(c) + " is not expected; serialized TorchScript has no such operator");
  if (opens) open_++;
  if (closes && --open_ < 0) refuse(shown(c) + " closes nothing");
  at_ += count;
  return {TokenKind::kMark, line_, source_.substr(from, count)};
}

std::string unquoted(const Token& token, const std::string& place) {
  std::string out;
  const std::string_view text = token.text.substr(1, token.text.size() - 2);
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = ++i < text.size() ? text[i] : 0;
    constexpr char kNames[] = "abfnrtv\\'\"", kCodes[] = "\a\b\f\n\r\t\v\\'\"";
    const char* const known =
        c ? std::char_traits<char>::find(kNames, sizeof kNames - 1, c) : nullptr;
    if (known) {
      out += kCodes[known - kNames];
    } else if (c >= '0' && c <= '7') {
      int value = 0;
      size_t used = 0;
      while (used < 3 && i + used < text.size() && text[i + used] >= '0' && text[i + used] <= '7')
        value = value * 8 + (text[i + used++] - '0');
      out += char(value);
      i += used - 1;
    } else if (c == 'x') {
      int value = 0;
      size_t used = 0;
      for (; used < 2 && i + 1 + used < text.size(); used++) {
        const char h = text[i + 1 + used];
        const int digit = h >= '0' && h <= '9'   ? h - '0'
                          : h >= 'a' && h <= 'f' ? h - 'a' + 10
                          : h >= 'A' && h <= 'F' ? h - 'A' + 10
                                                 : -1;
        if (digit < 0) break;
        value = value * 16 + digit;
      }
      out += char(value);
      i += used;
    } else {
      graph::fail_corrupt(
          place, "a string has the unknown escape '\\" + (c ? std::string(1, c) : "") + "'");
    }
  }
  return out;
}

}  // namespace ingot::torchscript
