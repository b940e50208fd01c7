// SPDX-License-Identifier: Apache-2.0
#include "runtime/text/penalties.h"

#include <cfloat>

namespace ingot::text {
namespace {

double power(double base, uint32_t exponent) {
  double result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

}  // namespace

void penalize_repeats(const SamplerOptions& o, const TokenHistory& history, double* logits,
                      uint32_t* zeros) {
  uint32_t* const times = zeros;
  const uint32_t count = history.size < o.repeat_last ? history.size : o.repeat_last;
  for (uint32_t k = 0; k < count; k++) times[history.back(k)]++;
  for (uint32_t k = 0; k < count; k++) {
    const int32_t id = history.back(k);
    if (times[id] == 0) continue;  // done
    double& logit = logits[id];
    logit = logit <= 0 ? logit * o.repeat_penalty : logit / o.repeat_penalty;
    logit -= double(times[id]) * o.frequency_penalty + o.presence_penalty;
    times[id] = 0;
  }
}

void penalize_sequences(const SamplerOptions& o, const TokenHistory& history, double* logits,
                        uint32_t* zeros, uint32_t* matches) {
  const uint32_t count = history.size < o.dry_last ? history.size : o.dry_last;
  const auto is_breaker = [&o](int32_t id) {
    return !o.dry_breakers.empty() && (o.dry_breakers[size_t(id) / 8] >> (id % 8) & 1);
  };
  uint32_t most = 0;  // tokens behind the last breaker
  while (most < count && !is_breaker(history.back(most))) most++;
  // Backwards, the text is its last token and so on. matches[i] tokens from i on are also the first
  // ones (the Z function); [first, last) is the match that ends last.
  uint32_t* const longest = zeros;
  uint32_t first = 0, last = 0;
  for (uint32_t i = 1; i < count; i++) {
    uint32_t n = 0;
    if (i < last) n = last - i < matches[i - first] ? last - i : matches[i - first];
    while (i + n < count && history.back(n) == history.back(i + n)) n++;
    matches[i] = n;
    if (i + n > last) first = i, last = i + n;
    uint32_t& length = longest[history.back(i - 1)];
    if (n > most) n = most;
    if (n > length) length = n;
  }
  for (uint32_t i = 1; i < count; i++) {
    const int32_t id = history.back(i - 1);
    const uint32_t length = longest[id];
    longest[id] = 0;
    if (length < o.dry_allowed_length || is_breaker(id)) continue;
    const double penalty = o.dry_multiplier * power(o.dry_base, length - o.dry_allowed_length);
    logits[id] -= penalty < double(FLT_MAX) ? penalty : double(FLT_MAX);
  }
}

void mark_dry_breakers(const TokenizerView& tables, Span<uint8_t> bits) {
  const uint64_t count = tables.count < 8 * bits.size ? tables.count : 8 * bits.size;
  for (uint32_t id = 0; id < count; id++)
    for (const uint8_t byte : tables.piece(id))
      if (byte == '\n' || byte == ':' || byte == '"' || byte == '*')
        bits[id / 8] |= uint8_t(1u << (id % 8));
}

}  // namespace ingot::text
