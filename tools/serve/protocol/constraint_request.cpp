// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/constraint_request.h"

#include "tools/files/failure.h"
#include "tools/serve/protocol/request_body.h"
#include "tools/text/json_schema.h"

namespace ingot::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxTools = 128;

template <class Compile>
std::vector<uint8_t> compiled(const std::string& field, Compile compile) {
  try {
    return compile();
  } catch (const host::Failure& failure) {
    refuse(Refusal::kInvalid, failure.message(), field);
  }
}

bool is_text(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string();
}

}  // namespace

bool ConstraintRequest::read_field(const std::string& key, const Json& value) {
  if (key == format_) {
    read_format(value);
  } else if (key == "grammar") {
    if (!value.is_string()) refuse_field(key, "expected a text, in GBNF");
    if (!field_.empty()) refuse_field(key, "expected no '" + field_ + "' beside it");
    field_ = key;
    grammar_ =
        compiled(key, [&] { return grammar::compile_gbnf(value.get<std::string>(), "'grammar'"); });
  } else if (key == "tools") {
    read_tools(value);
  } else if (key == "tool_choice") {
    read_choice(value);
  } else {
    return false;
  }
  return true;
}

void ConstraintRequest::read_format(const Json& value) {
  const std::string& field = format_;
  if (!is_text(value, "type")) refuse_field(field, "expected an object with a 'type'");
  const std::string type = value["type"].get<std::string>();
  Json schema = {{"type", "object"}};
  if (type == "text") return;
  if (type == "json_schema") {
    if (!value.contains("json_schema") || !value["json_schema"].is_object() ||
        !value["json_schema"].contains("schema"))
      refuse_field(field, "expected 'json_schema' with a 'schema'");
    schema = value["json_schema"]["schema"];
  } else if (type == "json_object") {
    if (value.contains("schema")) schema = value["schema"];
  } else {
    refuse_field(field, "the type '" + type + "' is none of text, json_object, json_schema");
  }
  if (!field_.empty()) refuse_field(field, "expected no '" + field_ + "' beside it");
  field_ = field;
  grammar_ =
      compiled(field, [&] { return grammar::compile_json_schema(schema, "'" + field + "'"); });
}

void ConstraintRequest::read_tools(const Json& value) {
  if (!value.is_array()) refuse_field("tools", "expected a list");
  if (value.size() > kMaxTools)
    refuse_field("tools", std::to_string(value.size()) + " tools, at most " +
                              std::to_string(kMaxTools) + " are taken");
  for (const Json& tool : value) {
    const bool is_function = is_text(tool, "type") && tool["type"] == "function" &&
                             tool.contains("function") && is_text(tool["function"], "name");
    if (!is_function) refuse_field("tools", "expected functions with a name");
  }
  tools_ = value;
}

void ConstraintRequest::read_choice(const Json& value) {
  if (is_text(value, "type") && value.contains("function") && is_text(value["function"], "name")) {
    choice_ = Choice::kNamed;
    chosen_ = value["function"]["name"].get<std::string>();
    return;
  }
  if (value == "auto")
    choice_ = Choice::kAuto;
  else if (value == "none")
    choice_ = Choice::kNone;
  else if (value == "required")
    choice_ = Choice::kRequired;
  else
    refuse_field("tool_choice", "expected auto, none, required or a function");
}

void ConstraintRequest::finish(const Text& text, ToolUse* use, std::vector<uint8_t>* grammar) {
  *grammar = std::move(grammar_);
  if (choice_ == Choice::kNone) return;
  Json callable = Json::array();
  for (const Json& tool : tools_)
    if (choice_ != Choice::kNamed || tool["function"]["name"] == chosen_) callable.push_back(tool);
  const bool is_forced = choice_ != Choice::kAuto;
  if (callable.empty() && is_forced)
    refuse_field("tool_choice", chosen_.empty() ? "expected 'tools' beside it"
                                                : "there is no tool '" + chosen_ + "'");
  if (callable.empty()) return;
  if (!field_.empty() && is_forced)
    refuse_field("tool_choice", "expected no '" + field_ + "' beside a call that is required");
  offered_ = tools_;
  use->is_offered = true;
  use->is_forced = is_forced;
  use->form = tool_form_of(text);
  for (const Json& tool : callable) use->names.push_back(tool["function"]["name"]);
  if (is_forced)
    *grammar = compiled("tools", [&] { return compile_tool_call(callable, use->form); });
}

}  // namespace ingot::serve
