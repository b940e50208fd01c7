// SPDX-License-Identifier: Apache-2.0
// runtime/generate/token_run.h - the ports of a language model's session (docs/llm.md): tokens of
// one sequence, or of several slots, into their caches, and the logits of the last ones.
// Errors   kNotFound, kDtypeMismatch, kShapeMismatch{name: the port}, kLimitExceeded: the program
//          is no language model, or has more than kMaxSlots; kWrongState: several tokens fit a run,
//          and the session is not rebindable; those of rebind_session() and run_session().
#pragma once
#include "runtime/session/session.h"

namespace ingot {

constexpr int64_t kMaxSlots = 256;

/// Tokens of one slot in a run.
struct TokenPart {
  Span<const int32_t> ids;
  int64_t slot = 0, position = 0;  // they stand behind so many tokens of its caches
  int64_t logits = 1;              // rows: of so many of the last ones
};

class TokenRun {
 public:
  /// The session outlives it, and is run through it alone.
  Status open(RunSession* session, ErrorDetail* detail);

  int64_t context() const { return context_; }        // tokens that the caches of a slot hold
  int64_t slots() const { return slots_; }            // 1: the ports of one sequence
  int64_t most() const { return most_; }              // tokens of a run
  int64_t vocabulary() const { return vocabulary_; }  // logits
  int64_t rows() const { return most_rows_; }         // of them, of a run
  /// A slot goes on from so many of its last positions, the newest among them, or from 0. 0: from
  /// any.
  int64_t snapshots() const { return snapshots_; }
  RunSession* session() const { return session_; }

  /// The session is bound to runs of so many tokens.
  Status bind(int64_t count, ErrorDetail* detail);
  /// @pre each slot at most once; 1 to most() tokens together, of each at least one and at most
  /// context() - position; at most rows() of logits, of one sequence without the port `rows` of
  /// the last token
  Status run(Span<const TokenPart> parts, uint64_t deadline_ns, ErrorDetail* detail);
  /// Row `i` of those that were wanted, in the order of the parts, until the next run.
  Span<float> logits(int64_t i) const;

 private:
  Status check_ports(ErrorDetail* detail) const;

  RunSession* session_ = nullptr;
  const Port *tokens_ = nullptr, *position_ = nullptr, *logits_ = nullptr;
  const Port* slot_ = nullptr;  // null: one sequence
  const Port* rows_ = nullptr;  // null: logits of the last token
  int64_t context_ = 0, slots_ = 1, most_ = 1, vocabulary_ = 0, most_rows_ = 1;
  int64_t snapshots_ = 0;
};

}  // namespace ingot
