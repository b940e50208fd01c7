// SPDX-License-Identifier: Apache-2.0
#include "runtime/generate/answer.h"

#include <cmath>
#include <cstring>

#include "runtime/base/bump_allocator.h"
#include "runtime/text/unicode.h"

namespace ingot {
namespace {

constexpr uint64_t kMaxLookback = 1u << 20;  // of penalties (sampler_options.def)
constexpr uint64_t kStopRows = (text::kMaxStopTexts + text::kMaxStopBytes + 1) * sizeof(uint16_t);
/// What was held back, what a token gives, and the end of a character that never came whole.
constexpr uint64_t kMaxText = text::kMaxStopBytes + 2 * text::Decoder::kMaxBytes;

uint32_t lookback(uint64_t context) {
  return uint32_t(context < 1 ? 1 : context < kMaxLookback ? context : kMaxLookback);
}

/// Those that take the most memory.
text::SamplerOptions largest_options(uint64_t context) {
  text::SamplerOptions o;
  o.temperature = 1, o.repeat_penalty = 2, o.dry_multiplier = 1;
  o.repeat_last = o.dry_last = lookback(context);
  return o;
}

Status check_stop_texts(Span<const text::StopText> texts, ErrorDetail* detail) {
  uint64_t bytes = 0;
  INGOT_TRY(text::measure_stop_texts(texts, &bytes, detail));
  for (size_t i = 0; i < texts.size; i++)
    if (!text::is_utf8(texts[i])) {
      const Status status = fail(detail, Code::kInvalidArgument, "a stop text is UTF-8");
      if (detail) detail->operand = int32_t(i);
      return status;
    }
  return {};
}

}  // namespace

struct Answer::Places {
  Span<uint8_t> sampler, breakers, stop_memory, stop_bytes;
  text::LogitBias* biases;
  text::StopText* stop_texts;
  uint8_t* out;
};

Answer::Places Answer::take_places(uint8_t* memory, uint64_t vocabulary, uint64_t context,
                                   uint64_t* used) {
  BumpAllocator bump(memory);
  const auto bytes = [&bump](uint64_t count) {
    return Span<uint8_t>(bump.take<uint8_t>(count, 16), size_t(count));
  };
  uint64_t sampler = 0;
  if (!text::measure_sampler(largest_options(context), vocabulary, &sampler, nullptr).ok())
    sampler = 0;  // place() says why
  Places p;
  p.sampler = bytes(sampler);
  p.breakers = bytes((vocabulary + 7) / 8);
  p.stop_memory = bytes(kStopRows);
  p.stop_bytes = bytes(text::kMaxStopBytes);
  p.biases = bump.take<text::LogitBias>(kMaxBiases);
  p.stop_texts = bump.take<text::StopText>(text::kMaxStopTexts);
  p.out = bump.take<uint8_t>(kMaxText);
  *used = bump.used();
  return p;
}

uint64_t Answer::measure(uint64_t vocabulary, uint64_t context) {
  uint64_t used = 0;
  (void)take_places(nullptr, vocabulary, context, &used);
  return used;
}

Status Answer::place(uint8_t* memory, const TokenizerView* tokenizer, uint64_t vocabulary,
                     uint64_t context, ErrorDetail* detail) {
  uint64_t bytes = 0;
  INGOT_TRY(text::measure_sampler(largest_options(context), vocabulary, &bytes, detail));
  const Places p = take_places(memory, vocabulary, context, &bytes);
  tokenizer_ = tokenizer;
  vocabulary_ = vocabulary, context_ = context;
  sampler_memory_ = p.sampler, breakers_ = p.breakers;
  stop_memory_ = p.stop_memory, stop_bytes_ = p.stop_bytes;
  biases_ = p.biases, stop_texts_ = p.stop_texts, out_ = p.out;
  std::memset(breakers_.data, 0, breakers_.size);
  if (tokenizer) text::mark_dry_breakers(*tokenizer, breakers_);
  has_ended_ = true;
  return {};
}

Status Answer::begin(const AnswerOptions& options, Span<const int32_t> prompt,
                     ErrorDetail* detail) {
  text::SamplerOptions sampling = options.sampling;
  if (sampling.biases.size > kMaxBiases)
    return fail(detail, Code::kLimitExceeded, "biases", kMaxBiases, sampling.biases.size);
  if (!tokenizer_ && options.stop_texts.size)
    return fail(detail, Code::kInvalidArgument, "stop texts, of a file without a tokenizer");
  INGOT_TRY(check_stop_texts(options.stop_texts, detail));
  uint64_t bytes = 0;
  INGOT_TRY(text::measure_sampler(sampling, vocabulary_, &bytes, detail));
  if (options.constraint) {
    if (options.constraint->tokenizer() != tokenizer_)
      return fail(detail, Code::kInvalidArgument, "a constraint of the same text");
    INGOT_TRY(options.constraint->restart(detail));
  }
  // Everything is sound: from here on nothing fails.
  const uint32_t most = lookback(context_);
  if (sampling.repeat_last > most) sampling.repeat_last = most;
  if (sampling.dry_last > most) sampling.dry_last = most;
  for (size_t i = 0; i < sampling.biases.size; i++) biases_[i] = sampling.biases[i];
  sampling.biases = {biases_, sampling.biases.size};
  sampling.dry_breakers = {breakers_.data, breakers_.size};
  uint8_t* to = stop_bytes_.data;
  for (size_t i = 0; i < options.stop_texts.size; i++) {
    const text::StopText& from = options.stop_texts[i];
    std::memcpy(to, from.data, from.size);
    stop_texts_[i] = {to, from.size};
    to += from.size;
  }
  INGOT_TRY(sampler_.open(sampling, vocabulary_, sampler_memory_, detail));
  INGOT_TRY(stops_.open({stop_texts_, options.stop_texts.size}, stop_memory_, detail));
  constraint_ = options.constraint;
  decoder_ = text::Decoder(options.shows_control);
  most_ = options.tokens, count_ = 0;
  ignores_end_ = options.ignores_end, has_ended_ = false;
  for (const int32_t id : prompt) sampler_.accept(id);
  return {};
}

/// The text of the token behind what was held back; of the last one, all that is left.
void Answer::take_text(int32_t id, AnswerToken* out) {
  if (!tokenizer_) return;
  uint8_t bytes[text::Decoder::kMaxBytes];
  size_t n = 0;
  if (out->end != AnswerEnd::kControl)
    n = stops_.put({bytes, decoder_.put(*tokenizer_, id, bytes)}, out_);
  if (out->end != AnswerEnd::kNone && stops_.stopped_by() < 0)
    n += stops_.put({bytes, decoder_.finish(bytes)}, out_ + n);
  if (stops_.stopped_by() >= 0) {
    out->end = AnswerEnd::kStopText;
    out->stop_text = stops_.stopped_by();
  } else if (out->end != AnswerEnd::kNone) {
    n += stops_.finish(out_ + n);
  }
  out->text = {out_, n};
}

Status Answer::choose(Span<const float> logits, bool is_last, AnswerToken* out,
                      ErrorDetail* detail) {
  *out = {};
  if (has_ended_) return fail(detail, Code::kWrongState, "the answer has ended; begin another");
  Span<const uint8_t> allowed;
  if (constraint_) INGOT_TRY(constraint_->allowed(!ignores_end_, &allowed, detail));
  INGOT_TRY(sampler_.sample(logits, &out->id, detail, allowed));
  const bool is_control = tokenizer_ && uint32_t(out->id) < tokenizer_->count &&
                          tokenizer_->kind(uint32_t(out->id)) == PieceKind::kControl;
  if (is_control && !ignores_end_) {
    out->end = AnswerEnd::kControl;
  } else {
    if (constraint_) INGOT_TRY(constraint_->accept(out->id, detail));
    sampler_.accept(out->id);
    count_++;
    if (constraint_ && constraint_->is_over())
      out->end = AnswerEnd::kGrammar;
    else if (count_ == most_)
      out->end = AnswerEnd::kLength;
    else if (is_last)
      out->end = AnswerEnd::kContext;
  }
  take_text(out->id, out);
  has_ended_ = out->end != AnswerEnd::kNone;
  return {};
}

namespace {

double log_of_sum(Span<const float> logits) {
  double largest = -INFINITY, sum = 0;
  for (const float x : logits) largest = double(x) > largest ? double(x) : largest;
  for (const float x : logits) sum += std::exp(double(x) - largest);
  return largest + std::log(sum);
}

}  // namespace

float logprob_of(Span<const float> logits, int32_t id) {
  return float(double(logits[size_t(id)]) - log_of_sum(logits));
}

void top_logprobs(Span<const float> logits, Span<TokenLogprob> out) {
  const double log_sum = log_of_sum(logits);
  size_t count = 0;
  for (size_t i = 0; i < logits.size && out.size; i++) {
    if (count == out.size && !(logits[i] > logits[size_t(out[count - 1].id)])) continue;
    size_t at = count < out.size ? count++ : count - 1;
    for (; at > 0 && logits[i] > logits[size_t(out[at - 1].id)]; at--) out[at] = out[at - 1];
    out[at].id = int32_t(i);
  }
  for (size_t i = 0; i < count; i++)
    out[i].logprob = float(double(logits[size_t(out[i].id)]) - log_sum);
}

}  // namespace ingot
