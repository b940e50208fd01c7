// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/openai_body.h - what bodies of OpenAI's paths share. Needs nlohmann-json.
#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace ingot::serve {

/// An object. @throws ServeError kInvalid
nlohmann::ordered_json parse_openai_body(std::string_view body);

}  // namespace ingot::serve
