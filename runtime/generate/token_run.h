// SPDX-License-Identifier: Apache-2.0
// runtime/generate/token_run.h - the ports of a language model's session (docs/llm.md): tokens into
// its caches, and the logits of the last.
// Errors   kNotFound, kDtypeMismatch, kShapeMismatch{name: the port}: the program is no language
//          model; kWrongState: several tokens fit a run, and the session is not rebindable; those
//          of rebind_session() and run_session().
#pragma once
#include "runtime/session/session.h"

namespace ingot {

class TokenRun {
 public:
  /// The session outlives it, and is run through it alone.
  Status open(RunSession* session, ErrorDetail* detail);

  int64_t context() const { return context_; }        // tokens that the caches hold
  int64_t most() const { return most_; }              // tokens of a run
  int64_t vocabulary() const { return vocabulary_; }  // logits
  RunSession* session() const { return session_; }

  /// The session is bound to runs of so many tokens.
  Status bind(int64_t count, ErrorDetail* detail);
  /// Computes `ids`, which stand behind `position` tokens of the caches. @pre 1 to most() of them,
  /// at most context() - position
  Status run(Span<const int32_t> ids, int64_t position, uint64_t deadline_ns, ErrorDetail* detail);
  /// Of the last token that was computed, until the next run.
  Span<float> logits() const;

 private:
  RunSession* session_ = nullptr;
  const Port *tokens_ = nullptr, *position_ = nullptr, *logits_ = nullptr;
  int64_t context_ = 0, most_ = 1, vocabulary_ = 0;
};

}  // namespace ingot
