// SPDX-License-Identifier: Apache-2.0
// tests/generate/small_chat_model.h - a Llama of random weights with a tokenizer of letters and
// bytes, and a chat template.
#pragma once
#include "tests/import/decoder/gguf_source.h"
#include "tools/compile/convert/convert.h"

namespace ingot::test {

constexpr int64_t kChatContext = 48, kChatRun = 8;
constexpr uint32_t kChatEnd = 2, kChatFirstByte = 6 + 27;  // </s>, <0x00>

/// <unk>, <s>, </s>, further control tokens, pieces, a token for each byte, and some that no text
/// has.
inline void set_vocabulary(gguf::Source* s, const std::vector<std::string>& control,
                           const std::vector<std::string>& pieces, int padding = 0) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<uint32_t> kinds = {2, 3, 3};
  for (const std::string& c : control) tokens.push_back(c), kinds.push_back(3);
  for (const std::string& p : pieces) tokens.push_back(p), kinds.push_back(1);
  for (int b = 0; b < 256; b++) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", unsigned(b));
    tokens.push_back(name), kinds.push_back(6);
  }
  for (int i = 0; i < padding; i++)
    tokens.push_back("[PAD" + std::to_string(i) + "]"), kinds.push_back(5);
  std::vector<float> scores;
  for (size_t i = 0; i < tokens.size(); i++) scores.push_back(-float(i));
  s->tensors["token_embd.weight"] = {tokens.size(), 8};
  s->metadata["tokenizer.ggml.tokens"] = gguf::list(tokens);
  s->metadata["tokenizer.ggml.token_type"] = gguf::list(kinds);
  s->metadata["tokenizer.ggml.scores"] = gguf::list(scores);
}

inline gguf::Source chat_source(int padding = 0, gguf::Source s = gguf::llama()) {
  s.is_random = true;
  std::vector<std::string> pieces;
  for (char c = 'a'; c <= 'z'; c++) pieces.push_back(std::string(1, c));
  pieces.push_back("\u2581");
  set_vocabulary(&s, {"<|system|>", "<|user|>", "<|bot|>"}, pieces, padding);
  s.metadata["tokenizer.ggml.model"] = gguf::word("llama");
  s.metadata["tokenizer.ggml.bos_token_id"] = gguf::whole(1);
  s.metadata["tokenizer.ggml.eos_token_id"] = gguf::whole(kChatEnd);
  s.metadata["tokenizer.ggml.unknown_token_id"] = gguf::whole(0);
  s.metadata["tokenizer.ggml.add_space_prefix"] = little_endian(7, 4) + little_endian(0, 1);
  s.metadata["tokenizer.chat_template"] = gguf::word(
      "{%- for m in messages %}"
      "{%- if m.role == 'fool' %}{{ raise_exception('no fools') }}{% endif %}"
      "{{- '<|' + m.role + '|>' + m.content }}"
      "{%- endfor %}"
      "{%- if mood is defined %}{{ mood }}{% endif %}"
      "{%- if add_generation_prompt %}{{ '<|bot|>' }}{% endif %}");
  return s;
}

inline convert::FileSpec chat_model(const gguf::Source& source = chat_source(),
                                    int64_t context = kChatContext, int32_t slots = 0,
                                    int32_t lookup = 0, int64_t most = kChatRun) {
  const Scratch scratch;
  convert::ConvertOptions options;
  options.context = context, options.slots = slots, options.lookup = lookup;
  options.dims = {"T=1.." + std::to_string(most)};
  return convert::convert_source(scratch.write("chat.gguf", source.bytes()), options).file;
}

}  // namespace ingot::test
