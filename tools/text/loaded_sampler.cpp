// SPDX-License-Identifier: Apache-2.0
#include "tools/text/loaded_sampler.h"

#include <algorithm>

#include "tools/files/failure.h"

namespace ingot::vocabulary {
namespace {

using host::Exit;
using host::fail;

const uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}
std::string_view view_of(const std::vector<uint8_t>& bytes, size_t count) {
  return {reinterpret_cast<const char*>(bytes.data()), count};
}

}  // namespace

std::vector<uint8_t> dry_breakers(const TokenizerView& tables, size_t vocabulary) {
  std::vector<uint8_t> bits((vocabulary + 7) / 8);
  for (uint32_t id = 0; id < std::min<size_t>(tables.count, vocabulary); id++)
    for (const uint8_t byte : tables.piece(id))
      if (byte == '\n' || byte == ':' || byte == '"' || byte == '*')
        bits[id / 8] |= uint8_t(1u << (id % 8));
  return bits;
}

LoadedSampler::LoadedSampler(text::SamplerOptions options, std::vector<text::LogitBias> biases,
                             std::vector<uint8_t> breakers, size_t vocabulary, size_t context,
                             std::string where)
    : where_(std::move(where)), biases_(std::move(biases)), breakers_(std::move(breakers)) {
  context = std::max<size_t>(context, 1);
  options.repeat_last = uint32_t(std::min<size_t>(options.repeat_last, context));
  options.dry_last = uint32_t(std::min<size_t>(options.dry_last, context));
  options.biases = {biases_.data(), biases_.size()};
  options.dry_breakers = {breakers_.data(), breakers_.size()};
  ErrorDetail detail;
  uint64_t bytes = 0;
  const auto check = [&](Status status) {
    if (status.ok()) return;
    if (status.code() == Code::kLimitExceeded)
      fail(Exit::kUnsupported, where_ + ": a vocabulary of " + std::to_string(detail.have) +
                                   " tokens; at most " + std::to_string(detail.need));
    fail(Exit::kUsage, where_ + ": " + detail.field);
  };
  check(text::measure_sampler(options, vocabulary, &bytes, &detail));
  memory_ = aligned_bytes(bytes);
  check(sampler_.open(options, vocabulary, {memory_.get(), size_t(bytes)}, &detail));
}

void LoadedSampler::accept(std::span<const int32_t> ids) {
  for (const int32_t id : ids) sampler_.accept(id);
}

int32_t LoadedSampler::sample(std::span<const float> logits) {
  ErrorDetail detail;
  int32_t id = 0;
  const Status status = sampler_.sample({logits.data(), logits.size()}, &id, &detail);
  if (status.code() == Code::kNotFound)
    fail(Exit::kMismatch, where_ + ": no token is left: the logit of each is -infinity");
  if (!status.ok())
    fail(Exit::kMismatch, where_ + ": the logit of token " + std::to_string(detail.offset) +
                              " is not a number; the model or its weights are damaged");
  return id;
}

LoadedStopTexts::LoadedStopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
  for (const std::string& text : texts_) views_.push_back({bytes_of(text), text.size()});
  ErrorDetail detail;
  uint64_t bytes = 0;
  const auto check = [&](Status status) {
    if (status.ok()) return;
    if (status.code() == Code::kLimitExceeded)
      fail(Exit::kUsage, std::string("--stop: ") + std::to_string(detail.have) + " " +
                             detail.field + ", at most " + std::to_string(detail.need));
    fail(Exit::kUsage, "--stop: expected a text, found an empty one");
  };
  const Span<const text::StopText> views = {views_.data(), views_.size()};
  check(text::measure_stop_texts(views, &bytes, &detail));
  memory_ = aligned_bytes(bytes);
  check(stops_.open(views, {memory_.get(), size_t(bytes)}, &detail));
}

std::string_view LoadedStopTexts::put(std::string_view bytes) {
  out_.resize(std::max(out_.size(), stops_.held() + bytes.size()));
  return view_of(out_, stops_.put({bytes_of(bytes), bytes.size()}, out_.data()));
}

std::string_view LoadedStopTexts::finish() {
  out_.resize(std::max(out_.size(), stops_.held()));
  return view_of(out_, stops_.finish(out_.data()));
}

const std::string* LoadedStopTexts::stopped_by() const {
  return stops_.stopped_by() < 0 ? nullptr : &texts_[size_t(stops_.stopped_by())];
}

}  // namespace ingot::vocabulary
