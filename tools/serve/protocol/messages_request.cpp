// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/messages_request.h"

#include "tools/serve/protocol/request_body.h"

namespace ingot::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string item_of(const std::string& list, size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

const Json& needed(const std::string& where, const Json& object, const char* key) {
  if (!object.is_object()) refuse_field(where, "expected an object");
  const auto found = object.find(key);
  const std::string field = where.empty() ? key : where + "." + key;
  if (found == object.end() || found->is_null()) refuse_field(field, "is missing");
  return *found;
}

const std::string& needed_text(const std::string& where, const Json& object, const char* key) {
  return text_of_field(where + "." + key, needed(where, object, key));
}

/// A caller's marks of what may be cached mean nothing here: all of a prompt is.
bool is_mark(const std::string& key) { return key == "cache_control" || key == "citations"; }

Json tool_of(const std::string& where, const Json& tool) {
  Json function = {{"name", needed_text(where, tool, "name")}};
  if (tool.contains("type") && tool["type"] != "custom" && !tool["type"].is_null())
    refuse_unsupported(where + ".type", ": expected \"custom\", with an 'input_schema'");
  for (const auto& [key, value] : tool.items()) {
    if (key == "description" && !value.is_null())
      function[key] = text_of_field(where + ".description", value);
    else if (key != "name" && key != "type" && key != "input_schema" && !is_mark(key) &&
             !is_nothing(value))
      refuse_unsupported(where + "." + key);
  }
  function["parameters"] = needed(where, tool, "input_schema");
  return {{"type", "function"}, {"function", std::move(function)}};
}

Json tools_of(const Json& tools) {
  if (!tools.is_array()) refuse_field("tools", "expected a list");
  Json made = Json::array();
  for (size_t i = 0; i < tools.size(); i++) made.push_back(tool_of(item_of("tools", i), tools[i]));
  return made;
}

Json choice_of(const Json& choice) {
  const std::string& type = needed_text("tool_choice", choice, "type");
  if (type == "auto" || type == "none") return type;
  if (type == "any") return "required";
  if (type != "tool") refuse_field("tool_choice.type", "expected auto, any, tool or none");
  const std::string& name = needed_text("tool_choice", choice, "name");
  return {{"type", "function"}, {"function", {{"name", name}}}};
}

/// {"format": {"type": "json_schema", "schema": ...}}
Json format_of(const Json& config) {
  const Json& format = needed("output_config", config, "format");
  const std::string where = "output_config.format";
  for (const auto& [key, value] : config.items())
    if (key != "format" && !is_nothing(value)) refuse_unsupported("output_config." + key);
  if (needed_text(where, format, "type") != "json_schema")
    refuse_unsupported(where + ".type", ": expected \"json_schema\"");
  return {{"type", "json_schema"}, {"json_schema", {{"schema", needed(where, format, "schema")}}}};
}

/// One message becomes several where it has results of tools.
class MessageReader {
 public:
  explicit MessageReader(Json* chat) : chat_(*chat) {}

  void read(const std::string& where, const Json& message) {
    role_ = needed_text(where, message, "role");
    if (role_ != "user" && role_ != "assistant")
      refuse_field(where + ".role", "expected user or assistant");
    for (const auto& [key, value] : message.items())
      if (key != "role" && key != "content" && !is_nothing(value))
        refuse_unsupported(where + "." + key);
    const Json& content = needed(where, message, "content");
    const std::string field = where + ".content";
    text_.clear();
    calls_ = Json::array();
    const size_t before = chat_.size();
    if (content.is_array())
      for (size_t i = 0; i < content.size(); i++) read_block(item_of(field, i), content[i]);
    else
      text_ = text_of_field(field, content);
    if (!text_.empty() || !calls_.empty() || chat_.size() == before) add_text();
  }

 private:
  void read_block(const std::string& where, const Json& block) {
    const std::string& type = needed_text(where, block, "type");
    if (type == "text") {
      text_ += needed_text(where, block, "text");
    } else if (type == "tool_use" && role_ == "assistant") {
      const Json& input = needed(where, block, "input");
      if (!input.is_object()) refuse_field(where + ".input", "expected an object");
      calls_.push_back(
          {{"id", needed_text(where, block, "id")},
           {"type", "function"},
           {"function", {{"name", needed_text(where, block, "name")}, {"arguments", input}}}});
    } else if (type == "tool_result" && role_ == "user") {
      if (!text_.empty()) add_text();
      const auto content = block.find("content");
      const bool has_content = content != block.end() && !content->is_null();
      chat_.push_back(
          {{"role", "tool"},
           {"tool_call_id", needed_text(where, block, "tool_use_id")},
           {"content", has_content ? text_of_content(where + ".content", *content) : ""}});
    } else {
      refuse_unsupported(where, ": a block of type '" + type + "' from the " + role_);
    }
  }

  void add_text() {
    Json message = {{"role", role_}, {"content", text_}};
    if (!calls_.empty()) message["tool_calls"] = calls_;
    chat_.push_back(std::move(message));
    text_.clear();
  }

  Json& chat_;
  std::string role_, text_;
  Json calls_;
};

Json messages_of(const Json& body) {
  const Json& messages = needed("", body, "messages");
  if (!messages.is_array() || messages.empty())
    refuse_field("messages", "expected a list of messages");
  Json chat = Json::array();
  const auto system = body.find("system");
  if (system != body.end() && !system->is_null())
    chat.push_back({{"role", "system"}, {"content", text_of_content("system", *system)}});
  MessageReader reader(&chat);
  for (size_t i = 0; i < messages.size(); i++) reader.read(item_of("messages", i), messages[i]);
  if (messages.back()["role"] != "user")
    refuse_field(item_of("messages", messages.size() - 1),
                 "to continue an answer is not supported; expected a last message of the user");
  return chat;
}

}  // namespace

Json chat_of_messages(const Json& body, bool needs_length) {
  if (needs_length) needed("", body, "max_tokens");
  // Appended: operator[] would look through what is there, and any number of keys may come.
  Json::object_t chat;
  for (const auto& [key, value] : body.items()) {
    if (value.is_null() || is_mark(key) || key == "system" || key == "messages") continue;
    // of OpenAI's, that have no place in a reply of Anthropic's or another name
    for (const char* other : {"logprobs", "top_logprobs", "stream_options", "n", "response_format"})
      if (key == other) refuse_unsupported(key);
    if (key == "thinking") {
      if (needed_text(key, value, "type") != "disabled")
        refuse_unsupported(key, ": expected {\"type\": \"disabled\"}");
    } else if (key == "tools") {
      chat.emplace_back(key, tools_of(value));
    } else if (key == "tool_choice") {
      chat.emplace_back(key, choice_of(value));
    } else if (key == "output_config") {
      chat.emplace_back(key, format_of(value));
    } else {
      chat.emplace_back(key, value);
    }
  }
  chat.emplace_back("messages", messages_of(body));
  return chat;
}

}  // namespace ingot::serve
