// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/messages_request.h - the body of /v1/messages, Anthropic's, as a body of
// /v1/chat/completions. Needs nlohmann-json.
#pragma once
#include <nlohmann/json.hpp>

namespace ingot::serve {

/// @param needs_length whether `max_tokens` has to be there. @throws ServeError kInvalid, with the
/// field as the client named it
nlohmann::ordered_json chat_of_messages(const nlohmann::ordered_json& body, bool needs_length);

}  // namespace ingot::serve
