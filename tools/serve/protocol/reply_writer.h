// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/reply_writer.h - an answer as a client reads it: one document, or
// server-sent events as tokens come.
#pragma once
#include <memory>
#include <string>

#include "tools/serve/core/answer_task.h"
#include "tools/serve/protocol/completion_request.h"

namespace ingot::serve {

/// Each call appends to `out` what is to be sent then.
class ReplyWriter {
 public:
  virtual ~ReplyWriter() = default;
  virtual void begin(const AnswerTask& task, std::string* out) = 0;
  virtual void add(const AnswerPiece& piece, std::string* out) = 0;
  virtual void end(ingot_end why, const AnswerTask& task, std::string* out) = 0;
  /// Of one document, until its end.
  virtual size_t kept_bytes() const = 0;
};

/// @param text outlives it
std::unique_ptr<ReplyWriter> reply_writer(const CompletionForm& form, const Text* text);

/// The prefix and 32 random digits.
std::string random_id(const char* prefix);
/// The last event of an answer that failed, by the number of HTTP.
std::string error_event(const CompletionForm& form, int status, const std::string& text);

}  // namespace ingot::serve
