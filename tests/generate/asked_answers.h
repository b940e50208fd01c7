// SPDX-License-Identifier: Apache-2.0
// tests/generate/asked_answers.h - answers of the small chat model to questions, with all that was
// chosen from, for tests that what is proposed changes none of it.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "ingot/text.hpp"
#include "tests/generate/chat_session.h"

namespace ingot::test {

using Ids = std::vector<int32_t>;
constexpr int64_t kAskedContext = 120;
constexpr int32_t kChecked = 7;

/// A file whose runs check so many tokens, a session and its generators.
struct AskedChat {
  FileBytes bytes;
  Model model;
  Session session;
  Text text;
  Generator generator;

  explicit AskedChat(int32_t lookup = kChecked, int threads = 1, int32_t slots = 0,
                     const gguf::Source& source = chat_source(), int64_t context = kAskedContext,
                     int64_t most = kChatRun)
      : bytes(chat_model(source, context, slots, lookup, most)),
        model(open_bytes_or_fail(bytes)),
        session(chat_session(model, threads)),
        text(*Text::open(model)),
        generator(*Generator::create(session, &text)) {}
};

/// `length` tokens, again and again.
inline Ids repeated(uint32_t seed, size_t length, size_t count) {
  Ids ids;
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    ids.push_back(i < length ? int32_t(seed >> 8) % 289 : ids[i - length]);
  }
  return ids;
}

/// No tokens but the first so many of the letters: a tongue of few words says them again.
inline std::vector<ingot_logit_bias> of_letters(int32_t count) {
  std::vector<ingot_logit_bias> biases;
  for (int32_t id = 0; id < 289; id++)
    if (id < 6 || id >= 6 + count) biases.push_back({id, -INFINITY});
  return biases;
}

struct Asked {
  Ids prompt;
  std::vector<ingot_setting> settings = {};
  uint64_t seed = 0;
  uint32_t tokens = 0;
  std::vector<const char*> stops = {};
  ingot_constraint* constraint = nullptr;
  uint32_t flags = INGOT_ANSWER_IGNORE_END;
  std::vector<ingot_logit_bias> biases = of_letters(4);

  ingot_answer_options options(int32_t lookup) const {
    ingot_answer_options o = answer_options();
    o.settings = settings.data(), o.setting_count = settings.size();
    o.stop_texts = stops.data(), o.stop_text_count = stops.size();
    o.seed = seed, o.tokens = tokens, o.flags = flags, o.constraint = constraint;
    o.biases = biases.data(), o.bias_count = biases.size();
    o.lookup = lookup;
    return o;
  }
};

struct Found {
  Ids ids;
  std::string text;
  std::vector<std::vector<float>> logits;  // that each was chosen from
  ingot_end end = INGOT_END_NONE;
  int64_t runs = 0;  // behind the prompt, as the session's ports tell
  uint64_t proposed = 0, accepted = 0;

  bool operator==(const Found& o) const {
    if (ids != o.ids || text != o.text || end != o.end || logits.size() != o.logits.size())
      return false;
    for (size_t i = 0; i < logits.size(); i++)
      if (std::memcmp(logits[i].data(), o.logits[i].data(), sizeof(float) * logits[i].size()) != 0)
        return false;
    return true;
  }
};

/// A token, and what it was chosen from.
template <class Of>
void take(Of& generator, Found* out) {
  const auto from = generator.logits();
  REQUIRE(from.ok());
  out->logits.emplace_back(from->begin(), from->end());
  const auto token = generator.next();
  REQUIRE(token.ok());
  const auto after = generator.logits();
  CHECK(std::memcmp(after->begin(), out->logits.back().data(), 289 * sizeof(float)) == 0);
  out->ids.push_back(token->id);
  out->text.append(token->text, token->text_bytes);
  out->end = token->end;
}

/// Goes on until the answer has so many tokens (0: until its end).
inline void go_on(AskedChat& chat, Found* out, size_t count = 0) {
  while (out->end == INGOT_END_NONE && (count == 0 || out->ids.size() < count)) {
    const int64_t before = chat.session.input<int64_t>("position").value()[0];
    while (*chat.generator.prefill() > 0) continue;
    out->runs += chat.session.input<int64_t>("position").value()[0] != before;
    take(chat.generator, out);
  }
  const ingot_generator_summary now = chat.generator.summary();
  out->proposed = now.proposed, out->accepted = now.accepted;
}

inline Found answer(AskedChat& chat, const Asked& asked, int32_t lookup) {
  Found found;
  REQUIRE(chat.generator.begin(asked.prompt, asked.options(lookup)).ok());
  while (*chat.generator.prefill() > 0) continue;
  go_on(chat, &found);
  return found;
}

inline std::vector<Asked> questions() {
  std::vector<Asked> all;
  for (const size_t length : {2, 9, 100}) {
    const Ids prompt = repeated(uint32_t(length), length, 30);
    all.push_back({prompt});
    all.push_back({prompt, {}, 0, 17});
    all.push_back({prompt, {{"repeat_penalty", 1.05}, {"repeat_last", 16}}});
    all.push_back({prompt, {{"dry_multiplier", 0.8}, {"frequency_penalty", 0.02}}});
    for (const uint64_t seed : {1, 2})
      all.push_back({prompt, {{"temperature", 0.15}, {"top_k", 20}}, seed});
    all.push_back({prompt, {{"temperature", 0.3}, {"presence_penalty", 0.05}}, 3});
    all.push_back({prompt, {{"temperature", 1.5}}, 4});
    all.push_back({prompt});
    all.back().biases.clear();
  }
  all.push_back({repeated(3, 4, size_t(kAskedContext) - 2)});  // hardly room
  all.push_back({repeated(3, 4, size_t(kAskedContext))});
  return all;
}

}  // namespace ingot::test
