// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/completion_reply.h - an answer as OpenAI's clients read it: one document, or
// events; the list of models, and errors.
#pragma once
#include <string>
#include <vector>

#include "tools/serve/core/repository.h"
#include "tools/serve/protocol/reply_writer.h"

namespace ingot::serve {

class CompletionReply : public ReplyWriter {
 public:
  CompletionReply(const CompletionForm& form, const Text* text);
  void begin(const AnswerTask& task, std::string* out) override;
  void add(const AnswerPiece& piece, std::string* out) override;
  void end(ingot_end why, const AnswerTask& task, std::string* out) override;
  size_t kept_bytes() const override { return said_.size() + logprobs_.size(); }

 private:
  void begin_object(const char* name, std::string* out) const;
  void begin_event(std::string* out) const;
  void add_logprobs(const AnswerPiece& piece, std::string* out);
  void add_old_logprobs(const AnswerPiece& piece, std::string* out);
  void write_logprobs(std::string* out) const;
  void write_delta(const std::string& delta, std::string* out);
  std::string calls_of(const std::vector<ToolCall>& calls) const;

  const CompletionForm form_;
  const Text* const text_;
  const std::string id_;
  const int64_t created_;
  uint64_t offset_ = 0;  // characters of the answer before a token
  // Of one document: the text, and what goes into lists of log probabilities. An event has those
  // of its tokens alone.
  std::string said_, logprobs_, tokens_, token_logprobs_, offsets_;
};

/// {"error":{"message":...}}, by the number of HTTP.
std::string openai_error(int status, const std::string& text, const std::string& field = "",
                         const char* code = "");
std::string openai_models(const Repository& repository);
/// @throws ServeError kNotFound
std::string openai_model(const Repository& repository, const std::string& name);

}  // namespace ingot::serve
