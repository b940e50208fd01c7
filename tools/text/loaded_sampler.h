// SPDX-License-Identifier: Apache-2.0
// tools/text/loaded_sampler.h - a sampler and stop texts on the host, with their memory.
// Errors   host::Failure kUsage (an option), kMismatch (logits).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/sampler.h"
#include "runtime/text/stop_texts.h"
#include "tools/text/loaded_tokenizer.h"

namespace ingot::vocabulary {

/// A bit for each id: no sequence that DRY looks for goes past a piece with the end of a line, ':',
/// '"' or '*', which are llama.cpp's.
std::vector<uint8_t> dry_breakers(const TokenizerView& tables, size_t vocabulary);

class LoadedSampler {
 public:
  /// @param context  nothing looks back on more tokens
  /// @param where    begins every error
  LoadedSampler(text::SamplerOptions options, std::vector<text::LogitBias> biases,
                std::vector<uint8_t> breakers, size_t vocabulary, size_t context,
                std::string where);
  void accept(std::span<const int32_t> ids);
  int32_t sample(std::span<const float> logits);

 private:
  std::string where_;
  std::vector<text::LogitBias> biases_;
  std::vector<uint8_t> breakers_;
  AlignedBytes memory_;
  text::Sampler sampler_;
};

class LoadedStopTexts {
 public:
  explicit LoadedStopTexts(std::vector<std::string> texts);
  /// What belongs to the answer for sure.
  std::string_view put(std::string_view bytes);
  std::string_view finish();
  /// The text that ended the answer; null: none.
  const std::string* stopped_by() const;

 private:
  std::vector<std::string> texts_;
  std::vector<text::StopText> views_;
  AlignedBytes memory_;
  text::StopTexts stops_;
  std::vector<uint8_t> out_;
};

}  // namespace ingot::vocabulary
