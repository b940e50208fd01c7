// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/tool_calls.h"

#include <algorithm>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/files/failure.h"
#include "tools/text/json_schema.h"

namespace ingot::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>",
                           kMistral = "[TOOL_CALLS]", kLlama = "<|python_tag|>";
constexpr std::string_view kBlank = " \t\r\n";

std::string_view marker_of(ToolForm form) { return form == ToolForm::kMistral ? kMistral : kOpen; }

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

bool add_call(const Json& json, const ToolUse& use, std::vector<ToolCall>* calls) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return false;
  const std::string name = json["name"].get<std::string>();
  if (std::find(use.names.begin(), use.names.end(), name) == use.names.end()) return false;
  for (const char* key : {"arguments", "parameters"}) {
    const auto found = json.find(key);
    if (found == json.end()) continue;
    if (!found->is_object() && !found->is_string()) return false;
    calls->push_back({name, found->is_string() ? found->get<std::string>() : found->dump()});
    return true;
  }
  return false;
}

/// A call, or a list of calls.
bool add_calls(std::string_view text, const ToolUse& use, std::vector<ToolCall>* calls) {
  Json json;
  try {
    json = checkpoint::parse_bounded_json(text, "a call", 100);
  } catch (const host::Failure&) {
    return false;  // the text is content
  }
  if (!json.is_array()) return add_call(json, use, calls);
  for (const Json& one : json)
    if (!add_call(one, use, calls)) return false;
  return !json.empty();
}

}  // namespace

bool has_object(const ToolCall& call) {
  try {
    return checkpoint::parse_bounded_json(call.arguments, "arguments", 100).is_object();
  } catch (const host::Failure&) {
    return false;
  }
}

ToolForm tool_form_of(const Text& text) {
  ToolForm form = ToolForm::kTagged;
  const char* bytes = nullptr;
  size_t count = 0;
  for (int32_t id = 0; ingot_text_token(text.get(), id, &bytes, &count, nullptr) == INGOT_OK;
       id++) {
    const std::string_view piece(bytes, count);
    if (piece == kOpen) return ToolForm::kTagged;
    if (piece == kMistral) form = ToolForm::kMistral;
    if (piece == kLlama) form = ToolForm::kLlama;
  }
  return form;
}

const char* forced_prefix(ToolForm form) {
  return form == ToolForm::kMistral ? kMistral.data() : "";
}

std::vector<uint8_t> compile_tool_call(const Json& tools, ToolForm form) {
  grammar::Grammar g("'tools'");
  std::vector<grammar::ExprId> calls;
  for (const Json& tool : tools) {
    const Json& function = tool["function"];
    const auto given = function.find("parameters");
    const Json schema =
        given != function.end() && !given->is_null() ? *given : Json{{"type", "object"}};
    const std::string key = form == ToolForm::kLlama ? "parameters" : "arguments";
    const std::string begin = "{\"name\": " + function["name"].dump() + ", \"" + key + "\": ";
    calls.push_back(
        g.sequence({g.bytes(begin), g.call(grammar::add_json_schema(schema, &g)), g.bytes("}")}));
  }
  std::vector<grammar::ExprId> all = {g.choice(std::move(calls))};
  if (form == ToolForm::kTagged)
    all = {g.bytes(std::string(kOpen) + "\n"), all[0], g.bytes("\n" + std::string(kClose))};
  if (form == ToolForm::kMistral) all = {g.bytes("["), all[0], g.bytes("]")};
  const uint32_t root = g.add_rule("root", true);
  g.define(root, g.sequence(std::move(all)));
  return grammar::compile_grammar(g, root);
}

size_t bytes_before_call(std::string_view text, const ToolUse& use) {
  if (use.is_forced) return 0;
  if (use.form == ToolForm::kLlama) {
    const size_t first = text.find_first_not_of(kBlank);
    return first == std::string_view::npos || text[first] == '{' ? 0 : text.size();
  }
  const std::string_view marker = marker_of(use.form);
  if (const size_t at = text.find(marker); at != std::string_view::npos) return at;
  size_t held = std::min(marker.size() - 1, text.size());
  while (text.substr(text.size() - held) != marker.substr(0, held)) held--;
  return text.size() - held;
}

std::vector<ToolCall> find_tool_calls(std::string_view text, const ToolUse& use,
                                      std::string_view* content) {
  std::vector<ToolCall> calls;
  *content = {};
  const bool has_marker = use.form != ToolForm::kLlama;
  const size_t begin = has_marker ? text.find(marker_of(use.form)) : 0;
  bool is_fine = true;
  if (use.form == ToolForm::kTagged && begin != std::string_view::npos) {
    for (size_t at = begin; at != std::string_view::npos && is_fine;) {
      const size_t end = text.find(kClose, at);
      is_fine = add_calls(text.substr(at + kOpen.size(), end - at - kOpen.size()), use, &calls);
      at = end == std::string_view::npos ? end : text.find(kOpen, end);
    }
  } else if (begin != std::string_view::npos || use.is_forced) {
    const size_t skipped = !has_marker || use.is_forced ? 0 : begin + kMistral.size();
    is_fine = add_calls(without_blanks(text.substr(skipped)), use, &calls);
  }
  if (!is_fine) calls.clear();
  if (calls.empty())
    *content = text;
  else if (!use.is_forced)
    *content = without_blanks(text.substr(0, begin));
  return calls;
}

}  // namespace ingot::serve
