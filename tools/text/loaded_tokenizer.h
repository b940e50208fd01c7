// SPDX-License-Identifier: Apache-2.0
// tools/text/loaded_tokenizer.h - a tokenizer on the host: the part in memory, texts and ids in the
// library's own containers.
// Errors   host::Failure kCorrupt (the part), kMismatch (a text or an id that it has no piece for).
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/generate/text_tables.h"
#include "runtime/text/tokenizer.h"

namespace ingot::vocabulary {

struct AlignedDelete {
  void operator()(uint8_t* bytes) const;
};
using AlignedBytes = std::unique_ptr<uint8_t[], AlignedDelete>;
/// Of 16-byte alignment, not written to.
AlignedBytes aligned_bytes(size_t count);

class LoadedTokenizer {
 public:
  LoadedTokenizer(const std::vector<uint8_t>& part, const std::string& where);
  /// That of a model, where it lies.
  LoadedTokenizer(const TextTables& tables, const std::string& where);
  /// From a GGUF file or a tokenizer.json.
  static LoadedTokenizer from_source(const std::string& path);

  const TokenizerView& tables() const { return tables_; }
  bool has_chat() const { return has_chat_; }
  /// The chat template, or why it is not there. @throws kMismatch where the source has none.
  const TemplateView& chat() const;
  std::vector<int32_t> encode(std::string_view text, const text::EncodeOptions& options = {}) const;
  std::string decode(const std::vector<int32_t>& ids, bool shows_control) const;

 private:
  std::string where_;
  AlignedBytes part_;
  TokenizerView tables_;
  bool has_chat_ = false;
  TemplateView chat_;
};

}  // namespace ingot::vocabulary
