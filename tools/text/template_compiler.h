// SPDX-License-Identifier: Apache-2.0
// tools/text/template_compiler.h - a chat template as the program that runtime/text/template.h
// renders (runtime/format/template_codes.h). Names are bound to slots here: a loop, a macro and a
// block that captures have variables of their own, which begin as those outside.
// Errors   host::Failure kUnsupported "WHERE: chat template, line N: what", for all that Ingot does
//          not have.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/format/template_part.h"

namespace ingot::chat {

struct CompiledTemplate {
  uint16_t inputs = 0;
  std::vector<std::string> texts;
  std::vector<uint32_t> code;
  std::vector<uint16_t> lines;
  std::vector<TemplateFunctionRow> functions;
};

CompiledTemplate compile_template(std::string_view source, const std::string& where);

/// The chat template of a source, for the part of a file.
struct ChatTemplate {
  bool is_there = false;
  std::string refused;  // why it is not compiled
  CompiledTemplate program;
  std::string bos, eos;
};
/// One that is not known is refused in place of an error.
ChatTemplate chat_template_of(std::string_view source, const std::string& where);

}  // namespace ingot::chat
