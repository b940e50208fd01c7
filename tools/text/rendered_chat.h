// SPDX-License-Identifier: Apache-2.0
// tools/text/rendered_chat.h - a conversation in JSON as the text of a prompt.
// Errors   host::Failure kMismatch: the template raised an exception, or has no meaning for these
//          values; kUnsupported: it is not known, or takes more than there is.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/text/template.h"

namespace ingot::chat {

/// `inputs` is an object: messages, tools, add_generation_prompt and what else a template asks for.
std::string render_chat(const TemplateView& chat, const nlohmann::ordered_json& inputs,
                        const text::LocalTime& now, const std::string& where);

text::LocalTime local_time();

}  // namespace ingot::chat
