// SPDX-License-Identifier: Apache-2.0
// The tokenizer and the chat template of a file through text.h, and callers who are wrong.
#include "ingot/text.hpp"

#include <doctest/doctest.h>

#include "tests/generate/small_chat_model.h"
#include "tests/session/counting_allocator.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct OpenText {
  FileBytes bytes{chat_model()};
  Model model = open_bytes_or_fail(bytes);
  Text text = *Text::open(model);
};

ingot_value text_value(const char* text) {
  ingot_value v = {};
  v.kind = INGOT_VALUE_TEXT, v.count = uint32_t(std::strlen(text)), v.as.text = text;
  return v;
}
ingot_value many(ingot_value_kind kind, const std::vector<ingot_value>& items) {
  ingot_value v = {};
  v.kind = kind, v.as.items = items.data();
  v.count = uint32_t(kind == INGOT_VALUE_DICT ? items.size() / 2 : items.size());
  return v;
}

}  // namespace

TEST_CASE("text: tokens and back, wherever the file lies") {
  OpenText opened;
  const Scratch scratch;
  const std::string path = scratch / "chat.ingot";
  convert::write_file(chat_model(), path);
  auto from_path = Model::open(path.c_str(), open_options(oracle_table()));
  REQUIRE(from_path.ok());
  auto copied = Text::open(*from_path);
  REQUIRE(copied.ok());
  for (const Text* text : {&opened.text, &*copied}) {
    CHECK(text->summary().token_count == 289);
    CHECK(text->summary().has_chat_template == 1);
    const auto ids = text->encode("ab c<|bot|>");
    REQUIRE(ids.ok());
    CHECK(ids->front() == 1);  // <s>
    CHECK(*text->decode(*ids) == "ab c<|bot|>");
    const auto chat = text->encode("ab<|bot|>", INGOT_ENCODE_BARE | INGOT_ENCODE_CONTROL);
    CHECK(*chat == std::vector<int32_t>{6, 7, 5});
    CHECK(*text->decode(*chat) == "ab");
    CHECK(*text->decode(*chat, true) == "ab<|bot|>");
    CHECK(text->decode({289}).error().code == INGOT_INVALID_ARGUMENT);
    CHECK(*text->encode("") == std::vector<int32_t>{1});
  }
  const char* piece = nullptr;
  size_t count = 0;
  int32_t is_control = 0;
  REQUIRE(ingot_text_token(opened.text.get(), 5, &piece, &count, &is_control) == INGOT_OK);
  CHECK(std::string(piece, count) == "<|bot|>");
  CHECK(is_control == 1);
  REQUIRE(ingot_text_token(opened.text.get(), 6, &piece, &count, &is_control) == INGOT_OK);
  CHECK(std::string(piece, count) == "a");
  CHECK(is_control == 0);
  CHECK(ingot_text_token(opened.text.get(), 289, &piece, &count, nullptr) == INGOT_NOT_FOUND);
  // Its bytes are compared with their hash.
  const uint64_t at = opened.bytes.size() / 2;
  bool is_refused = false;
  for (uint64_t i = 0; i < opened.bytes.size() && !is_refused; i += 64) {
    opened.bytes.data()[(at + i) % opened.bytes.size()] ^= 1;
    is_refused = Text::open(opened.model).error().code == INGOT_HASH_MISMATCH;
    opened.bytes.data()[(at + i) % opened.bytes.size()] ^= 1;
  }
  CHECK(is_refused);
}

TEST_CASE("text: a chat by messages or by values, with an allocator or without") {
  OpenText opened;
  const std::string expected = "<|system|>be<|user|>hi<|bot|>";
  const ingot_message messages[] = {{"system", "be"}, {"user", "hi"}};
  CHECK(*opened.text.chat({messages[0], messages[1]}) == expected);
  const std::vector<ingot_value> first = {text_value("role"), text_value("system"),
                                          text_value("content"), text_value("be")};
  const std::vector<ingot_value> second = {text_value("role"), text_value("user"),
                                           text_value("content"), text_value("hi")};
  const std::vector<ingot_value> both = {many(INGOT_VALUE_DICT, first),
                                         many(INGOT_VALUE_DICT, second)};
  std::vector<ingot_value> variables = {text_value("messages"), many(INGOT_VALUE_LIST, both),
                                        text_value("mood"), text_value("!")};
  ingot_chat_options options = chat_options();
  options.variables = many(INGOT_VALUE_DICT, variables);
  CHECK(*opened.text.chat(options) == "<|system|>be<|user|>hi!<|bot|>");
  ingot_value no = {};
  no.kind = INGOT_VALUE_BOOLEAN;
  variables = {text_value("add_generation_prompt"), no};
  options = chat_options();
  options.messages = messages, options.message_count = 2;
  options.variables = many(INGOT_VALUE_DICT, variables);
  CHECK(*opened.text.chat(options) == "<|system|>be<|user|>hi");
  // In the caller's memory.
  alignas(16) static uint8_t memory[1 << 16];
  char out[256];
  uint64_t bytes = 0;
  ingot_error error;
  options = chat_options();
  options.messages = messages, options.message_count = 2;
  options.memory = memory, options.memory_bytes = sizeof memory;
  REQUIRE(ingot_text_chat(opened.text.get(), &options, out, sizeof out, &bytes, &error) ==
          INGOT_OK);
  CHECK(std::string(out, bytes) == expected);
  CHECK(ingot_text_chat(opened.text.get(), &options, out, 4, &bytes, &error) ==
        INGOT_ARENA_TOO_SMALL);
  CHECK(std::string(error.field) == "output");
  for (const uint64_t few : {uint64_t{1}, uint64_t{200}, uint64_t{300}}) {
    options.memory_bytes = few;
    CHECK(ingot_text_chat(opened.text.get(), &options, out, sizeof out, &bytes, &error) ==
          INGOT_ARENA_TOO_SMALL);
    CHECK(std::string(error.field) == "memory");
  }
  // What an allocator gave is released, also when the template refuses.
  CountingAllocator counter;
  ingot_block_options block = INGOT_INIT(ingot_block_options);
  block.allocator = &counter.allocator;
  ingot_text* text = nullptr;
  REQUIRE(ingot_text_open(opened.model.get(), &block, &text, &error) == INGOT_OK);
  const size_t own = counter.alive.size();
  options = chat_options();
  const std::string long_text(40000, 'x');
  const ingot_message large[] = {{"user", long_text.c_str()}};
  options.messages = large, options.message_count = 1;
  REQUIRE(ingot_text_chat(text, &options, nullptr, 0, &bytes, &error) == INGOT_OK);
  CHECK(bytes == 40000 + 8 + 7);
  CHECK(counter.alive.size() == own);
  CHECK(ingot_text_chat(text, &options, out, sizeof out, &bytes, &error) == INGOT_ARENA_TOO_SMALL);
  CHECK(error.need == 40015);
  const ingot_message fool[] = {{"fool", "x"}};
  options.messages = fool;
  CHECK(ingot_text_chat(text, &options, out, sizeof out, &bytes, &error) == INGOT_INVALID_ARGUMENT);
  CHECK(std::string(out, bytes) == "no fools");
  CHECK(std::string(error.name) == "no fools");
  CHECK(counter.alive.size() == own);
  ingot_text_close(text);
  CHECK(counter.alive.empty());
}

TEST_CASE("text: values that are none, and templates that the file does not have") {
  OpenText opened;
  uint64_t bytes = 0;
  ingot_error error;
  const auto refused = [&](const ingot_value& variables) {
    ingot_chat_options options = chat_options();
    const ingot_message hi[] = {{"user", "hi"}};
    options.messages = hi, options.message_count = 1;
    options.variables = variables;
    return ingot_text_chat(opened.text.get(), &options, nullptr, 0, &bytes, &error);
  };
  CHECK(refused(text_value("a")) == INGOT_INVALID_ARGUMENT);
  ingot_value bad = {};
  bad.kind = 9;
  const std::vector<ingot_value> kind = {text_value("a"), bad};
  CHECK(refused(many(INGOT_VALUE_DICT, kind)) == INGOT_INVALID_ARGUMENT);
  bad.kind = INGOT_VALUE_TEXT, bad.count = 3;
  const std::vector<ingot_value> null_text = {text_value("a"), bad};
  CHECK(refused(many(INGOT_VALUE_DICT, null_text)) == INGOT_INVALID_ARGUMENT);
  bad.kind = INGOT_VALUE_LIST;
  const std::vector<ingot_value> null_items = {text_value("a"), bad};
  CHECK(refused(many(INGOT_VALUE_DICT, null_items)) == INGOT_INVALID_ARGUMENT);
  ingot_value whole = {};
  whole.kind = INGOT_VALUE_INTEGER;
  const std::vector<ingot_value> key = {whole, whole};
  CHECK(refused(many(INGOT_VALUE_DICT, key)) == INGOT_INVALID_ARGUMENT);
  std::vector<std::vector<ingot_value>> deep(70);  // each in the one before
  for (size_t i = deep.size(); i-- > 0;)
    deep[i] = {i + 1 < deep.size() ? many(INGOT_VALUE_LIST, deep[i + 1]) : whole};
  const std::vector<ingot_value> top = {text_value("a"), many(INGOT_VALUE_LIST, deep[0])};
  CHECK(refused(many(INGOT_VALUE_DICT, top)) == INGOT_LIMIT_EXCEEDED);
  gguf::Source source = chat_source();
  source.metadata.erase("tokenizer.chat_template");
  FileBytes without(chat_model(source));
  const Model model = open_bytes_or_fail(without);
  auto text = Text::open(model);
  REQUIRE(text.ok());
  CHECK(text->chat({{"user", "hi"}}).error().code == INGOT_NOT_FOUND);
  source.metadata["tokenizer.chat_template"] = gguf::word("{{ messages | frob }}");
  FileBytes unknown(chat_model(source));
  const Model other = open_bytes_or_fail(unknown);
  auto of_other = Text::open(other);
  REQUIRE(of_other.ok());
  const auto why = of_other->chat({{"user", "hi"}});
  CHECK(why.error().code == INGOT_UNSUPPORTED_FEATURE);
  CHECK(why.error().text().find("chat template") != std::string::npos);
  const ingot_text_summary summary = of_other->summary();
  CHECK(std::string(summary.chat_refused, summary.chat_refused_bytes).find("frob") !=
        std::string::npos);
}

TEST_CASE("text: a null anywhere is refused and never followed") {
  OpenText opened;
  const ingot_binding one = {"T", 1};
  ingot_session_options session_options = with_threads(1, INGOT_REBINDABLE);
  session_options.bindings = &one, session_options.binding_count = 1;
  auto session = opened.model.session(session_options);
  REQUIRE(session.ok());
  auto generator = Generator::create(*session, &opened.text);
  REQUIRE(generator.ok());
  ingot_text* const t = opened.text.get();
  ingot_generator* const g = generator->get();
  ingot_text* text = nullptr;
  ingot_generator* made = nullptr;
  ingot_error error;
  uint64_t n = 0;
  int32_t id = 0;
  const char* piece = nullptr;
  size_t size = 0;
  ingot_chat_options chat = chat_options(), chat_without_size = {};
  ingot_answer_options answer_without_size = {}, nulls = answer_options();
  nulls.setting_count = 1;
  ingot_encode_options unknown_flag = INGOT_INIT(ingot_encode_options);
  unknown_flag.flags = 4;
  ingot_token token_without_size = {};
  const auto take = [](void*, const ingot_token*) -> int32_t { return 0; };
  const ingot_code refused[] = {
      ingot_text_requirements(nullptr, &n, &error),
      ingot_text_requirements(opened.model.get(), nullptr, &error),
      ingot_text_open(nullptr, nullptr, &text, &error),
      ingot_text_open(opened.model.get(), nullptr, nullptr, &error),
      ingot_text_summarize(nullptr, nullptr),
      ingot_text_encode_requirements(t, 1, nullptr, &n, &error),
      ingot_text_encode(nullptr, "a", 1, nullptr, &id, 1, &n, &error),
      ingot_text_encode(t, nullptr, 1, nullptr, &id, 1, &n, &error),
      ingot_text_encode(t, "a", 1, nullptr, nullptr, 1, &n, &error),
      ingot_text_encode(t, "a", 1, nullptr, &id, 1, nullptr, &error),
      ingot_text_encode(t, "a", 1, &unknown_flag, &id, 1, &n, &error),
      ingot_text_decode(t, nullptr, 1, 0, nullptr, 0, &n, &error),
      ingot_text_decode(t, &id, 1, 0, nullptr, 1, &n, &error),
      ingot_text_token(t, 0, nullptr, &size, nullptr),
      ingot_text_token(nullptr, 0, &piece, &size, nullptr),
      ingot_text_chat(t, nullptr, nullptr, 0, &n, &error),
      ingot_text_chat(t, &chat, nullptr, 1, &n, &error),
      ingot_text_chat(t, &chat_without_size, nullptr, 0, &n, &error),
      ingot_generator_requirements(nullptr, &n, &error),
      ingot_generator_create(nullptr, t, nullptr, &made, &error),
      ingot_generator_create(session->get(), t, nullptr, nullptr, &error),
      ingot_generator_summarize(g, nullptr),
      ingot_setting_at(0, nullptr),
      ingot_generator_begin(nullptr, &id, 1, nullptr, &n, &error),
      ingot_generator_begin(g, nullptr, 1, nullptr, &n, &error),
      ingot_generator_begin(g, &id, 1, &answer_without_size, &n, &error),
      ingot_generator_begin(g, &id, 1, &nulls, &n, &error),
      ingot_generator_prefill(nullptr, 0, &n, &error),
      ingot_generator_next(g, 0, nullptr, &error),
      ingot_generator_next(g, 0, &token_without_size, &error),
      ingot_generator_run(g, 0, nullptr, nullptr, nullptr, &error),
      ingot_generator_run(nullptr, 0, take, nullptr, nullptr, &error),
      ingot_generator_logits(g, nullptr, &error),
      ingot_generator_logprobs(g, -1, nullptr, 1, &error),
      ingot_generator_save(g, nullptr, 1, &n, &error),
      ingot_generator_save(g, nullptr, 0, nullptr, &error),
      ingot_generator_restore(g, nullptr, 1, &error),
  };
  for (const ingot_code code : refused) CHECK(code == INGOT_INVALID_ARGUMENT);
  ingot_text_close(nullptr);
  ingot_generator_destroy(nullptr);
  ingot_generator_cancel(nullptr);
}
