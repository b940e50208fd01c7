// SPDX-License-Identifier: Apache-2.0
// Slots of one session: answers that come and go in one batch have the bits of lone runs, a slot
// keeps what is its own, and what does not fit is refused.
#include <doctest/doctest.h>

#include <cstring>
#include <thread>

#include "ingot/text.hpp"
#include "tests/generate/chat_session.h"

using namespace ingot;
using namespace ingot::test;

namespace {

using Ids = std::vector<int32_t>;
constexpr uint32_t kSlots = 4;

Ids prompt_of(uint32_t seed, size_t count) {
  Ids ids;
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    ids.push_back(int32_t(seed >> 8) % 289);
  }
  return ids;
}

/// A file of so many slots (0: without), a session and its generators.
struct SlotChat {
  FileBytes bytes;
  Model model;
  Session session;
  Text text;
  Generator generator;

  SlotChat(int32_t slots, int threads)
      : bytes(chat_model(chat_source(), kChatContext, slots)),
        model(open_bytes_or_fail(bytes)),
        session(chat_session(model, threads)),
        text(*Text::open(model)),
        generator(*Generator::create(session, &text)) {}
  SlotGenerator slot(uint32_t i) const { return generator.slot(i); }
};

/// What is asked, and what came: tokens, and the logits that each was chosen from.
struct Answer {
  Ids prompt, ids = {};
  uint32_t tokens = 0;
  uint64_t seed = 0;  // 0: the most probable tokens
  std::vector<std::vector<float>> logits = {};
  ingot_end end = INGOT_END_NONE;

  template <class Of>
  void begin(Of& generator) const {
    const ingot_setting settings[] = {{"temperature", 1.2}, {"repeat_penalty", 1.1}};
    ingot_answer_options options = answer_options();
    options.tokens = tokens, options.flags = INGOT_ANSWER_IGNORE_END;
    options.settings = settings, options.setting_count = seed ? 2 : 0, options.seed = seed;
    REQUIRE(generator.begin(prompt, options).ok());
  }
  /// @pre the prompt and all tokens so far are computed
  template <class Of>
  void take(Of& generator) {
    const auto from = generator.logits();
    REQUIRE(from.ok());
    logits.emplace_back(from->begin(), from->end());
    const auto token = generator.next();
    REQUIRE(token.ok());
    ids.push_back(token->id);
    end = token->end;
  }
};

Answer lone(Answer answer, SlotChat& plain) {
  answer.begin(plain.generator);
  while (answer.end == INGOT_END_NONE) {
    while (*plain.generator.prefill() > 0) continue;
    answer.take(plain.generator);
  }
  return answer;
}

bool is_ready(SlotGenerator slot) {
  const ingot_generator_summary now = slot.summary();
  return now.cached == now.token_count;
}

/// All answers, each in the slot that is free first, from the step of its number on.
/// Tokens of a step are chosen on as many threads as there are, or one behind the other.
void run_all(SlotChat& chat, std::vector<Answer>& answers, size_t apart, bool at_once) {
  Answer* in_slot[kSlots] = {};
  size_t begun = 0, ended = 0;
  for (size_t step = 0; ended < answers.size(); step++) {
    for (uint32_t i = 0; i < kSlots; i++)
      if (!in_slot[i] && begun < answers.size() && step >= begun * apart) {
        SlotGenerator generator = chat.slot(i);
        in_slot[i] = &answers[begun++];
        in_slot[i]->begin(generator);
      }
    REQUIRE(chat.generator.step().ok());
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kSlots; i++) {
      if (!in_slot[i] || !is_ready(chat.slot(i))) continue;
      const auto take = [&chat, i, answer = in_slot[i]] {
        SlotGenerator generator = chat.slot(i);
        answer->take(generator);
      };
      if (at_once)
        threads.emplace_back(take);
      else
        take();
    }
    for (std::thread& thread : threads) thread.join();
    for (Answer*& answer : in_slot) {
      if (!answer || answer->end == INGOT_END_NONE) continue;
      answer = nullptr;
      ended++;
    }
  }
}

std::vector<Answer> some_answers() {
  std::vector<Answer> all;
  const size_t lengths[] = {1, 17, 8, 30, 3, 9, 40, 2, 25, 16};
  for (size_t i = 0; i < std::size(lengths); i++)
    all.push_back(
        {prompt_of(uint32_t(i) + 1, lengths[i]), {}, uint32_t(i * 5 % 11), i % 2 ? i : 0});
  return all;  // of no length: until the context is full
}

}  // namespace

TEST_CASE("slots: answers that come and go have the logits and tokens of lone runs") {
  SlotChat plain(0, 1);
  std::vector<Answer> expected;
  for (const Answer& answer : some_answers()) expected.push_back(lone(answer, plain));
  CHECK(expected[0].end == INGOT_END_CONTEXT);
  CHECK(expected[1].end == INGOT_END_LENGTH);
  for (const int threads : {1, 3}) {
    SlotChat chat(kSlots, threads);
    CHECK(chat.slot(0).summary().slots == kSlots);
    for (const size_t apart : {0, 3}) {
      CAPTURE(threads);
      CAPTURE(apart);
      std::vector<Answer> found = some_answers();
      run_all(chat, found, apart, threads > 1);
      for (size_t i = 0; i < found.size(); i++) {
        CAPTURE(i);
        CHECK(found[i].ids == expected[i].ids);
        CHECK(found[i].end == expected[i].end);
        REQUIRE(found[i].logits.size() == expected[i].logits.size());
        for (size_t n = 0; n < found[i].logits.size(); n++)
          CHECK(std::memcmp(found[i].logits[n].data(), expected[i].logits[n].data(),
                            sizeof(float) * found[i].logits[n].size()) == 0);
      }
    }
  }
}

TEST_CASE("slots: what another slot has of a prompt is copied, and gives the bits of a lone run") {
  SlotChat plain(0, 1), chat(kSlots, 1);
  SlotGenerator first = chat.slot(2);
  const Ids prompt = prompt_of(9, 24);
  REQUIRE(first.begin(prompt).ok());
  CHECK(*chat.slot(1).begin(prompt) == 0);  // nothing is computed yet
  chat.slot(1).cancel();
  while (!is_ready(first)) REQUIRE(chat.generator.step().ok());
  Answer later{{prompt.begin(), prompt.begin() + 20}};
  const Ids tail = prompt_of(10, 6);
  later.prompt.insert(later.prompt.end(), tail.begin(), tail.end());
  later.tokens = 5;
  const Answer expected = lone(later, plain);
  for (const auto& [i, reused] : {std::pair{3u, 20u}, {0u, 25u}}) {  // the last one is computed
    Answer found = later;
    SlotGenerator slot = chat.slot(i);
    CHECK(*slot.begin(later.prompt) == reused);
    for (found.begin(slot); found.end == INGOT_END_NONE; found.take(slot))
      while (!is_ready(slot)) REQUIRE(chat.generator.step().ok());
    CHECK(found.ids == expected.ids);
    CHECK(found.logits == expected.logits);
  }
}

TEST_CASE("slots: one that is cancelled is left out, and others do not see it") {
  SlotChat plain(0, 1), chat(kSlots, 1);
  const Answer asked{prompt_of(5, 20), {}, 6, 3}, other{prompt_of(6, 11), {}, 30, 0};
  SlotGenerator first = chat.slot(0), second = chat.slot(1);
  Answer found = asked;
  found.begin(first);
  other.begin(second);
  REQUIRE(chat.generator.step().ok());
  CHECK(chat.slot(0).summary().cached + chat.slot(1).summary().cached == uint64_t(kChatRun));
  CHECK(chat.slot(1).summary().cached > 0);  // nobody waits for a prompt
  second.cancel();
  const uint64_t cached = second.summary().cached;
  while (found.end == INGOT_END_NONE) {
    REQUIRE(chat.generator.step().ok());
    if (is_ready(first)) found.take(first);
  }
  CHECK(found.ids == lone(asked, plain).ids);
  CHECK(second.summary().cached == cached);
  CHECK(second.next().error().code == INGOT_CANCELLED);
  CHECK(*chat.generator.step() == 0);
  // The prompt again: what its caches hold of it is kept.
  CHECK(*second.begin(other.prompt) == cached);
  // A step under a deadline that is over changes nothing.
  CHECK(chat.generator.step(1).error().code == INGOT_DEADLINE_EXCEEDED);
  CHECK(second.summary().cached == cached);
  std::vector<Answer> again = {other};
  again[0].begin(second);
  while (again[0].end == INGOT_END_NONE) {
    REQUIRE(chat.generator.step().ok());
    if (is_ready(second)) again[0].take(second);
  }
  CHECK(again[0].ids == lone(other, plain).ids);
}

TEST_CASE(
    "slots: without step, each is a generator of its own; logits of others are computed again") {
  SlotChat plain(0, 1), chat(kSlots, 1);
  const Answer asked{prompt_of(7, 12), {}, 5, 0}, other{prompt_of(8, 9), {}, 5, 2};
  Answer found[] = {asked, other};
  SlotGenerator slots[] = {chat.slot(3), chat.slot(1)};
  for (int i = 0; i < 2; i++) found[i].begin(slots[i]);
  for (int i = 0; i < 2; i++)
    while (*slots[i].prefill() > 0) continue;
  CHECK(slots[0].logits().error().code == INGOT_WRONG_STATE);
  while (found[0].end == INGOT_END_NONE)
    for (int i = 0; i < 2; i++) {
      while (*slots[i].prefill() > 0) continue;
      found[i].take(slots[i]);
    }
  CHECK(found[0].ids == lone(asked, plain).ids);
  CHECK(found[1].ids == lone(other, plain).ids);
}

TEST_CASE("slots: a conversation is saved from one and goes on in another") {
  SlotChat plain(0, 1), chat(kSlots, 1);
  const Answer asked{prompt_of(9, 20), {}, 4, 0}, other{prompt_of(10, 14), {}, 4, 0};
  SlotGenerator from = chat.slot(2), to = chat.slot(3), beside = chat.slot(0);
  Answer first = asked, second = asked, third = other;
  const auto run = [&](Answer& answer, SlotGenerator& slot) {
    answer.begin(slot);
    while (answer.end == INGOT_END_NONE) {
      while (*slot.prefill() > 0) continue;
      answer.take(slot);
    }
  };
  run(third, beside);
  run(first, from);
  const std::vector<uint8_t> saved = *from.save();
  REQUIRE(to.restore(saved.data(), saved.size()).ok());
  CHECK(to.summary().cached == 23);
  CHECK(*to.begin(asked.prompt) == 19);
  run(second, to);
  CHECK(second.ids == lone(asked, plain).ids);
  CHECK(second.logits == first.logits);
  // The one beside keeps its caches.
  CHECK(*beside.begin(other.prompt) == 13);
  Answer fourth = other;
  run(fourth, beside);
  CHECK(fourth.logits == third.logits);
  // Of a file without slots it is another program's.
  const std::vector<uint8_t> foreign = *plain.generator.save();
  CHECK(to.restore(foreign.data(), foreign.size()).error().code == INGOT_STATE_MISMATCH);
}

TEST_CASE("slots: rows that were restored are no other slot's") {
  SlotChat source(kSlots, 1), chat(kSlots, 1);
  const Ids prompt = prompt_of(9, 20);
  const auto compute = [](SlotGenerator slot, const Ids& ids) {
    REQUIRE(slot.begin(ids).ok());
    while (*slot.prefill() > 0) continue;
  };
  compute(source.slot(0), prompt);
  const std::vector<uint8_t> saved = *source.slot(0).save();
  REQUIRE(chat.slot(3).restore(saved.data(), saved.size()).ok());
  CHECK(*chat.slot(0).begin(prompt) == 0);
  CHECK(*chat.slot(3).begin(prompt) == 19);
  compute(chat.slot(3), prompt_of(11, 9));  // what was restored is gone
  compute(chat.slot(3), prompt);
  CHECK(*chat.slot(0).begin(prompt) == 19);
}

TEST_CASE("slots: a token that was not chosen behind its step is computed again") {
  SlotChat plain(0, 1), chat(kSlots, 1);
  Answer late{prompt_of(9, 3), {}, 2}, other{prompt_of(10, 3), {}, 4};
  SlotGenerator first = chat.slot(0), second = chat.slot(1);
  late.begin(first), other.begin(second);
  REQUIRE(chat.generator.step().ok());
  for (int i = 0; i < 2; i++) {
    REQUIRE(is_ready(first) == (i == 0));
    REQUIRE(is_ready(second));
    other.take(second);
    REQUIRE(chat.generator.step().ok());
    CHECK(is_ready(first) == (i == 1));  // as the others of its run may find on their threads
  }
  const Answer expected = lone({late.prompt, {}, 2}, plain);
  late.take(first);
  CHECK(late.logits[0] == expected.logits[0]);
  CHECK(late.ids[0] == expected.ids[0]);
}

TEST_CASE("slots: a run by hand with a slot or a position that is none is an error") {
  SlotChat chat(kSlots, 1);
  const auto run = [&](int64_t position, int64_t slot, int64_t row) {
    chat.session.input<int32_t>("tokens").value()[0] = 5;
    chat.session.input<int64_t>("position").value()[0] = position;
    chat.session.input<int64_t>("slot").value()[0] = slot;
    chat.session.input<int64_t>("rows").value()[0] = row;
    return chat.session.run().error().code;
  };
  const auto state_of = [&] { return chat.session.save_state().value(); };
  CHECK(run(3, 2, 0) == INGOT_OK);
  const std::vector<uint8_t> before = state_of();
  for (const int64_t bad : {int64_t{-1}, int64_t{kSlots}, INT64_MAX, INT64_MIN})
    CHECK(run(3, bad, 0) == INGOT_BAD_INDEX_VALUE);
  for (const int64_t bad : {int64_t{-1}, kChatContext, INT64_MAX, INT64_MIN})
    CHECK(run(bad, 1, 0) == INGOT_BAD_INDEX_VALUE);
  CHECK(state_of() == before);  // nothing was written to another slot
  for (const int64_t bad : {int64_t{-1}, int64_t{1}, INT64_MIN})
    CHECK(run(3, 2, bad) == INGOT_BAD_INDEX_VALUE);
}

TEST_CASE("slots: one block of memory for all, to the byte; what is none is null") {
  SlotChat chat(kSlots, 1), plain(0, 1);
  uint64_t need = 0, of_one = 0;
  REQUIRE(ingot_generator_requirements(chat.session.get(), &need, nullptr) == INGOT_OK);
  REQUIRE(ingot_generator_requirements(plain.session.get(), &of_one, nullptr) == INGOT_OK);
  CHECK(need > 3 * of_one);
  std::vector<uint8_t> room(size_t(need) + 16);
  uint8_t* const at = room.data() + (16 - reinterpret_cast<uintptr_t>(room.data()) % 16) % 16;
  ingot_block_options options = INGOT_INIT(ingot_block_options);
  options.memory = at, options.memory_bytes = need - 1;
  ingot_generator* made = nullptr;
  CHECK(ingot_generator_create(chat.session.get(), chat.text.get(), &options, &made, nullptr) ==
        INGOT_ARENA_TOO_SMALL);
  options.memory_bytes = need;
  REQUIRE(ingot_generator_create(chat.session.get(), chat.text.get(), &options, &made, nullptr) ==
          INGOT_OK);
  CHECK(ingot_generator_slot(made, 0) == made);
  CHECK(ingot_generator_slot(made, kSlots - 1) != nullptr);
  CHECK(ingot_generator_slot(made, kSlots) == nullptr);
  CHECK(ingot_generator_slot(nullptr, 0) == nullptr);
  ingot_generator_destroy(ingot_generator_slot(made, 1));
  ingot_generator_destroy(made);
  CHECK(ingot_generator_step(nullptr, 0, nullptr, nullptr) == INGOT_INVALID_ARGUMENT);
  // A file without slots steps its one.
  CHECK(plain.generator.summary().slots == 1);
  Answer answer{prompt_of(3, 9), {}, 2, 0};
  answer.begin(plain.generator);
  CHECK(*plain.generator.step() == 1);
  CHECK(*plain.generator.step() == 0);
  answer.take(plain.generator);
}
