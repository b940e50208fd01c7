// SPDX-License-Identifier: Apache-2.0
// runtime/text/sampler.h - logits to an id: the most probable token, or one that is drawn.
//
//   SamplerOptions options;    uint64_t bytes;
//   measure_sampler(options, vocabulary, &bytes, detail);
//   Sampler sampler;           sampler.open(options, vocabulary, {memory, bytes}, detail);
//   sampler.accept(id);        // of the prompt; what penalties look back on
//   sampler.sample(logits, &id, detail);    sampler.accept(id);
//
// Stages, in the order of llama.cpp: biases; repetition, frequency and presence; DRY; top-n-sigma;
// top-k; typical; top-p; min-p; temperature; the draw. A stage sees what the one before it left,
// and probabilities are of those tokens. Of equal ones the lowest id comes first.
//
// The same everywhere: logits are adjusted in double. A probability is a whole number, 2^40 for the
// largest, by an exponential of sums and products alone; so sums are exact. Draw n takes the first
// two words of Philox for the counter (n, 0, 0) and the key `seed`, both of 64 bits, the low half
// first.
//
// Owns     nothing: memory, biases and breakers are the caller's and outlive the sampler. Memory is
//          16-byte aligned; an answer of the most probable tokens without penalties needs none.
// Errors   kInvalidArgument: an option outside its range, which `field` names; a logit that is NaN
//          or +infinity (`offset`: its id). kNotFound: all are -infinity. kShapeMismatch,
//          kLimitExceeded (vocabulary), kArenaTooSmall{need, have}, kMisaligned, kWrongState (not
//          open).
// Threads  one for a sampler.
#pragma once
#include "runtime/format/text_part.h"

namespace ingot::text {

constexpr uint32_t kMaxSampledVocabulary = 1u << 23;  // weights of all of them fit 64 bits

struct LogitBias {
  int32_t id = 0;
  double add = 0;  // a number, or -infinity: never this token
};

struct SamplerOptions {
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help) type name = value;
#include "runtime/text/sampler_options.def"
  Span<const LogitBias> biases;        // an id that stands twice gets both
  Span<const uint8_t> dry_breakers{};  // a bit for each id, lowest first: no sequence goes past it
  uint64_t seed = 0;
  uint64_t first_draw = 0;  // by its number

  bool penalizes_repeats() const {
    return repeat_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0;
  }
};

/// Checks the options, and says what memory a sampler of them needs.
Status measure_sampler(const SamplerOptions& options, uint64_t vocabulary, uint64_t* bytes,
                       ErrorDetail* detail);

/// Sets the bits of pieces that no sequence goes past, which are llama.cpp's: those with the end of
/// a line, ':', '"' or '*'. `bits` may be of a smaller vocabulary.
void mark_dry_breakers(const TokenizerView& tables, Span<uint8_t> bits);

/// The last tokens, in a ring.
struct TokenHistory {
  int32_t* tokens = nullptr;
  uint32_t capacity = 0, size = 0, next = 0;
  void add(int32_t id);
  /// The k-th last, from 0.
  int32_t back(uint32_t k) const { return tokens[(next + capacity - 1 - k) % capacity]; }
};

class Sampler {
 public:
  Status open(const SamplerOptions& options, uint64_t vocabulary, Span<uint8_t> memory,
              ErrorDetail* detail);
  /// The next token, of the prompt or of the answer. One that is none counts for nothing.
  void accept(int32_t id);
  /// @param logits one for each token of the vocabulary
  /// @param allowed a bit for each, lowest first; empty: all. What has no bit is not chosen
  Status sample(Span<const float> logits, int32_t* id, ErrorDetail* detail,
                Span<const uint8_t> allowed = {});
  /// Begins anew: no token was accepted, nothing drawn.
  void reset() { history_.size = history_.next = 0, draws_ = options_.first_draw; }
  /// Those of a sampler that goes on with the next draw.
  SamplerOptions options_from_here() const {
    SamplerOptions options = options_;
    options.first_draw = draws_;
    return options;
  }

 private:
  void adjust(Span<const float> logits);

  SamplerOptions options_;
  uint32_t vocabulary_ = 0;
  // Of the memory.
  double* logits_ = nullptr;
  uint64_t* weights_ = nullptr;
  uint32_t* ids_ = nullptr;
  uint32_t* order_ = nullptr;  // as well: a number for each token, all 0 between uses
  uint32_t* matches_ = nullptr;
  TokenHistory history_;
  uint64_t draws_ = 0;
};

}  // namespace ingot::text
