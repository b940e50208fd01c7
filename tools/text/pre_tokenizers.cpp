// SPDX-License-Identifier: Apache-2.0
// tools/text/pre_tokenizers.cpp - what sources call the ways to split a text: names in GGUF files,
// regular expressions in tokenizer.json.
#include <algorithm>

#include "tools/text/vocabulary.h"

namespace ingot::vocabulary {
namespace {

using Stage = TextStage;

struct Named {
  PreTokenizer how;
  std::vector<std::string_view> names;
};

const std::vector<Named>& named() {
  static const std::vector<Named> rows = {
      {{{Stage::kLlama3}, true, true},
       {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"}},
      {{{Stage::kLlama3}, true}, {"glm4", "glm5"}},
      {{{Stage::kLlama3}}, {"chatglm-bpe", "dbrx", "smaug-bpe"}},
      {{{Stage::kNumbers3, Stage::kLlama3}, true}, {"minicpm5"}},
      {{{Stage::kGpt2}},
       {"gpt-2", "phi-2", "gigachat", "a.x-4.0", "mellum", "modern-bert", "exaone4", "mpt", "olmo",
        "jais", "trillion", "granite-docling"}},
      {{{Stage::kNumber, Stage::kGpt2}},
       {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b",
        "mellum2"}},
      {{{Stage::kQwen2}},
       {"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan",
        "solar-open", "grok-2"}},
      {{{Stage::kQwen35}}, {"qwen35"}},
      {{{Stage::kGpt4o}}, {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}},
      {{{Stage::kTekken}, true, true}, {"tekken"}},
      {{{Stage::kNewline, Stage::kCasedLetters, Stage::kWidePunctuation, Stage::kTrailingSpace,
         Stage::kHanHangul, Stage::kNumbers}},
       {"deepseek-llm"}},
      {{{Stage::kNewline, Stage::kLetters, Stage::kMarks, Stage::kHanHangul, Stage::kNumber}},
       {"deepseek-coder"}},
      {{{Stage::kNumbers3, Stage::kHanKana, Stage::kDeepseek3}},
       {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}},
      {{{Stage::kPunctuation, Stage::kGpt2, Stage::kDigits3}}, {"falcon"}},
      {{{Stage::kBloom}}, {"bloom", "gpt3-finnish", "poro-chat"}},
      {{{Stage::kBloom, Stage::kNumber}}, {"viking"}},
  };
  return rows;
}

struct Pattern {
  std::string_view text;
  Stage stage;
  bool is_total = false;
};

constexpr Pattern kPatterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", Stage::kGpt2,
     true},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
     R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Stage::kLlama3, true},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
     R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Stage::kQwen2, true},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+)"
     R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Stage::kQwen35, true},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
     R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+)"
     R"([\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Stage::kGpt4o, true},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     Stage::kTekken, true},
    {R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)"
     "\r\n"
     R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)"
     "\r\n"
     R"(]*|\s*[)"
     "\r\n"
     R"(]+|\s+(?!\S)|\s+)",
     Stage::kDeepseek3},
    {R"(\p{N}{1,3})", Stage::kNumbers3},
    {R"(\p{N})", Stage::kNumber},
    {R"(\p{N}+)", Stage::kNumbers},
    {R"([0-9][0-9][0-9])", Stage::kDigits3},
    {"[\r\n]", Stage::kNewline},
    {R"(\s?\p{L}+)", Stage::kLetters},
    {R"(\s?\p{P}+)", Stage::kMarks},
    {R"(\s+$)", Stage::kTrailingSpace},
    {"[一-龥ࠀ-一가-\xed\x9f\xbf]+", Stage::kHanHangul},
    {"[一-龥぀-ゟ゠-ヿ]+", Stage::kHanKana},
    {"\\s?[!-/:-~！-／：-～‘-‟　-。]+", Stage::kWidePunctuation},
    {R"( ?[^(\s|[.,!?…。，、।۔،])]+)", Stage::kBloom},
};

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  for (const Named& row : named())
    if (std::find(row.names.begin(), row.names.end(), name) != row.names.end()) return &row.how;
  return nullptr;
}

bool find_pattern(std::string_view pattern, TextStage* stage, bool* is_total) {
  for (const Pattern& row : kPatterns) {
    if (row.text != pattern) continue;
    *stage = row.stage, *is_total = row.is_total;
    return true;
  }
  return false;
}

}  // namespace ingot::vocabulary
