// SPDX-License-Identifier: Apache-2.0
// tools/text/template_lexer.h - a chat template as tokens: the text between tags, with the white
// space around them cut as Jinja does with trim_blocks and lstrip_blocks.
// Errors   host::Failure kUnsupported "WHERE: line N: what".
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ingot::chat {

enum class TokenKind {
  kData,
  kPrintBegin,
  kPrintEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 0;
};

std::vector<Token> lex_template(std::string_view source, const std::string& where);

/// How every error of a template begins.
[[noreturn]] void refuse_template(const std::string& where, int line, const std::string& what);

}  // namespace ingot::chat
