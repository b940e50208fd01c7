// SPDX-License-Identifier: Apache-2.0
// runtime/text/sampler.cpp - options and memory, the stages in their order, the draw.
#include "runtime/text/sampler.h"

#include <cmath>
#include <cstring>

#include "runtime/base/check_memory.h"
#include "runtime/base/philox.h"
#include "runtime/text/candidates.h"
#include "runtime/text/penalties.h"

namespace ingot::text {
namespace {

bool penalizes(const SamplerOptions& o) { return o.penalizes_repeats() || o.dry_multiplier > 0; }
/// The most probable token is the largest logit as it stands.
bool is_plain(const SamplerOptions& o) {
  return o.temperature == 0 && o.typical == 1 && o.biases.empty() && !penalizes(o);
}

uint32_t tokens_kept(const SamplerOptions& o) {
  const uint32_t repeats = o.penalizes_repeats() ? o.repeat_last : 0,
                 sequences = o.dry_multiplier > 0 ? o.dry_last : 0;
  return repeats > sequences ? repeats : sequences;
}

Status check_options(const SamplerOptions& o, uint64_t vocabulary, ErrorDetail* detail) {
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help) \
  if (!(double(o.name) >= (low) && double(o.name) <= (high)))           \
    return fail(detail, Code::kInvalidArgument, #name " is from " #low " to " #high);
#include "runtime/text/sampler_options.def"
  if (vocabulary == 0 || vocabulary > kMaxSampledVocabulary)
    return fail(detail, Code::kLimitExceeded, "vocabulary", kMaxSampledVocabulary, vocabulary);
  for (const LogitBias& bias : o.biases) {
    if (bias.id < 0 || uint64_t(bias.id) >= vocabulary)
      return fail(detail, Code::kInvalidArgument, "a bias has an id of the vocabulary", vocabulary,
                  uint64_t(uint32_t(bias.id)));
    if (!(bias.add <= 1e9 && (bias.add >= -1e9 || bias.add == -INFINITY)))
      return fail(detail, Code::kInvalidArgument, "a bias is from -1e9 to 1e9, or -infinity", 0, 0,
                  uint64_t(bias.id));
  }
  if (!o.dry_breakers.empty() && o.dry_breakers.size < (vocabulary + 7) / 8)
    return fail(detail, Code::kInvalidArgument, "breakers are a bit for each token",
                (vocabulary + 7) / 8, o.dry_breakers.size);
  return {};
}

/// The first that is no logit, or their number.
size_t find_bad(Span<const float> logits) {
  constexpr size_t kSeveral = 64;
  size_t i = 0;
  for (; i + kSeveral <= logits.size; i += kSeveral) {
    uint32_t bad = 0;
    for (size_t j = 0; j < kSeveral; j++) bad |= uint32_t(!(logits[i + j] < INFINITY));
    if (bad) break;
  }
  while (i < logits.size && logits[i] < INFINITY) i++;
  return i;
}

/// The first of the largest that are allowed, or their number where all are -infinity.
size_t find_largest(Span<const float> logits, Span<const uint8_t> allowed) {
  if (allowed.empty()) {
    const float most = largest_of(logits.data, logits.size);
    size_t i = most > -INFINITY ? 0 : logits.size;
    while (i < logits.size && logits[i] != most) i++;
    return i;
  }
  size_t best = logits.size;
  float most = -INFINITY;
  for_each_bit(allowed, logits.size, [&](size_t i) {
    if (logits[i] > most) best = i, most = logits[i];
  });
  return best;
}

/// The upper 64 bits of the product.
uint64_t high_product(uint64_t a, uint64_t b) {
  const uint64_t a0 = uint32_t(a), a1 = a >> 32, b0 = uint32_t(b), b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + uint32_t(middle);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

}  // namespace

Status measure_sampler(const SamplerOptions& options, uint64_t vocabulary, uint64_t* bytes,
                       ErrorDetail* detail) {
  INGOT_TRY(check_options(options, vocabulary, detail));
  *bytes = 0;
  if (is_plain(options)) return {};
  *bytes = vocabulary * (sizeof(double) + sizeof(uint64_t) + 2 * sizeof(uint32_t));
  *bytes += uint64_t(tokens_kept(options)) * sizeof(int32_t);
  if (options.dry_multiplier > 0) *bytes += uint64_t(options.dry_last) * sizeof(uint32_t);
  return {};
}

Status Sampler::open(const SamplerOptions& options, uint64_t vocabulary, Span<uint8_t> memory,
                     ErrorDetail* detail) {
  uint64_t need = 0;
  INGOT_TRY(measure_sampler(options, vocabulary, &need, detail));
  INGOT_TRY(check_memory(memory, need, "memory", detail));
  options_ = options;
  vocabulary_ = uint32_t(vocabulary);
  reset();
  history_.capacity = tokens_kept(options);
  if (!need) return {};
  logits_ = reinterpret_cast<double*>(memory.data);
  weights_ = reinterpret_cast<uint64_t*>(logits_ + vocabulary);
  ids_ = reinterpret_cast<uint32_t*>(weights_ + vocabulary);
  order_ = ids_ + vocabulary;
  history_.tokens = reinterpret_cast<int32_t*>(order_ + vocabulary);
  matches_ = reinterpret_cast<uint32_t*>(history_.tokens + history_.capacity);
  return {};
}

void TokenHistory::add(int32_t id) {
  tokens[next] = id;
  next = (next + 1) % capacity;
  if (size < capacity) size++;
}

void Sampler::accept(int32_t id) {
  if (history_.capacity && id >= 0 && uint32_t(id) < vocabulary_) history_.add(id);
}

void Sampler::adjust(Span<const float> logits) {
  for (uint32_t i = 0; i < vocabulary_; i++) logits_[i] = double(logits[i]);
  for (const LogitBias& bias : options_.biases) logits_[bias.id] += bias.add;
  if (history_.size == 0) return;
  memset(order_, 0, vocabulary_ * sizeof *order_);
  if (options_.penalizes_repeats()) penalize_repeats(options_, history_, logits_, order_);
  if (options_.dry_multiplier > 0)
    penalize_sequences(options_, history_, logits_, order_, matches_);
}

Status Sampler::sample(Span<const float> logits, int32_t* id, ErrorDetail* detail,
                       Span<const uint8_t> allowed) {
  if (vocabulary_ == 0) return fail(detail, Code::kWrongState, "the sampler is open");
  if (logits.size != vocabulary_)
    return fail(detail, Code::kShapeMismatch, "logits", vocabulary_, logits.size);
  const size_t bad = find_bad(logits);
  if (bad < logits.size)
    return fail(detail, Code::kInvalidArgument, "a logit is a number, or -infinity", 0, 0, bad);
  if (is_plain(options_)) {
    const size_t best = find_largest(logits, allowed);
    if (best == logits.size) return fail(detail, Code::kNotFound, "a logit above -infinity");
    *id = int32_t(best);
    return {};
  }
  Candidates c = {logits_, weights_, ids_, order_, vocabulary_};
  if (history_.size == 0 && options_.biases.empty()) {
    c.take(logits.data, allowed);
  } else {
    adjust(logits);
    c.take(logits_, allowed);
  }
  if (c.count == 0) return fail(detail, Code::kNotFound, "a logit above -infinity");
  const SamplerOptions& o = options_;
  if (o.top_n_sigma > 0) c.keep_top_n_sigma(o.top_n_sigma);
  c.keep_top_k(o.top_k);
  if (o.typical < 1) c.weigh(1), c.keep_typical(o.typical);
  if (o.temperature == 0) {  // what follows keeps the largest
    *id = int32_t(ids_[c.largest()]);
    return {};
  }
  if (o.top_p < 1 || o.min_p > 0) c.weigh(1);
  if (o.top_p < 1) c.keep_top_p(o.top_p);
  if (o.min_p > 0) c.keep_min_p(o.min_p);
  c.weigh(o.temperature);
  const PhiloxWords words = philox({{uint32_t(draws_), uint32_t(draws_ >> 32), 0, 0}},
                                   uint32_t(o.seed), uint32_t(o.seed >> 32));
  draws_++;
  uint64_t at = high_product(uint64_t(words.word[1]) << 32 | words.word[0], c.total);
  size_t i = 0;
  for (; at >= weights_[i]; i++) at -= weights_[i];
  *id = int32_t(ids_[i]);
  return {};
}

}  // namespace ingot::text
