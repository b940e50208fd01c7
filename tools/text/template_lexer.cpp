// SPDX-License-Identifier: Apache-2.0
#include "tools/text/template_lexer.h"

#include <algorithm>

#include "runtime/text/template_machine.h"
#include "runtime/text/unicode.h"
#include "tools/files/failure.h"

namespace ingot::chat {
namespace {

size_t character_at(std::string_view text, size_t at, bool* is_space) {
  const text::Char c =
      text::char_at(reinterpret_cast<const uint8_t*>(text.data()) + at, text.size() - at);
  *is_space = c.bytes && text::is_python_space(c.code, c.traits);
  return c.bytes;
}

size_t skip_space(std::string_view text, size_t at) {
  bool is_space = true;
  while (at < text.size()) {
    const size_t bytes = character_at(text, at, &is_space);
    if (!is_space) break;
    at += bytes;
  }
  return at;
}

size_t end_without_space(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    bool is_space = false;
    at += character_at(text, at, &is_space);
    if (!is_space) end = at;
  }
  return end;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& where) : where_(where) {
    for (size_t i = 0; i < source.size(); i++) {
      const bool is_return = source[i] == '\r';
      if (is_return && i + 1 < source.size() && source[i + 1] == '\n') i++;
      text_ += is_return ? '\n' : source[i];
    }
    if (!text_.empty() && text_.back() == '\n') text_.pop_back();
  }

  std::vector<Token> run() {
    while (at_ < text_.size()) read_data();
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { refuse_template(where_, line_, what); }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void go_to(size_t end) {
    line_ += int(
        std::count(text_.begin() + std::ptrdiff_t(at_), text_.begin() + std::ptrdiff_t(end), '\n'));
    if (end > at_) behind_newline_ = text_[end - 1] == '\n';
    at_ = end;
  }
  bool has(std::string_view word, size_t at) const {
    return std::string_view(text_).substr(at, word.size()) == word;
  }

  /// Text up to the tag at `tag`.
  void add_data(size_t tag) {
    std::string_view data = std::string_view(text_).substr(at_, tag - at_);
    if (tag < text_.size()) {
      const char sign = tag + 2 < text_.size() ? text_[tag + 2] : ' ';
      const size_t last_line = data.rfind('\n') + 1;  // 0 where there is none
      if (sign == '-') {
        data = data.substr(0, end_without_space(data));
      } else if (sign != '+' && text_[tag + 1] != '{' && (last_line > 0 || behind_newline_) &&
                 skip_space(data, last_line) == data.size()) {
        data = data.substr(0, last_line);
      }
    }
    if (!data.empty()) add(TokenKind::kData, std::string(data));
    go_to(tag);
  }

  /// Where "%}" stands of the tag at `tag` if it is of that word alone, or 0.
  size_t end_of_word(size_t tag, std::string_view word) const {
    size_t at = skip_space(text_, tag + 2 + (has("-", tag + 2) || has("+", tag + 2)));
    if (!has("{%", tag) || !has(word, at)) return 0;
    at = skip_space(text_, at + word.size());
    at += has("-", at) || has("+", at);
    return has("%}", at) ? at : 0;
  }

  /// The tag here if it is "raw", and all as it stands up to "endraw".
  bool read_raw() {
    const size_t begin = end_of_word(at_, "raw");
    if (begin == 0) return false;
    leave(begin, text_[begin - 1], false);
    size_t tag = at_, end = 0;
    while ((tag = text_.find("{%", tag)) != std::string::npos &&
           (end = end_of_word(tag, "endraw")) == 0)
      tag++;
    if (end == 0) refuse("'raw' without 'endraw'");
    add_data(tag);
    leave(end, text_[end - 1], true);
    return true;
  }

  /// Text up to a tag, and the tag.
  void read_data() {
    size_t tag = at_;
    while ((tag = text_.find('{', tag)) != std::string::npos && tag + 1 < text_.size() &&
           text_[tag + 1] != '{' && text_[tag + 1] != '%' && text_[tag + 1] != '#')
      tag++;
    if (tag == std::string::npos || tag + 1 >= text_.size()) tag = text_.size();
    add_data(tag);
    if (at_ == text_.size() || read_raw()) return;
    const char kind = text_[at_ + 1];
    const bool has_sign = has("-", at_ + 2) || has("+", at_ + 2);
    if (kind == '#') return read_comment();
    add(kind == '{' ? TokenKind::kPrintBegin : TokenKind::kBlockBegin, "");
    go_to(at_ + 2 + (has_sign && (kind == '%' || text_[at_ + 2] == '-')));
    read_code(kind == '{' ? "}}" : "%}", kind == '%');
  }

  void read_comment() {
    const size_t end = text_.find("#}", at_ + 2);
    if (end == std::string::npos) refuse("a comment without an end");
    leave(end, text_[end - 1], true);
  }

  /// Behind the end of a tag, which is two characters at `end` behind `sign`.
  void leave(size_t end, char sign, bool trims) {
    go_to(end + 2);
    if (sign == '-')
      go_to(skip_space(text_, at_));
    else if (trims && sign != '+' && has("\n", at_))
      go_to(at_ + 1);
  }

  void read_code(std::string_view end, bool is_block) {
    std::string open;
    for (;;) {
      go_to(skip_space(text_, at_));
      if (at_ >= text_.size()) refuse("a tag without an end");
      const bool has_sign = (has("-", at_) || (is_block && has("+", at_))) && has(end, at_ + 1);
      if (open.empty() && (has_sign || has(end, at_))) {
        add(is_block ? TokenKind::kBlockEnd : TokenKind::kPrintEnd, "");
        return leave(at_ + has_sign, has_sign ? text_[at_] : ' ', is_block);
      }
      read_token(&open);
    }
  }
  void read_token(std::string* open) {
    const char c = text_[at_];
    if (begins_name(c)) {
      size_t end = at_;
      while (end < text_.size() && (begins_name(text_[end]) || is_digit(text_[end]))) end++;
      add(TokenKind::kName, text_.substr(at_, end - at_));
      return go_to(end);
    }
    if (is_digit(c)) return read_number();
    if (c == '"' || c == '\'') return read_string();
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"})
      if (has(two, at_)) {
        add(TokenKind::kOperator, std::string(two));
        return go_to(at_ + 2);
      }
    if (std::string_view("+-*/%~=<>|.,:()[]{}").find(c) == std::string_view::npos)
      refuse(std::string("the character '") + c + "' in a tag");
    if (c == '(' || c == '[' || c == '{') *open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open->empty() || open->back() != c) refuse(std::string("'") + c + "' closes nothing");
      open->pop_back();
    }
    add(TokenKind::kOperator, std::string(1, c));
    go_to(at_ + 1);
  }

  void read_number() {
    size_t end = at_;
    std::string digits;
    bool is_float = false;
    if (text_[at_] == '0' && at_ + 1 < text_.size() && begins_name(text_[at_ + 1]) &&
        text_[at_ + 1] != '_' && text_[at_ + 1] != 'e')
      refuse("a number that is not decimal");
    for (; end < text_.size(); end++) {
      const char c = text_[end];
      const bool has_next = end + 1 < text_.size() && is_digit(text_[end + 1]);
      if (is_digit(c)) {
        digits += c;
      } else if (c == '.' && !is_float && has_next && !behind_dot()) {
        digits += c, is_float = true;
      } else if (!(c == '_' && has_next)) {
        break;
      }
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E'))
      refuse("a number with an exponent");
    add(is_float ? TokenKind::kFloat : TokenKind::kInteger, digits);
    go_to(end);
  }
  /// "a.0.1" has no float.
  bool behind_dot() const {
    return !tokens_.empty() && tokens_.back().kind == TokenKind::kOperator &&
           tokens_.back().text == ".";
  }

  void read_string() {
    const char quote = text_[at_];
    std::string value;
    size_t i = at_ + 1;
    for (; i < text_.size() && text_[i] != quote; i++) {
      if (text_[i] != '\\') {
        value += text_[i];
        continue;
      }
      if (++i == text_.size()) break;
      i = read_escape(i, &value);
    }
    if (i >= text_.size()) refuse("a text without an end");
    add(TokenKind::kString, value);
    go_to(i + 1);
  }

  /// At what stands behind a backslash; where its last character stands.
  size_t read_escape(size_t i, std::string* value) const {
    const char c = text_[i];
    constexpr std::string_view kLetters = "abfnrtv\\'\"";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";
    if (const size_t found = kLetters.find(c); found != std::string_view::npos) {
      *value += kMeanings[found];
      return i;
    }
    if (c == '\n') return i;
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits > 0) {
      uint32_t code = 0;
      for (size_t k = 1; k <= digits; k++) {
        const char d = i + k < text_.size() ? text_[i + k] : ' ';
        const int hex = is_digit(d)            ? d - '0'
                        : d >= 'a' && d <= 'f' ? d - 'a' + 10
                        : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                               : -1;
        if (hex < 0) refuse("an escape of a text that is not of hexadecimal digits");
        code = code << 4 | uint32_t(hex);
      }
      if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        refuse("an escape of a text that is no character");
      uint8_t bytes[4];
      value->append(reinterpret_cast<char*>(bytes), text::put_code(code, bytes));
      return i + digits;
    }
    if (is_digit(c) || c == 'N') refuse(std::string("the escape \\") + c + " of a text");
    *value += '\\';
    *value += c;
    return i;
  }

  const std::string& where_;
  std::string text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 1;
  bool behind_newline_ = true;
};

}  // namespace

void refuse_template(const std::string& where, int line, const std::string& what) {
  host::fail(host::Exit::kUnsupported,
             where + ": chat template, line " + std::to_string(line) + ": not known: " + what);
}

std::vector<Token> lex_template(std::string_view source, const std::string& where) {
  return Lexer(source, where).run();
}

}  // namespace ingot::chat
