// SPDX-License-Identifier: Apache-2.0
// runtime/generate/generator.h - a language model's answer, token by token: the caches of a
// session, the tokens in them, and the answer that they are about.
//
//   uint64_t bytes;          measure_generator(session, &bytes, detail);
//   RunGenerator* generator; make_generator(session, tables, {memory, bytes}, &generator, detail);
//   generator->begin(prompt, options, &reused, detail);
//   while (!token.end) generator->next(deadline, &token, detail);
//
// The sequence is the prompt and the answer so far. A token that was chosen is computed when the
// next one is asked for, and of the last of an answer nothing is. A new prompt goes back to where
// it differs from the tokens in the caches, and computes what follows. Where the caches of another
// slot hold more of it, and are the host's memory, their rows are copied. A model with snapshots
// (session.h) goes back by one less than their number, or to the beginning.
//
// Proposed tokens (drafter.h) stand behind the sequence and are part of its run. Each row of logits
// is chosen from as if it had been computed alone; the first token that is another than the
// proposed one drops those behind it, whose rows of the caches are written again.
//
// A draft is the generator of another, smaller model: it goes on with the sequence as far as a run
// checks, by the same options and draws. Each time it goes back to where its tokens differ.
//
// A session of several slots has a generator for each (slot()). They share runs: step() computes a
// token of every answer in one, and as much of new prompts as there is room for.
//
// Owns     nothing: it lies in `memory` (16-byte aligned); session and tables outlive it. The
//          session is run through it alone.
// Errors   those of TokenRun and Answer; kInvalidArgument (no token, one that is none of the
//          vocabulary's, more than the context), kCancelled, kDeadlineExceeded. After an error of a
//          run the caches hold what they held before it, and a later call goes on from there;
//          where its tokens were as many as there are snapshots, from the beginning.
// Threads  one at a time for all generators of a session, except cancel(): any. After step(), each
//          slot that has nothing left may have a thread of its own for next(), logits() and
//          queries, until another function is called.
// Allocates  nothing.
#pragma once
#include "runtime/generate/answer.h"
#include "runtime/generate/drafter.h"
#include "runtime/generate/text_tables.h"
#include "runtime/generate/token_run.h"

namespace ingot {

class RunGenerator;

/// What the generators of one session share.
struct SlotRuns {
  TokenRun run;
  RunGenerator* generators = nullptr;  // one for each slot
  TokenPart* parts = nullptr;          // of a run
  RunGenerator* draft = nullptr;       // slot 0 of it; null: look-up
  int64_t first = 0;                   // whose prompt takes the room of the next run first

  /// Computes RunGenerator::part_ of each.
  Status compute(uint64_t deadline_ns, ErrorDetail* detail);
  /// The session as it is bound while it is saved: its state's bytes depend on that.
  Status rest(ErrorDetail* detail);
};

class RunGenerator {
 public:
  const TokenRun& runs() const { return shared_->run; }
  /// @pre below runs().slots()
  RunGenerator* slot(int64_t index) const { return shared_->generators + index; }
  const TextTables* tables() const { return tables_; }
  /// Prompt and answer so far.
  Span<const int32_t> sequence() const { return {ids_, size_t(count_)}; }
  /// How many of them the caches hold.
  int64_t position() const { return position_; }
  /// Of the answer.
  const Drafter& drafter() const { return drafter_; }

  /// For all slots, from the next run on: tokens are proposed by `draft`, which is used by no one
  /// else and outlives its use; null: by look-up. Where its context is full, none are.
  /// kInvalidArgument: the vocabularies differ (`operand`: in this token first), runs check no
  /// proposed tokens, the same session, a draft that has one.
  Status set_draft(RunGenerator* draft, ErrorDetail* detail);

  /// Begins an answer. `*reused` (may be null): tokens of the prompt that are not computed again.
  /// Computes nothing. On failure all is as before.
  Status begin(Span<const int32_t> prompt, const AnswerOptions& options, uint64_t* reused,
               ErrorDetail* detail);
  /// Computes the next part of the sequence, at most runs().most() tokens; `*left` (may be null)
  /// are to come. Nothing where all is computed.
  Status prefill(uint64_t deadline_ns, uint64_t* left, ErrorDetail* detail);
  /// One run for all slots: the next token of each that is behind, then prompts. `*left` are to
  /// come. Logits of other slots are lost, and computed again where they are asked for. Nothing is
  /// proposed unless one slot alone is behind.
  Status step(uint64_t deadline_ns, uint64_t* left, ErrorDetail* detail);
  /// Computes what is left, and chooses a token.
  Status next(uint64_t deadline_ns, AnswerToken* out, ErrorDetail* detail);
  /// What the next token is chosen from, or after next() what it was: they may be changed before,
  /// and a token of -infinity is not chosen. kWrongState where nothing is computed.
  Status logits(Span<float>* out, ErrorDetail* detail) const;
  /// Any thread: calls are kCancelled until the next begin(), and step() leaves the slot out. A run
  /// that other slots may take part in goes on.
  void cancel();

  /// The tokens in the caches and their part of the session's state (save_state()). capacity 0:
  /// only its size.
  Status save(uint8_t* out, uint64_t capacity, uint64_t* bytes, ErrorDetail* detail);
  /// The caches hold what was saved. An answer in the making is over; begin() finds the tokens.
  Status restore(Span<const uint8_t> saved, ErrorDetail* detail);

  ObjectBlock block;

 private:
  friend Status make_generator(RunSession*, const TextTables*, Span<uint8_t>, RunGenerator**,
                               ErrorDetail*);
  Status check_tokens(Span<const int32_t> ids, ErrorDetail* detail) const;
  Status check_cancel(ErrorDetail* detail) const;
  bool takes_part() const;
  int64_t find_behind();
  bool can_go_on_from(int64_t position) const;
  void go_back(int64_t position);
  void write_snapshots(int64_t position);
  int64_t count_common(Span<const int32_t> prompt) const;
  int64_t take_prefix(Span<const int32_t> prompt, int64_t same);
  Status advance(int64_t behind, uint64_t deadline_ns, uint64_t* left, ErrorDetail* detail);
  Status check_vocabulary(const RunGenerator& draft, ErrorDetail* detail) const;
  Status propose(int64_t room, uint64_t deadline_ns, ErrorDetail* detail);
  Status draft_tokens(int64_t room, int64_t* count, uint64_t deadline_ns, ErrorDetail* detail);
  void take_proposed();
  void drop_logits() { logits_ = {}, ahead_ = 0; }
  StatePart state_part() const { return {slot_, runs().slots()}; }

  friend struct SlotRuns;
  SlotRuns* shared_ = nullptr;
  int64_t slot_ = 0, part_ = 0;  // part: tokens in the next run
  const TextTables* tables_ = nullptr;
  Answer answer_;
  Drafter drafter_;
  int32_t* ids_ = nullptr;  // of context + 1
  int64_t count_ = 0, position_ = 0;
  int64_t oldest_ = 0;  // position that a snapshot is of
  int64_t ahead_ = 0;   // proposed tokens behind the sequence, in the next run or of the last one
  int64_t row_ = 0;     // of the run's logits
  Span<float> logits_;  // none: not computed
  bool is_restored_ = false;  // caches hold rows from outside, which no other slot takes
  std::atomic<uint32_t> cancel_{0};
};

Status measure_generator(RunSession* session, uint64_t* bytes, ErrorDetail* detail);
/// `tables` may be null: ids alone.
Status make_generator(RunSession* session, const TextTables* tables, Span<uint8_t> memory,
                      RunGenerator** out, ErrorDetail* detail);

}  // namespace ingot
