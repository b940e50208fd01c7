// SPDX-License-Identifier: Apache-2.0
// Prompt look-up: whatever is proposed and accepted, an answer has the tokens, the ends and the
// logits of plain decoding, in fewer runs.
#include "runtime/generate/drafter.h"
#include "tests/generate/asked_answers.h"
#include "tests/support/onnx_writer.h"
#include "tools/text/grammar.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE("look-up: tokens, texts, ends and logits of plain decoding, in fewer runs") {
  AskedChat plain(0);
  std::vector<Found> expected;
  for (const Asked& asked : questions()) expected.push_back(answer(plain, asked, -1));
  for (const int threads : {1, 3}) {
    AskedChat chat(kChecked, threads);
    CHECK(chat.generator.summary().lookup == kChecked);
    uint64_t accepted = 0, of_draws = 0;
    for (const int32_t lookup : {0, 1, 3, -1}) {
      if (threads == 3 && lookup != -1) continue;
      size_t i = 0;
      for (const Asked& asked : questions()) {
        CAPTURE(lookup);
        CAPTURE(i);
        const Found& want = expected[i++];
        const Found found = answer(chat, asked, lookup);
        CHECK(found == want);
        CHECK(want.proposed == 0);
        // Each that was accepted saved a run. The first token's is the prompt's.
        CHECK(want.runs == int64_t(want.ids.size()) - 1);
        CHECK(found.runs == want.runs - int64_t(found.accepted));
        CHECK(found.accepted <= found.proposed);
        if (lookup == 0) CHECK(found.proposed == 0);
        accepted += found.accepted;
        if (asked.seed) of_draws += found.accepted;
      }
    }
    CHECK(accepted > 700);
    CHECK(of_draws > 300);
  }
}

TEST_CASE("look-up: a grammar and a stop text end an answer as they do without") {
  AskedChat chat;
  auto constraint = Constraint::create(chat.text);
  REQUIRE(constraint.ok());
  const std::vector<uint8_t> form =
      grammar::compile_gbnf("root ::= \"b\" (\"ac\" | \"c\")* \"d\"\n", "test");
  REQUIRE(constraint->set(form.data(), form.size()).ok());
  uint64_t accepted = 0;
  for (const double temperature : {0., 0.2, 1.}) {
    Asked asked{repeated(1, 6, 20), {{"temperature", temperature}}, 5};
    asked.constraint = constraint->get();
    for (const int32_t letters : {4, 3}) {  // without a "d" it has no end
      asked.biases = of_letters(letters);
      const Found of_grammar = answer(chat, asked, 0), found = answer(chat, asked, -1);
      CHECK(found == of_grammar);
      CHECK((found.end == INGOT_END_GRAMMAR) == (letters == 4));
      accepted += found.accepted;
    }
    asked.constraint = nullptr;
    const Found whole = answer(chat, asked, 0);
    const std::string stop = whole.text.substr(whole.text.size() / 2, 3);
    asked.stops = {stop.c_str()};
    const Found stopped = answer(chat, asked, 0);
    CHECK(stopped.end == INGOT_END_STOP_TEXT);
    CHECK(answer(chat, asked, -1) == stopped);
    asked.stops = {};
    asked.flags = 0;
    CHECK(answer(chat, asked, -1) == answer(chat, asked, 0));
  }
  CHECK(accepted > 100);
}

TEST_CASE("look-up: an answer that is saved, cancelled or late goes on as without") {
  AskedChat chat, other;
  const Asked asked{repeated(2, 2, 30), {{"temperature", 0.15}}, 2};
  const Found expected = answer(chat, asked, 0);
  const Found whole = answer(chat, asked, -1);
  CHECK(whole.accepted > 30);
  for (size_t at = 1; at < 24; at++) {
    CAPTURE(at);
    Found found;
    REQUIRE(chat.generator.begin(asked.prompt, asked.options(-1)).ok());
    go_on(chat, &found, at);
    const std::vector<uint8_t> saved = *chat.generator.save();  // what was ahead is lost
    CHECK(chat.generator.summary().cached == asked.prompt.size() + at - 1);
    chat.generator.cancel();
    CHECK(chat.generator.next().error().code == INGOT_CANCELLED);
    // Another generator, from the tokens so far: the most probable ones, as of the plain answer.
    Asked rest{asked.prompt};
    rest.prompt.insert(rest.prompt.end(), found.ids.begin(), found.ids.end());
    REQUIRE(other.generator.restore(saved.data(), saved.size()).ok());
    CHECK(*other.generator.begin(rest.prompt, rest.options(-1)) == rest.prompt.size() - 1);
    Found later;
    go_on(other, &later);
    CHECK(later.ids == answer(chat, rest, 0).ids);
    // Saved and late in the middle, the answer is the same.
    found = {};
    REQUIRE(chat.generator.begin(asked.prompt, asked.options(-1)).ok());
    go_on(chat, &found, at);
    CHECK(chat.generator.save().ok());
    CHECK(chat.generator.prefill(1).error().code == INGOT_DEADLINE_EXCEEDED);
    go_on(chat, &found);
    CHECK(found == expected);
  }
}

TEST_CASE("look-up: one answer among slots proposes, several do not, and all are as alone") {
  AskedChat plain(0), chat(kChecked, 1, 3);
  const Asked asked[] = {{repeated(2, 2, 30), {}, 0, 60}, {repeated(5, 5, 21), {}, 0, 25}};
  const Found expected[] = {answer(plain, asked[0], 0), answer(plain, asked[1], 0)};
  Found found[2];
  SlotGenerator slots[] = {chat.generator.slot(1), chat.generator.slot(2)};
  REQUIRE(slots[0].begin(asked[0].prompt, asked[0].options(-1)).ok());
  const auto step = [&] {
    REQUIRE(chat.generator.step().ok());
    for (int i = 0; i < 2; i++) {
      const ingot_generator_summary now = slots[i].summary();
      if (now.token_count && found[i].end == INGOT_END_NONE && now.cached == now.token_count)
        take(slots[i], &found[i]);
    }
  };
  while (found[0].ids.size() < 15) step();
  const uint64_t alone = slots[0].summary().accepted, proposed = slots[0].summary().proposed;
  CHECK(alone > 5);
  REQUIRE(slots[1].begin(asked[1].prompt, asked[1].options(-1)).ok());
  while (found[1].end == INGOT_END_NONE) {
    step();
    CHECK(slots[0].summary().proposed == proposed);
  }
  CHECK(slots[1].summary().proposed == 0);
  while (found[0].end == INGOT_END_NONE) step();
  CHECK(slots[0].summary().accepted > alone);
  for (int i = 0; i < 2; i++) CHECK(found[i] == expected[i]);
}

TEST_CASE("look-up: more than the file checks is refused, and changes nothing") {
  AskedChat chat, plain(0);
  const Ids prompt = repeated(1, 3, 12);
  Asked asked{prompt, {}, 0, 5};
  (void)answer(chat, asked, -1);
  const uint64_t cached = chat.generator.summary().cached;
  for (const int32_t bad : {kChecked + 1, -2, INT32_MAX, INT32_MIN}) {
    const auto refused = chat.generator.begin(prompt, asked.options(bad));
    CHECK(refused.error().code == INGOT_INVALID_ARGUMENT);
    CHECK(refused.error().need == kChecked);
    CHECK(chat.generator.summary().cached == cached);
  }
  CHECK(plain.generator.summary().lookup == 0);
  CHECK(plain.generator.begin(prompt, asked.options(1)).error().code == INGOT_INVALID_ARGUMENT);
  CHECK(plain.generator.begin(prompt, asked.options(-1)).ok());
  // Slots have rows to ask for already.
  CHECK(AskedChat(0, 1, 3).generator.summary().lookup == 2);
}

TEST_CASE("look-up: a file with fewer rows than a run has tokens is refused each time") {
  OnnxGraph g;
  const char* const kFloat[] = {"tokens", "position", "rows"};
  g.input("tokens", {1, "T"}, 6).input("position", {1}, 7).input("rows", {1}, 7);
  g.input("cache", {64, 1}).output("logits").output("cache_out");
  for (const std::string name : kFloat)
    g.node("Cast", {name}, {name + "_f"}, {attribute("to", int64_t(1))});
  g.initializer("w", {1, 8}, std::vector<float>(8, 0.5f));
  g.node("ReduceMax", {"tokens_f"}, {"most"}, {attribute("axes", std::vector<int64_t>{1})});
  g.node("Add", {"position_f", "rows_f"}, {"sum"}).node("Mul", {"most", "w"}, {"scores"});
  g.node("Add", {"scores", "sum"}, {"logits"}).node("Add", {"cache", "position_f"}, {"cache_out"});
  const Scratch scratch;
  convert::ConvertOptions options;
  options.dims = {"T=1..64"}, options.states = {{"cache", "cache_out"}};
  FileBytes bytes(convert::convert_source(scratch.write("rows.onnx", g.bytes(13)), options).file);
  const Model model = open_bytes_or_fail(bytes);
  const Session session = chat_session(model, 1);
  auto generator = Generator::create(session, nullptr);
  REQUIRE(generator.ok());
  REQUIRE(generator->begin(Ids(40, 1)).ok());
  for (int i = 0; i < 3; i++) CHECK(generator->prefill().error().code == INGOT_SHAPE_MISMATCH);
}

TEST_CASE("look-up: the longest match that is last, and less where nothing is accepted") {
  const auto proposed = [](Ids ids, int64_t room) {
    Drafter drafter;
    drafter.begin(kChecked);
    const size_t count = ids.size();
    ids.resize(count + size_t(kChecked));
    const int64_t n = drafter.look_up(ids.data(), int64_t(count), drafter.ask(room));
    return Ids(ids.begin() + ptrdiff_t(count), ids.begin() + ptrdiff_t(count) + n);
  };
  CHECK(proposed({1, 2, 3, 9, 2, 3, 8, 1, 2, 3}, 9) == Ids{9, 2, 3});
  CHECK(proposed({2, 3, 9, 7, 2, 3, 8, 5, 2, 3}, 9) == Ids{8, 5, 2});
  CHECK(proposed({4, 4, 4}, 2) == Ids{4, 4});  // it goes on into what it says
  CHECK(proposed({1, 2, 1, 2}, 3) == Ids{1, 2, 1});
  CHECK(proposed({1, 2, 3}, 9).empty());
  CHECK(proposed({1}, 9).empty());
  CHECK(proposed({4, 4, 4}, 0).empty());
  // All accepted: three, and then as many as a run checks. None: fewer runs have any.
  Ids ids(100000, 4);
  Drafter lookup;
  lookup.begin(kChecked);
  const auto propose = [&] {
    const int64_t n = lookup.look_up(ids.data(), 10, lookup.ask(9));
    lookup.propose(n);
    return n;
  };
  for (const int64_t expected : {3, 7, 7}) {
    CHECK(propose() == expected);
    for (int64_t i = 0; i < expected; i++) lookup.accept();
  }
  CHECK(propose() == 7);
  lookup.accept();
  CHECK(propose() == 2);
  int64_t tokens = 0;
  for (int i = 0; i < 1000; i++) tokens += propose();
  CHECK(tokens < 30);
  CHECK(tokens > 15);  // it goes on trying
  CHECK(lookup.accepted() == 18);
  lookup.begin(0);
  CHECK(propose() == 0);
}
