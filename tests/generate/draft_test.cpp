// SPDX-License-Identifier: Apache-2.0
// Drafts: whatever another model proposes, an answer has the tokens, the ends and the logits of
// plain decoding, in fewer runs. The same model as its own draft is right each time.
#include "tests/generate/asked_answers.h"
#include "tools/text/grammar.h"

using namespace ingot;
using namespace ingot::test;

namespace {

gguf::Source source_of_seed(uint32_t seed) {
  gguf::Source source = chat_source();
  source.seed = seed;
  return source;
}

/// A model and its draft.
struct DraftedChat : AskedChat {
  AskedChat draft;

  explicit DraftedChat(const gguf::Source& source = chat_source(), int64_t context = kAskedContext,
                       int threads = 1, int32_t slots = 0, int32_t draft_slots = 0)
      : AskedChat(kChecked, threads, slots), draft(0, threads, draft_slots, source, context) {
    REQUIRE(generator.set_draft(&draft.generator).ok());
  }
};

Error refusal_of(AskedChat& chat, AskedChat& draft) {
  const auto is_set = chat.generator.set_draft(&draft.generator);
  REQUIRE(!is_set.ok());
  CHECK(is_set.error().code == INGOT_INVALID_ARGUMENT);
  return is_set.error();
}

}  // namespace

TEST_CASE(
    "draft: tokens, texts, ends and logits of plain decoding; of the same model all are right") {
  AskedChat plain(0);
  std::vector<Asked> asked_all = questions();
  asked_all.erase(asked_all.begin() + 9, asked_all.begin() + 18);
  std::vector<Found> expected;
  for (const Asked& asked : asked_all) expected.push_back(answer(plain, asked, -1));
  for (const uint32_t seed : {1, 2}) {
    DraftedChat chat(source_of_seed(seed), kAskedContext, seed == 2 ? 3 : 1);
    uint64_t accepted = 0, proposed = 0;
    size_t i = 0;
    for (const Asked& asked : asked_all) {
      CAPTURE(seed);
      CAPTURE(i);
      const Found& want = expected[i++];
      const Found found = answer(chat, asked, i % 5 == 0 ? 2 : -1);
      CHECK(found == want);
      CHECK(found.runs == want.runs - int64_t(found.accepted));
      if (seed == 1) CHECK(found.accepted == found.proposed);
      if (seed == 1 && i % 5 != 0 && want.ids.size() > 80) CHECK(found.runs < 16);
      accepted += found.accepted, proposed += found.proposed;
    }
    CHECK(answer(chat, {repeated(1, 4, 9)}, 0).proposed == 0);
    CHECK(accepted > 50);
    if (seed != 1) CHECK(proposed > accepted);
  }
}

TEST_CASE("draft: beyond its context nothing is proposed, and look-up returns without it") {
  AskedChat plain(0);
  for (const int64_t context : {int64_t{31}, int64_t{48}, 2 * kAskedContext}) {
    DraftedChat chat(chat_source(), context);
    for (const size_t length : {5, 30, 31, 32, 100}) {
      const Asked asked{repeated(7, length, length)};
      const Found found = answer(chat, asked, -1);
      CHECK(found == answer(plain, asked, 0));
      CHECK(found.accepted == found.proposed);
      // The first token behind a full context is the last that is proposed.
      const int64_t room = context + 1 - int64_t(length);
      if (context < kAskedContext) CHECK(int64_t(found.proposed) <= (room > 0 ? room : 0));
      CHECK((found.proposed > 0) == (room > 0));
    }
  }
  DraftedChat chat(source_of_seed(2), 16);
  const Asked asked{repeated(2, 2, 30)};
  CHECK(answer(chat, asked, -1).proposed == 0);
  REQUIRE(chat.generator.set_draft(nullptr).ok());
  CHECK(answer(chat, asked, -1).accepted > 30);
}

TEST_CASE("draft: a grammar ends an answer as it does without") {
  for (const uint32_t seed : {1, 2}) {
    DraftedChat chat(source_of_seed(seed));
    auto constraint = Constraint::create(chat.text);
    REQUIRE(constraint.ok());
    const std::vector<uint8_t> form =
        grammar::compile_gbnf("root ::= \"b\" (\"ac\" | \"c\")* \"d\"\n", "test");
    REQUIRE(constraint->set(form.data(), form.size()).ok());
    for (const double temperature : {0., 1.}) {
      Asked asked{repeated(1, 6, 20), {{"temperature", temperature}}, 5};
      asked.constraint = constraint->get();
      const Found found = answer(chat, asked, -1);
      CHECK(found == answer(chat, asked, 0));
      CHECK(found.proposed > 0);
      CHECK(found.end == INGOT_END_GRAMMAR);
    }
  }
}

TEST_CASE("draft: it follows answers that are saved, restored, cancelled, late or begun anew") {
  AskedChat plain(0);
  const Asked asked{repeated(2, 2, 30), {{"temperature", 0.5}}, 2};
  const Found expected = answer(plain, asked, 0);
  for (const uint32_t seed : {1, 2}) {
    DraftedChat chat(source_of_seed(seed)), other(source_of_seed(seed));
    for (size_t at = 1; at < 24; at += 5) {
      CAPTURE(at);
      Found found;
      REQUIRE(chat.generator.begin(asked.prompt, asked.options(-1)).ok());
      go_on(chat, &found, at);
      const std::vector<uint8_t> saved = *chat.generator.save();
      Asked rest{asked.prompt};
      rest.prompt.insert(rest.prompt.end(), found.ids.begin(), found.ids.end());
      REQUIRE(other.generator.restore(saved.data(), saved.size()).ok());
      CHECK(*other.generator.begin(rest.prompt, rest.options(-1)) == rest.prompt.size() - 1);
      Found later;
      go_on(other, &later);
      CHECK(later.ids == answer(plain, rest, 0).ids);
      if (seed == 1) CHECK(later.accepted == later.proposed);
      // Late, by the draft where it is behind, the answer goes on.
      CHECK(chat.generator.prefill(1).error().code == INGOT_DEADLINE_EXCEEDED);
      go_on(chat, &found);
      CHECK(found == expected);
      if (seed == 1) CHECK(found.proposed - found.accepted <= kChecked);  // lost by save()
      REQUIRE(chat.generator.begin(asked.prompt, asked.options(-1)).ok());
      chat.generator.cancel();
      CHECK(chat.generator.next().error().code == INGOT_CANCELLED);
    }
  }
}

TEST_CASE("draft: a run of it that fails ends no answer, and says whose run it was") {
  DraftedChat chat;
  const Asked asked{repeated(4, 9, 5)};
  REQUIRE(chat.generator.begin(asked.prompt, asked.options(-1)).ok());
  const Error late = chat.generator.prefill(1).error();
  CHECK(late.code == INGOT_DEADLINE_EXCEEDED);
  CHECK(std::string(late.name) == "draft");
  CHECK(late.instruction == INGOT_NO_INSTRUCTION);
  Found found;
  go_on(chat, &found);
  CHECK(found.ids == answer(chat, asked, 0).ids);
}

TEST_CASE("draft: one answer among slots has a draft, of as many slots or of one") {
  AskedChat plain(0);
  const Asked asked[] = {{repeated(2, 2, 30), {}, 0, 60}, {repeated(5, 5, 21), {}, 0, 60}};
  const Found expected[] = {answer(plain, asked[0], 0), answer(plain, asked[1], 0)};
  for (const int32_t draft_slots : {0, 2, 3}) {
    DraftedChat chat(chat_source(), kAskedContext, 1, 3, draft_slots);
    Found found[2];
    SlotGenerator slots[] = {chat.generator.slot(1), chat.generator.slot(2)};
    const auto step_to = [&](int which, size_t count) {
      while (found[which].end == INGOT_END_NONE && found[which].ids.size() < count) {
        REQUIRE(chat.generator.step().ok());
        for (int i = 0; i < 2; i++) {
          const ingot_generator_summary now = slots[i].summary();
          if (now.token_count && found[i].end == INGOT_END_NONE && now.cached == now.token_count)
            take(slots[i], &found[i]);
        }
      }
    };
    REQUIRE(slots[0].begin(asked[0].prompt, asked[0].options(-1)).ok());
    step_to(0, 15);
    const uint64_t alone = slots[0].summary().proposed;
    CHECK(alone > 5);
    REQUIRE(slots[1].begin(asked[1].prompt, asked[1].options(-1)).ok());
    step_to(1, 10);
    CHECK(slots[0].summary().proposed + slots[1].summary().proposed == alone);
    // One alone by next(): a draft of one slot goes from one sequence to the other.
    for (int turn = 0; turn < 8; turn++)
      for (int i = 0; i < 2; i++) {
        while (*slots[i].prefill() > 0) continue;
        take(slots[i], &found[i]);
      }
    step_to(0, 99);
    const uint64_t before = slots[1].summary().accepted;
    step_to(1, 99);
    CHECK(slots[1].summary().accepted > before);
    for (int i = 0; i < 2; i++) CHECK(found[i] == expected[i]);
  }
}

TEST_CASE("draft: tokens that one vocabulary lacks are padding, and never proposed") {
  AskedChat plain(0);
  AskedChat padded(kChecked, 1, 0, chat_source(3)), short_draft(0);
  REQUIRE(padded.generator.set_draft(&short_draft.generator).ok());
  Asked asked{repeated(3, 3, 20)};
  asked.biases = {};
  CHECK(answer(padded, asked, -1).ids == answer(padded, asked, 0).ids);
  asked.biases = {{290, 0.5}};
  CHECK(answer(padded, asked, -1).ids == answer(padded, asked, 0).ids);
  asked.biases = {{290, 1e6}};  // the answer is padding, and the draft does not know it
  const Found found = answer(padded, asked, -1);
  CHECK(found.ids == Ids(found.ids.size(), 290));
  CHECK(found.accepted == 0);
  // A longer draft: what it proposes of its own ends the proposal.
  DraftedChat chat(chat_source(3));
  for (const Asked& q :
       {Asked{repeated(3, 3, 20)}, Asked{repeated(9, 9, 20), {{"temperature", 2}}, 6}})
    CHECK(answer(chat, q, -1) == answer(plain, q, 0));
}

TEST_CASE("draft: what cannot be one is refused, and changes nothing") {
  AskedChat chat, plain(0), draft(0), other(0, 1, 0, source_of_seed(2));
  gguf::Source changed = chat_source();
  std::string& tokens = changed.metadata["tokenizer.ggml.tokens"];
  tokens.replace(tokens.find("<|bot|>"), 7, "<|bat|>");
  AskedChat of_other_tokens(0, 1, 0, changed);
  CHECK(refusal_of(chat, of_other_tokens).operand == 5);
  // The embedding of another length, and one more piece that texts have.
  gguf::Source longer = chat_source();
  set_vocabulary(&longer, {"<|system|>", "<|user|>", "<|bot|>"}, {"a", "b"});
  AskedChat of_fewer(0, 1, 0, longer);
  CHECK(refusal_of(chat, of_fewer).operand == 8);
  // A file that checks no tokens, itself, and a chain.
  CHECK(std::string(refusal_of(plain, draft).field).find("--lookup") != std::string::npos);
  refusal_of(chat, chat);
  AskedChat middle;
  REQUIRE(middle.generator.set_draft(&draft.generator).ok());
  refusal_of(chat, middle);
  CHECK(ingot_generator_set_draft(nullptr, nullptr, nullptr) == INGOT_INVALID_ARGUMENT);
  const Asked asked{repeated(2, 2, 30)};
  CHECK(answer(chat, asked, -1).accepted > 30);  // by look-up, as before
  // Without texts the logits are compared.
  Generator bare = *Generator::create(of_fewer.session, nullptr);
  const auto is_set = chat.generator.set_draft(&bare);
  REQUIRE(!is_set.ok());
  CHECK(is_set.error().need == 289);
  CHECK(is_set.error().have == 6 + 2 + 256);
  Generator same = *Generator::create(other.session, nullptr);
  CHECK(chat.generator.set_draft(&same).ok());
  CHECK(answer(chat, asked, -1) == answer(plain, asked, 0));
}
