// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/tool_calls.h - calls of tools as families of models write them: what
// constrains an answer to one, and where the text of an answer has them.
//   Hermes, Qwen   <tool_call>{"name": ..., "arguments": {...}}</tool_call>
//   Llama 3        {"name": ..., "parameters": {...}}
//   Mistral        [TOOL_CALLS][{"name": ..., "arguments": {...}}]
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/include/ingot/text.hpp"

namespace ingot::serve {

enum class ToolForm : uint8_t { kTagged, kLlama, kMistral };

struct ToolUse {
  bool is_offered = false;  // answers may have calls
  bool is_forced = false;   // the answer is one
  ToolForm form = ToolForm::kTagged;
  std::vector<std::string> names;
};

struct ToolCall {
  std::string name, arguments;  // as JSON
};
/// Whether its arguments are an object: a model may have written any text in their place.
bool has_object(const ToolCall& call);

/// By the tokens of the vocabulary; without one that tells, the first.
ToolForm tool_form_of(const Text& text);
/// What a prompt ends with before a call that is forced: a token that a constraint does not allow.
const char* forced_prefix(ToolForm form);
/// One call of these tools, compiled. @throws host::Failure
std::vector<uint8_t> compile_tool_call(const nlohmann::ordered_json& tools, ToolForm form);

/// Bytes of the text so far that belong to no call for sure.
size_t bytes_before_call(std::string_view text, const ToolUse& use);
/// The calls at the end of a whole answer; none: it has no call in the form. `*content`: what
/// stands before them
std::vector<ToolCall> find_tool_calls(std::string_view text, const ToolUse& use,
                                      std::string_view* content);

}  // namespace ingot::serve
