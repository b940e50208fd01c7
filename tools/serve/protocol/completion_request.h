// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/completion_request.h - the body of /v1/chat/completions and /v1/completions,
// OpenAI's, and of /v1/messages, Anthropic's: what is asked of which model.
// Bytes    a client's: depth, names, kinds, counts and ranges are checked. A field that would
//          change the answer and is not known is refused by name.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "tools/serve/core/answer_task.h"
#include "tools/serve/core/repository.h"
#include "tools/serve/protocol/tool_calls.h"

namespace ingot::serve {

struct CompletionForm {
  std::string model;  // as the client named it
  bool is_chat = false, streams = false, includes_usage = false, has_logprobs = false;
  bool is_messages = false;    // Anthropic's; a chat too
  bool counts_tokens = false;  // and asks for nothing but their number
  ToolUse tools;
};

/// "NAME" or "NAME@TAG". @throws ServeError: unknown, not ready
std::shared_ptr<ServedModel> find_openai_model(const Repository& repository,
                                               const std::string& name);
/// @throws ServeError, also where it is no language model
std::shared_ptr<ServedModel> find_language_model(const Repository& repository,
                                                 const std::string& name);

/// @return the model that is asked, with its prompt encoded. @throws ServeError, with the field
std::shared_ptr<ServedModel> read_completion(const Repository& repository, std::string_view body,
                                             CompletionForm* form, AnswerRequest* request);

}  // namespace ingot::serve
