// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/request_body.h - what bodies of the paths below /v1 share. Needs
// nlohmann-json.
// Errors   ServeError kInvalid, with the field where there is one.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ingot::serve {

[[noreturn]] void refuse_field(const std::string& field, const std::string& text);
[[noreturn]] void refuse_unsupported(const std::string& field, const std::string& text = "");

/// An object.
nlohmann::ordered_json parse_request_body(std::string_view body);
/// Says nothing: an empty list, an empty object, an empty text, false.
bool is_nothing(const nlohmann::ordered_json& json);
const std::string& text_of_field(const std::string& field, const nlohmann::ordered_json& json);
/// A text, or parts of text, one behind another.
std::string text_of_content(const std::string& field, const nlohmann::ordered_json& content);

}  // namespace ingot::serve
