// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/request_body.h"

#include "runtime/text/unicode.h"
#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/files/failure.h"
#include "tools/serve/core/serve_error.h"

namespace ingot::serve {

using Json = nlohmann::ordered_json;

void refuse_field(const std::string& field, const std::string& text) {
  refuse(Refusal::kInvalid, "'" + field + "': " + text, field);
}

void refuse_unsupported(const std::string& field, const std::string& text) {
  refuse(Refusal::kInvalid, "'" + field + "' is not supported" + text, field);
}

Json parse_request_body(std::string_view body) {
  if (!text::is_utf8({reinterpret_cast<const uint8_t*>(body.data()), body.size()}))
    refuse(Refusal::kInvalid, "the body is not UTF-8");
  Json json;
  try {
    json = checkpoint::parse_bounded_json(body, "the body", 24);
  } catch (const host::Failure& failure) {
    refuse(Refusal::kInvalid, failure.message());
  }
  if (!json.is_object()) refuse(Refusal::kInvalid, "the body: expected a JSON object");
  return json;
}

bool is_nothing(const Json& json) {
  return json.empty() || (json.is_boolean() && !json.get<bool>()) ||
         (json.is_string() && json.get_ref<const std::string&>().empty());
}

const std::string& text_of_field(const std::string& field, const Json& json) {
  if (!json.is_string()) refuse_field(field, "expected a text");
  return json.get_ref<const std::string&>();
}

std::string text_of_content(const std::string& where, const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) refuse_field(where, "expected a text, or a list of parts");
  std::string all;
  for (size_t i = 0; i < content.size(); i++) {
    const std::string field = where + "[" + std::to_string(i) + "]";
    const Json& part = content[i];
    const auto type = part.is_object() ? part.find("type") : part.end();
    if (!part.is_object() || type == part.end() || !type->is_string())
      refuse_field(field, "expected a part with a 'type'");
    if (*type != "text")
      refuse_unsupported(field,
                         ": a part of type '" + type->get<std::string>() + "', expected text");
    if (!part.contains("text")) refuse_field(field + ".text", "is missing");
    all += text_of_field(field + ".text", part["text"]);
  }
  return all;
}

}  // namespace ingot::serve
