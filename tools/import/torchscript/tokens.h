// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/tokens.h - the serialized code as tokens: names, literals, marks, and
// where blocks begin and end.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::torchscript {

enum class TokenKind : uint8_t {
  kName,
  kInteger,
  kFloat,
  kText,
  kMark,
  kLineEnd,
  kIndent,
  kDedent,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t line = 1;
  std::string_view text;  // as written; of kMark one of ( ) [ ] { } , : . = - -> and the like
};

/// One token after the other; what lies in brackets is one line.
class Tokens {
 public:
  /// `name` is for messages, "net.pt: code/__torch__.py".
  Tokens(std::string_view source, std::string name) : source_(source), name_(std::move(name)) {}
  /// @throws graph::ConversionError(kCorrupt) for a character, a string or an indentation that the
  /// language does not have; 4 for a number that is none of ours.
  Token next();

 private:
  bool line_start(Token* out);
  void skip_blanks();
  Token name_token();
  Token number_token();
  Token text_token();
  Token mark_token();
  [[noreturn]] void refuse(const std::string& what) const;

  std::string_view source_;
  std::string name_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  std::vector<size_t> indents_{0};
  size_t dedents_ = 0;
  int open_ = 0;
  bool fresh_line_ = true, anything_ = false;
};

/// What a string token stands for, without its quotes. @throws graph::ConversionError(kCorrupt).
std::string unquoted(const Token& token, const std::string& place);

}  // namespace ingot::torchscript
