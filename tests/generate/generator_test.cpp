// SPDX-License-Identifier: Apache-2.0
// Generators against a loop over a session by hand: tokens, caches that are kept, ends of an
// answer, cancel and deadlines, saved conversations, memory to the byte.
#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "ingot/text.hpp"
#include "tests/generate/chat_session.h"

using namespace ingot;
using namespace ingot::test;

namespace {

using Ids = std::vector<int32_t>;

const convert::FileSpec& model_file() {
  static const convert::FileSpec file = chat_model();
  return file;
}

/// A model with a session, a text and a generator of it.
struct Chat {
  FileBytes bytes{model_file()};
  Model model = open_bytes_or_fail(bytes);
  Session session = chat_session(model);
  Text text = *Text::open(model);
  Generator generator = *Generator::create(session, &text);

  Ids answer(const Ids& prompt, const ingot_answer_options& options, std::string* said = nullptr,
             ingot_end* end = nullptr) {
    Ids ids;
    REQUIRE(generator.begin(prompt, options).ok());
    const auto ended = generator.run([&](const ingot_token& token) {
      if (token.end != INGOT_END_CONTROL) ids.push_back(token.id);
      if (said) said->append(token.text, token.text_bytes);
    });
    REQUIRE(ended.ok());
    if (end) *end = *ended;
    return ids;
  }
};

/// The most probable tokens, one run each, with nothing of the generator.
Ids plain_answer(const Ids& prompt, size_t count) {
  FileBytes bytes(model_file());
  const Model model = open_bytes_or_fail(bytes);
  Session session = chat_session(model);
  Ids all = prompt;
  for (size_t at = 0; at < prompt.size() + count - 1; at++) {
    session.input<int32_t>("tokens").value()[0] = all[at];
    session.input<int64_t>("position").value()[0] = int64_t(at);
    REQUIRE(session.run().ok());
    const auto logits = session.output<float>("logits").value();
    if (at + 1 == all.size())
      all.push_back(int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin()));
  }
  return Ids(all.begin() + ptrdiff_t(prompt.size()), all.end());
}

ingot_answer_options most(uint32_t tokens) {
  ingot_answer_options options = answer_options();
  options.tokens = tokens;
  options.flags = INGOT_ANSWER_IGNORE_END;
  return options;
}

Ids random_prompt(uint32_t seed, size_t count) {
  Ids ids;
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    ids.push_back(int32_t(seed >> 8) % 289);
  }
  return ids;
}

}  // namespace

TEST_CASE("generator: the tokens of a loop by hand, in any parts, with their text") {
  Chat chat;
  const ingot_generator_summary summary = chat.generator.summary();
  CHECK(summary.context == kChatContext);
  CHECK(summary.run_tokens == kChatRun);
  CHECK(summary.vocabulary == 289);
  for (const size_t length : {1, 2, 7, 8, 9, 16, 17, 30}) {
    CAPTURE(length);
    const Ids prompt = random_prompt(uint32_t(length), length);
    std::string said;
    ingot_end end = INGOT_END_NONE;
    const Ids ids = chat.answer(prompt, most(12), &said, &end);
    CHECK(ids == plain_answer(prompt, 12));
    CHECK(end == INGOT_END_LENGTH);
    CHECK(said == *chat.text.decode(ids));
    CHECK(chat.generator.summary().token_count == length + 12);
    CHECK(chat.generator.summary().cached == length + 11);  // of the last nothing is computed
  }
}

TEST_CASE("generator: a prompt keeps what the caches hold of its beginning") {
  Chat chat;
  const Ids first = random_prompt(1, 12);
  const Ids answered = chat.answer(first, most(6));
  Ids next = first;
  next.insert(next.end(), answered.begin(), answered.end());
  const Ids more = random_prompt(2, 5);
  next.insert(next.end(), more.begin(), more.end());
  const auto reused = chat.generator.begin(next, most(4));
  REQUIRE(reused.ok());
  CHECK(*reused == 17);  // all but the answer's last, which was not computed
  CHECK(*chat.generator.prefill() == 0);
  CHECK(chat.answer(next, most(4)) == plain_answer(next, 4));
  // Another token in the middle, the same prompt again, and a shorter one.
  Ids other = next;
  other[9] = (other[9] + 1) % 289;
  CHECK(*chat.generator.begin(other, most(4)) == 9);
  CHECK(chat.answer(other, most(4)) == plain_answer(other, 4));
  CHECK(*chat.generator.begin(other, most(4)) == other.size() - 1);
  const Ids shorter(other.begin(), other.begin() + 3);
  CHECK(*chat.generator.begin(shorter, most(4)) == 2);
  CHECK(chat.answer(shorter, most(4)) == plain_answer(shorter, 4));
  // What begin refuses changes nothing.
  const ingot_generator_summary before = chat.generator.summary();
  CHECK(chat.generator.begin({}).error().code == INGOT_INVALID_ARGUMENT);
  CHECK(chat.generator.begin({1, 289}).error().code == INGOT_INVALID_ARGUMENT);
  CHECK(chat.generator.begin({-1}).error().code == INGOT_INVALID_ARGUMENT);
  const auto long_one = chat.generator.begin(Ids(size_t(kChatContext) + 1, 7));
  CHECK(long_one.error().need == kChatContext);
  CHECK(long_one.error().have == kChatContext + 1);
  CHECK(chat.generator.summary().cached == before.cached);
  CHECK(chat.generator.summary().token_count == before.token_count);
}

TEST_CASE("generator: an answer ends at the length, the context, a control token and a stop text") {
  Chat chat;
  ingot_end end = INGOT_END_NONE;
  const Ids prompt = random_prompt(3, 40);
  CHECK(chat.answer(prompt, most(0), nullptr, &end).size() == 9);  // the last has no room
  CHECK(end == INGOT_END_CONTEXT);
  const Ids full = random_prompt(3, size_t(kChatContext));
  CHECK(chat.answer(full, most(0), nullptr, &end).size() == 1);
  CHECK(end == INGOT_END_CONTEXT);
  CHECK(chat.generator.next().error().code == INGOT_WRONG_STATE);
  ingot_answer_options options = answer_options();
  const ingot_logit_bias biases[] = {{int32_t(kChatEnd), 1e6}};
  options.biases = biases;
  options.bias_count = 1;
  CHECK(chat.answer(prompt, options, nullptr, &end).empty());
  CHECK(end == INGOT_END_CONTROL);
  options.flags = INGOT_ANSWER_IGNORE_END | INGOT_ANSWER_SHOW_CONTROL;
  options.tokens = 3;
  std::string said;
  CHECK(chat.answer(prompt, options, &said) == Ids(3, int32_t(kChatEnd)));
  CHECK(said == "</s></s></s>");
  // A stop text that begins in one token and ends in another.
  const char* stops[] = {"</s></s", "never"};
  options.stop_texts = stops;
  options.stop_text_count = 2;
  options.tokens = 0;
  said.clear();
  CHECK(chat.answer(prompt, options, &said, &end).size() == 2);
  CHECK(end == INGOT_END_STOP_TEXT);
  CHECK(said.empty());
  const char* held[] = {"</s></s>x"};
  options.stop_texts = held;
  options.stop_text_count = 1;
  options.tokens = 2;
  CHECK(chat.answer(prompt, options, &said, &end).size() == 2);
  CHECK(end == INGOT_END_LENGTH);
  CHECK(said == "</s></s>");  // held back until the end
}

TEST_CASE("generator: characters come whole, whatever bytes their tokens are; masks hold") {
  Chat chat;
  const std::string wanted = "a\u00e9\u4f60\U0001F600z";
  const Ids prompt = random_prompt(4, 5);
  REQUIRE(chat.generator.begin(prompt, most(uint32_t(wanted.size()))).ok());
  std::string said;
  for (const char byte : wanted) {
    while (*chat.generator.prefill() > 0) continue;
    const uint32_t id = kChatFirstByte + uint8_t(byte);
    const auto logits = *chat.generator.logits();
    for (size_t i = 0; i < logits.size; i++)
      if (i != id) logits[i] = -INFINITY;
    const auto token = chat.generator.next();
    REQUIRE(token.ok());
    CHECK(token->id == int32_t(id));
    const std::string part(token->text, token->text_bytes);
    CHECK((part.empty() || (uint8_t(part[0]) & 0xC0) != 0x80));
    said += part;
  }
  CHECK(said == wanted);
  // Half a character at the end is U+FFFD.
  const ingot_logit_bias half[] = {{int32_t(kChatFirstByte + 0xF0), 1e6}};
  ingot_answer_options options = most(1);
  options.biases = half, options.bias_count = 1;
  said.clear();
  chat.answer(prompt, options, &said);
  CHECK(said == "\uFFFD");
}

TEST_CASE("generator: settings by name; the same seed, the same answer; probabilities") {
  Chat chat;
  const Ids prompt = random_prompt(5, 6);
  const ingot_setting settings[] = {{"temperature", 1.5}, {"top_p", 0.95}, {"repeat_penalty", 1.2}};
  ingot_answer_options options = most(20);
  options.settings = settings, options.setting_count = 3, options.seed = 7;
  const Ids drawn = chat.answer(prompt, options);
  CHECK(chat.answer(prompt, options) == drawn);
  options.seed = 8;
  CHECK(chat.answer(prompt, options) != drawn);
  const ingot_setting wrong[] = {
      {"top_q", 1}, {"top_p", 1.5}, {"top_k", 1.5}, {"temperature", NAN}, {"repeat_last", 0}};
  for (const ingot_setting& setting : wrong) {
    options.settings = &setting, options.setting_count = 1;
    const auto refused = chat.generator.begin(prompt, options);
    CHECK(refused.error().code == (&setting == wrong ? INGOT_NOT_FOUND : INGOT_INVALID_ARGUMENT));
    CHECK(refused.error().text().find(setting.name) != std::string::npos);
  }
  ingot_setting_range range = INGOT_INIT(ingot_setting_range);
  uint32_t count = 0;
  for (; ingot_setting_at(count, &range) == INGOT_OK; count++) {
    const ingot_setting standard = {range.name, range.standard};
    options.settings = &standard, options.setting_count = 1;
    CHECK(chat.answer(prompt, options) == plain_answer(prompt, 20));
  }
  CHECK(count == 14);
  const char* bad_stops[][1] = {{""}, {"\xA9"}};
  for (const auto& stop : bad_stops) {
    options = answer_options();
    options.stop_texts = stop, options.stop_text_count = 1;
    CHECK(chat.generator.begin(prompt, options).error().code == INGOT_INVALID_ARGUMENT);
  }
  REQUIRE(chat.generator.begin(prompt).ok());
  ingot_logprob row[290];
  CHECK(ingot_generator_logprobs(chat.generator.get(), -1, row, 1, nullptr) == INGOT_WRONG_STATE);
  const auto token = chat.generator.next();
  REQUIRE(token.ok());
  REQUIRE(ingot_generator_logprobs(chat.generator.get(), token->id, row, 290, nullptr) == INGOT_OK);
  CHECK(row[0].id == token->id);
  CHECK(row[1].id == token->id);  // the most probable one
  CHECK(row[0].logprob == row[1].logprob);
  double sum = 0;
  for (size_t i = 1; i < 290; i++) {
    sum += std::exp(double(row[i].logprob));
    if (i > 1) CHECK(row[i].logprob <= row[i - 1].logprob);
  }
  CHECK(sum == doctest::Approx(1).epsilon(1e-6));
}

TEST_CASE("generator: cancelled and late calls leave the caches as they were") {
  Chat chat;
  const Ids prompt = random_prompt(6, 30);
  const Ids expected = plain_answer(prompt, 8);
  REQUIRE(chat.generator.begin(prompt, most(8)).ok());
  CHECK(*chat.generator.prefill() == 22);
  CHECK(chat.generator.prefill(1).error().code == INGOT_DEADLINE_EXCEEDED);
  CHECK(chat.generator.summary().cached == 8);
  chat.generator.cancel();
  CHECK(chat.generator.prefill().error().code == INGOT_CANCELLED);
  CHECK(chat.generator.next().error().code == INGOT_CANCELLED);
  CHECK(*chat.generator.begin(prompt, most(8)) == 8);
  CHECK(chat.answer(prompt, most(8)) == expected);
  // In the middle of an answer, by another thread, again and again.
  for (int round = 0; round < 20; round++) {
    REQUIRE(chat.generator.begin(random_prompt(uint32_t(round), 30), most(0)).ok());
    std::thread other([&] { chat.generator.cancel(); });
    ingot_code code = INGOT_OK;
    while (code == INGOT_OK) {
      const auto token = chat.generator.next();
      code = token.error().code;
      if (token && token->end != INGOT_END_NONE) break;
    }
    other.join();
    CHECK((code == INGOT_OK || code == INGOT_CANCELLED));
    CHECK(chat.answer(prompt, most(8)) == expected);
  }
}

TEST_CASE("generator: a saved conversation goes on in another process's place") {
  Chat chat, other;
  const Ids prompt = random_prompt(7, 20);
  chat.answer(prompt, most(5));
  const std::vector<uint8_t> saved = *chat.generator.save();
  REQUIRE(other.generator.restore(saved.data(), saved.size()).ok());
  CHECK(other.generator.summary().cached == 24);
  CHECK(other.generator.next().error().code == INGOT_WRONG_STATE);
  CHECK(*other.generator.begin(prompt, most(5)) == 19);
  CHECK(other.answer(prompt, most(5)) == plain_answer(prompt, 5));
  // Saved in the middle, the answer goes on all the same.
  REQUIRE(chat.generator.begin(prompt, most(5)).ok());
  Ids ids;
  for (int i = 0; i < 5; i++) {
    if (i == 2) CHECK(chat.generator.save().ok());
    ids.push_back(chat.generator.next()->id);
  }
  CHECK(ids == plain_answer(prompt, 5));
  for (const size_t cut : {size_t{0}, size_t{7}, size_t{20}, saved.size() - 1})
    CHECK(!other.generator.restore(saved.data(), cut).ok());
  for (const size_t at : {size_t{0}, size_t{9}, size_t{19}, size_t{200}, saved.size() - 1}) {
    std::vector<uint8_t> damaged = saved;
    damaged[at] ^= 0x80;
    CAPTURE(at);
    CHECK(!other.generator.restore(damaged.data(), damaged.size()).ok());
  }
  CHECK(other.generator.summary().cached == 24);  // as it was
  uint64_t bytes = 0;
  std::vector<uint8_t> room(saved.size());
  CHECK(ingot_generator_save(other.generator.get(), room.data(), room.size() - 1, &bytes,
                             nullptr) == INGOT_INVALID_ARGUMENT);
}

TEST_CASE("generator: memory to the byte, the caller's or an allocator's, and nothing beside it") {
  FileBytes bytes(model_file());
  const Model model = open_bytes_or_fail(bytes);
  const Session session = chat_session(model);
  uint64_t text_bytes = 0, generator_bytes = 0;
  REQUIRE(ingot_text_requirements(model.get(), &text_bytes, nullptr) == INGOT_OK);
  REQUIRE(ingot_generator_requirements(session.get(), &generator_bytes, nullptr) == INGOT_OK);
  CHECK(text_bytes < 1024);  // the tables lie in the file
  alignas(64) static uint8_t memory[1 << 20];
  REQUIRE(generator_bytes + text_bytes + 64 < sizeof memory);
  ingot_block_options options = INGOT_INIT(ingot_block_options);
  ingot_text* text = nullptr;
  ingot_generator* generator = nullptr;
  ingot_error error;
  options.memory = memory, options.memory_bytes = text_bytes - 1;
  CHECK(ingot_text_open(model.get(), &options, &text, &error) == INGOT_ARENA_TOO_SMALL);
  CHECK(error.need == text_bytes);
  options.memory_bytes = text_bytes;
  REQUIRE(ingot_text_open(model.get(), &options, &text, &error) == INGOT_OK);
  uint8_t* const rest = memory + (text_bytes + 63) / 64 * 64;
  options.memory = rest, options.memory_bytes = generator_bytes - 1;
  CHECK(ingot_generator_create(session.get(), text, &options, &generator, &error) ==
        INGOT_ARENA_TOO_SMALL);
  options.memory = rest + 8, options.memory_bytes = generator_bytes;
  CHECK(ingot_generator_create(session.get(), text, &options, &generator, &error) ==
        INGOT_MISALIGNED);
  options.memory = rest;
  std::memset(rest + generator_bytes, 0x5A, 64);
  REQUIRE(ingot_generator_create(session.get(), text, &options, &generator, &error) == INGOT_OK);
  // The options that take the most.
  std::vector<ingot_logit_bias> biases(1024, {5, 0.5});
  const std::string long_text(128, 'q');
  const std::vector<const char*> stops(256, long_text.c_str());
  const ingot_setting settings[] = {
      {"temperature", 1}, {"repeat_penalty", 1.1}, {"dry_multiplier", 1}, {"typical", 0.9}};
  ingot_answer_options answer = most(20);
  answer.settings = settings, answer.setting_count = 4;
  answer.biases = biases.data(), answer.bias_count = biases.size();
  answer.stop_texts = stops.data(), answer.stop_text_count = stops.size();
  const int32_t ids[] = {5, 6, 7};
  REQUIRE(ingot_generator_begin(generator, ids, 3, &answer, nullptr, &error) == INGOT_OK);
  ingot_end end = INGOT_END_NONE;
  CHECK(ingot_generator_run(
            generator, 0, [](void*, const ingot_token*) { return 0; }, nullptr, &end, &error) ==
        INGOT_OK);
  CHECK(end == INGOT_END_LENGTH);
  for (int i = 0; i < 64; i++) CHECK(rest[generator_bytes + uint64_t(i)] == 0x5A);
  biases.push_back({5, 1});
  answer.biases = biases.data(), answer.bias_count = biases.size();
  CHECK(ingot_generator_begin(generator, ids, 3, &answer, nullptr, &error) == INGOT_LIMIT_EXCEEDED);
  ingot_generator_destroy(generator);
  ingot_text_close(text);
  CountingAllocator counter;
  options = INGOT_INIT(ingot_block_options);
  options.allocator = &counter.allocator;
  for (int fail_at : {1, 2, 0}) {
    counter.calls = 0, counter.fail_at = fail_at;
    const ingot_code opened = ingot_text_open(model.get(), &options, &text, &error);
    CHECK(opened == (fail_at == 1 ? INGOT_OUT_OF_MEMORY : INGOT_OK));
    const ingot_code made =
        ingot_generator_create(session.get(), text, &options, &generator, &error);
    CHECK(made == (fail_at == 2 ? INGOT_OUT_OF_MEMORY : INGOT_OK));
    ingot_generator_destroy(generator);
    ingot_text_close(text);
    CHECK(counter.alive.empty());
  }
}

TEST_CASE("generator: sessions of no language model, and one that cannot be rebound") {
  FileBytes chain(chain_network());
  const Model other = open_bytes_or_fail(chain);
  auto session = other.session();
  REQUIRE(session.ok());
  const auto refused = Generator::create(*session, nullptr);
  CHECK(refused.error().code == INGOT_NOT_FOUND);
  CHECK(refused.error().text() == "not found 'tokens': a language model has this port");
  CHECK(Text::open(other).error().code == INGOT_NOT_FOUND);
  Chat chat;
  CHECK(Generator::create(*session, &chat.text).error().code == INGOT_INVALID_ARGUMENT);
  const ingot_binding four = {"T", 4};
  ingot_session_options options = with_threads(1);
  options.bindings = &four, options.binding_count = 1;
  auto fixed = chat.model.session(options);
  REQUIRE(fixed.ok());
  CHECK(Generator::create(*fixed, &chat.text).error().code == INGOT_WRONG_STATE);
  const ingot_binding one = {"T", 1};
  options.bindings = &one;
  auto single = chat.model.session(options);
  REQUIRE(single.ok());
  auto slow = Generator::create(*single, nullptr);  // a token at a time, and ids alone
  REQUIRE(slow.ok());
  const Ids prompt = random_prompt(9, 11);
  Ids ids;
  REQUIRE(slow->begin(prompt, most(6)).ok());
  REQUIRE(slow->run([&](const ingot_token& t) { ids.push_back(t.id); }).ok());
  CHECK(ids == plain_answer(prompt, 6));
}

TEST_CASE("a constraint: greedy and drawn answers are of its grammar, and end with it") {
  Chat chat;
  Error error;
  uint64_t bytes = 0;
  REQUIRE(ingot_constraint_requirements(chat.text.get(), &bytes, &error) == INGOT_OK);
  std::vector<uint8_t> memory(size_t(bytes) + 15);
  ingot_block_options block = INGOT_INIT(ingot_block_options);
  block.memory = memory.data() + (16 - reinterpret_cast<uintptr_t>(memory.data()) % 16) % 16;
  block.memory_bytes = bytes - 1;
  ingot_constraint* constraint = nullptr;
  CHECK(ingot_constraint_create(chat.text.get(), &block, &constraint, &error) ==
        INGOT_ARENA_TOO_SMALL);
  block.memory_bytes = bytes;
  REQUIRE(ingot_constraint_create(chat.text.get(), &block, &constraint, &error) == INGOT_OK);
  const Constraint owner(constraint);
  ingot_answer_options options = answer_options();
  options.constraint = constraint;
  CHECK(chat.generator.begin({6, 7}, options).error().code == INGOT_WRONG_STATE);  // no grammar
  // x, then any number of y and z, then !: states 0 to 2 and their edges.
  const uint32_t words[] = {0x52474e49,
                            1,
                            3,
                            3,
                            0,
                            0,
                            0 | 1u << 30,
                            1 | 1u << 30,
                            3 | 1u << 28,
                            3,
                            'x' | 'x' << 8,
                            1,
                            '!' | '!' << 8,
                            2,
                            'y' | 'z' << 8,
                            1};
  std::vector<uint8_t> form;
  for (const uint32_t word : words)
    for (int i = 0; i < 4; i++) form.push_back(uint8_t(word >> (8 * i)));
  CHECK(ingot_constraint_set(constraint, form.data(), form.size() - 1, &error) == INGOT_TRUNCATED);
  REQUIRE(ingot_constraint_set(constraint, form.data(), form.size(), &error) == INGOT_OK);
  ingot_setting setting = {"temperature", 0};
  options.settings = &setting;
  options.setting_count = 1;
  for (const double temperature : {0., 1., 3.}) {
    setting.value = temperature;
    for (options.seed = 0; options.seed < 5; options.seed++) {
      std::string said;
      ingot_end end = INGOT_END_NONE;
      const Ids ids = chat.answer({6, 7}, options, &said, &end);
      CHECK(said[0] == 'x');
      CHECK(said.find_first_not_of("yz", 1) ==
            (end == INGOT_END_GRAMMAR ? said.size() - 1 : std::string::npos));
      CHECK((end == INGOT_END_GRAMMAR ? said.back() == '!' : end == INGOT_END_CONTEXT));
      CHECK(chat.answer({6, 7}, options) == ids);
    }
  }
  const ingot_logit_bias biases[] = {{6 + 23, -INFINITY},
                                     {int32_t(kChatFirstByte) + 'x', -INFINITY}};
  options.biases = biases;
  options.bias_count = 2;
  REQUIRE(chat.generator.begin({6, 7}, options).ok());
  CHECK(chat.generator.next().error().code == INGOT_NOT_FOUND);
  const Text other = *Text::open(chat.model);
  const auto foreign = Constraint::create(other);
  options = answer_options();
  options.constraint = foreign->get();
  CHECK(chat.generator.begin({6, 7}, options).error().code == INGOT_INVALID_ARGUMENT);
}
