// SPDX-License-Identifier: Apache-2.0
// runtime/text/constraint.h - which tokens a grammar allows next: a pushdown automaton over the
// bytes of tokens, and a bit for each token.
//
//   uint64_t bytes = TokenConstraint::measure(tokenizer);
//   TokenConstraint constraint;             constraint.place(tokenizer, {memory, bytes}, detail);
//   constraint.set(form, detail);      // runtime/text/grammar.h
//   constraint.allowed(true, &bits, detail);    constraint.accept(id, detail);
//
// The state is a set of threads, each a state of the grammar and a stack of where calls come back
// to; equal stacks are one. For a set of tokens their bytes are walked in sorted order, what two
// have in common once. What a state alone decides about all tokens is kept, with the tokens that
// depend on the stack; so most masks are a copy and a few hundred tokens.
//
// Control tokens are allowed where the grammar may end, never inside. Tokens that are unknown or
// unused are never allowed.
//
// Owns     nothing: memory (16-byte aligned), tokenizer and form are the caller's and outlive it.
// Errors   kNotFound: no token fits, the vocabulary's dead end. kLimitExceeded: calls deeper than
//          kMaxGrammarDepth, more threads than kMaxGrammarThreads, more work than a mask may take.
//          kInvalidArgument: a token that is not allowed. kWrongState: no grammar is set. Those of
//          open_grammar().
// Threads  one.
#pragma once
#include "runtime/format/text_part.h"
#include "runtime/text/grammar.h"

namespace ingot::text {

constexpr uint32_t kMaxGrammarThreads = 256;  // of one state
constexpr uint32_t kMaxGrammarDepth = 8192;   // calls that have not come back, all stacks together

/// Work done, for tests and figures.
struct ConstraintWork {
  uint64_t masks = 0, repeated = 0;  // asked for, and those that were the last one's
  uint64_t steps = 0;                // bytes taken by threads
  uint64_t walks = 0, kept = 0;      // of a state over the vocabulary, and states that were known
};

class TokenConstraint {
 public:
  static uint64_t measure(const TokenizerView& tokenizer);
  Status place(const TokenizerView& tokenizer, Span<uint8_t> memory, ErrorDetail* detail);
  /// The grammar from now on, from its beginning. A form that is refused changes nothing. The first
  /// one sorts the tokens.
  Status set(Span<const uint8_t> form, ErrorDetail* detail);
  /// The beginning of the same grammar. What is known of its states is kept.
  Status restart(ErrorDetail* detail);
  /// A bit for each token, lowest first; until the next call.
  /// @param takes_end  control tokens end the answer
  Status allowed(bool takes_end, Span<const uint8_t>* bits, ErrorDetail* detail);
  Status accept(int32_t id, ErrorDetail* detail);
  bool may_end() const { return base_.completes; }
  /// It ends here: no byte may follow.
  bool is_over() const { return base_.completes && !base_.takes; }
  bool is_set() const { return grammar_.bytes != nullptr; }
  const TokenizerView* tokenizer() const { return tokenizer_; }
  const ConstraintWork& work() const { return work_; }

 private:
  struct Node {  // of stacks; the parent lies before it
    uint32_t target, parent, next;
  };
  struct Thread {
    uint32_t state, stack;
  };
  /// Threads after some bytes of a token.
  struct Level {
    uint32_t first = 0, end = 0;  // threads
    uint32_t nodes = 0;           // in use
    bool takes = false;           // a thread takes another byte
    bool completes = false;       // the grammar may end
    bool escaped = false;         // a call comes back to where it is not known, here
    bool escapes = false;         // or before
    bool is_alive() const { return takes || completes || escaped; }
  };
  struct Kept {  // what a state decides
    uint32_t state, count;
    uint8_t* bits;
    uint32_t* dependent;  // places in the order of tokens
  };
  struct Places;
  static Places take_places(uint8_t* memory, uint64_t tokens, uint64_t* used);

  uint64_t mask_bytes() const { return (uint64_t{tokenizer_->count} + 7) / 8; }
  Span<const uint8_t> bytes_at(uint32_t place) const { return tokenizer_->piece(order_[place]); }
  void sort_tokens();
  uint32_t push(uint32_t target, uint32_t parent);
  void pop_nodes(uint32_t count);
  bool add(Level* level, uint32_t state, uint32_t stack);
  bool close(Level* level);
  uint32_t target_of(uint32_t state, uint32_t flags, uint8_t byte);
  bool step(const Level& from, uint8_t byte, Level* to);
  bool walk(const Level& from, bool skips_space, const Span<const uint32_t>* places, uint8_t* bits,
            Kept* keeps);
  void depend(uint32_t place, Kept* keeps) const;
  bool allow(const Thread& thread);
  const Kept* look_up(uint32_t state);
  bool is_repeated(bool takes_end);
  bool refuse(const char* what);
  void spend(uint64_t steps) { steps_left_ -= steps < steps_left_ ? steps : steps_left_; }
  void compact();
  Status limit(ErrorDetail* detail) const;

  const TokenizerView* tokenizer_ = nullptr;
  GrammarView grammar_;
  uint32_t count_ = 0, longest_ = 0;  // tokens with bytes; bytes of the longest
  uint32_t* order_ = nullptr;         // their ids
  uint16_t* common_ = nullptr;        // bytes that each has in common with the one before
  uint32_t* first_ = nullptr;         // for each first byte and one more, the first place
  uint32_t *heads_ = nullptr, *moved_ = nullptr;
  Node* nodes_ = nullptr;
  Thread *threads_ = nullptr, *last_ = nullptr;
  Level *levels_ = nullptr, base_;
  uint8_t *mask_ = nullptr, *control_ = nullptr;
  Kept* kept_ = nullptr;  // and one more, in the making
  uint32_t used_kept_ = 0, next_kept_ = 0, node_count_ = 0, last_count_ = 0;
  uint64_t steps_left_ = 0;
  bool is_sorted_ = false, has_begun_ = false, has_last_ = false, last_end_ = false;
  const char* limit_ = nullptr;
  ConstraintWork work_;
};

}  // namespace ingot::text
