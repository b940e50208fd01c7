// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/protocol/reply_writer.h"

#include <random>

#include "tools/serve/protocol/completion_reply.h"
#include "tools/serve/protocol/messages_reply.h"

namespace ingot::serve {

std::unique_ptr<ReplyWriter> reply_writer(const CompletionForm& form, const Text* text) {
  if (form.is_messages) return std::make_unique<MessagesReply>(form);
  return std::make_unique<CompletionReply>(form, text);
}

std::string random_id(const char* prefix) {
  std::string id = prefix;
  std::random_device random;
  for (int i = 0; i < 4; i++) {
    char digits[12];
    snprintf(digits, sizeof digits, "%08x", random());
    id += digits;
  }
  return id;
}

std::string error_event(const CompletionForm& form, int status, const std::string& text) {
  if (form.is_messages) return "event: error\ndata: " + anthropic_error(status, text) + "\n\n";
  return "data: " + openai_error(status, text) + "\n\n";
}

}  // namespace ingot::serve
