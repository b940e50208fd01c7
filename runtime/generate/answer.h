// SPDX-License-Identifier: Apache-2.0
// runtime/generate/answer.h - logits to tokens and text: a sampler, a decoder and stop texts, over
// one block of memory that holds any options. It knows no session, so that several answers may
// share the runs of one.
//
//   uint64_t bytes = Answer::measure(vocabulary, context);
//   Answer answer;   answer.place(memory, tokenizer, vocabulary, context);
//   answer.begin(options, prompt, detail);
//   answer.choose(logits, is_last, &token, detail);   // until token.end is another than kNone
//
// Owns     nothing: `memory` (16-byte aligned) and the tokenizer are the caller's and outlive it.
//          Options are copied.
// Errors   those of Sampler::open(), Sampler::sample() and TokenConstraint; of stop texts
//          kInvalidArgument (empty, not UTF-8), kLimitExceeded.
// Threads  one for an answer.
#pragma once
#include "runtime/format/text_part.h"
#include "runtime/text/constraint.h"
#include "runtime/text/sampler.h"
#include "runtime/text/stop_texts.h"
#include "runtime/text/tokenizer.h"

namespace ingot {

constexpr size_t kMaxBiases = 1024;

/// Why an answer ended with a token.
enum class AnswerEnd : int32_t {
  kNone,
  kControl,   // the token is one of control, and no part of the answer
  kStopText,  // a stop text is complete
  kLength,    // as many tokens as were asked for
  kContext,   // the caches are full
  kGrammar    // the grammar ends with the token
};

struct AnswerOptions {
  text::SamplerOptions sampling;  // biases too; dry_breakers are the answer's own
  Span<const text::StopText> stop_texts;
  text::TokenConstraint* constraint =
      nullptr;                 // of the same tokenizer, used until the answer has ended
  uint32_t tokens = 0;         // at most; 0: as many as fit
  int32_t lookup = 0;          // tokens proposed for a run at most (drafter.h); -1: that fit
  bool ignores_end = false;    // control tokens are tokens of the answer
  bool shows_control = false;  // and printed
};

struct AnswerToken {
  int32_t id = 0;
  AnswerEnd end = AnswerEnd::kNone;
  /// What the answer says with this token for sure, whole characters; until the next call.
  Span<const uint8_t> text;
  int32_t stop_text = -1;  // the one that is complete
};

class Answer {
 public:
  static uint64_t measure(uint64_t vocabulary, uint64_t context);
  /// @param tokenizer  null: no text
  Status place(uint8_t* memory, const TokenizerView* tokenizer, uint64_t vocabulary,
               uint64_t context, ErrorDetail* detail);
  /// On failure the answer is as before.
  Status begin(const AnswerOptions& options, Span<const int32_t> prompt, ErrorDetail* detail);
  /// @param is_last  no token may follow, for want of room
  Status choose(Span<const float> logits, bool is_last, AnswerToken* out, ErrorDetail* detail);
  bool has_ended() const { return has_ended_; }
  /// How the next token is chosen; biases are the answer's.
  text::SamplerOptions sampling() const { return sampler_.options_from_here(); }
  /// Tokens that it may have yet.
  int64_t left() const { return has_ended_ ? 0 : most_ ? int64_t{most_} - count_ : INT64_MAX; }
  void stop() { has_ended_ = true; }

 private:
  struct Places;
  static Places take_places(uint8_t* memory, uint64_t vocabulary, uint64_t context, uint64_t* used);
  void take_text(int32_t id, AnswerToken* out);

  const TokenizerView* tokenizer_ = nullptr;
  uint64_t vocabulary_ = 0, context_ = 0;
  Span<uint8_t> sampler_memory_, breakers_, stop_memory_, stop_bytes_;
  text::LogitBias* biases_ = nullptr;
  text::StopText* stop_texts_ = nullptr;
  uint8_t* out_ = nullptr;
  text::Sampler sampler_;
  text::TokenConstraint* constraint_ = nullptr;
  text::StopTexts stops_;
  text::Decoder decoder_;
  uint32_t most_ = 0, count_ = 0;
  bool ignores_end_ = false, has_ended_ = true;
};

/// The natural logarithm of a token's probability: of the logits as they are, at temperature 1.
struct TokenLogprob {
  int32_t id = -1;
  float logprob = 0;
};
float logprob_of(Span<const float> logits, int32_t id);
/// The most probable tokens, of equal ones the lowest id first. @pre out.size <= logits.size
void top_logprobs(Span<const float> logits, Span<TokenLogprob> out);

}  // namespace ingot
