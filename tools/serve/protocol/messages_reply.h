// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/messages_reply.h - an answer as Anthropic's clients read it: a message of
// blocks, whole or as events; errors, and a number of tokens.
#pragma once
#include "tools/serve/protocol/reply_writer.h"

namespace ingot::serve {

class MessagesReply : public ReplyWriter {
 public:
  explicit MessagesReply(const CompletionForm& form) : form_(form), id_(random_id("msg_")) {}
  void begin(const AnswerTask& task, std::string* out) override;
  void add(const AnswerPiece& piece, std::string* out) override;
  void end(ingot_end why, const AnswerTask& task, std::string* out) override;
  size_t kept_bytes() const override { return said_.size(); }

 private:
  void begin_message(std::string* out) const;
  void add_text(std::string_view text, std::string* out);
  void end_block(std::string* out);
  void add_call(const ToolCall& call, std::string* out);

  const CompletionForm form_;
  const std::string id_;
  std::string said_;      // and not sent
  size_t blocks_ = 0;     // that have begun
  bool is_open_ = false;  // the last of them
};

/// {"type":"error","error":{...}}, by the number of HTTP.
std::string anthropic_error(int status, const std::string& text);
/// Of /v1/messages/count_tokens.
std::string token_count(size_t tokens);

}  // namespace ingot::serve
