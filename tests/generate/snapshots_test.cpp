// SPDX-License-Identifier: Apache-2.0
// Models that keep snapshots of their last positions (convolutions or recurrences in place of
// attention) or the newest tokens alone (sliding windows): however a conversation goes on, back or
// in another slot, answers are those of one that began anew.
#include "tests/generate/asked_answers.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// A small model, how many snapshots it keeps without look-up, and its context.
struct Kept {
  gguf::Source (*source)();
  size_t snapshots;
  int64_t context = kAskedContext;
};
/// Phi-3, all of whose layers see 20 tokens.
gguf::Source windowed() {
  gguf::Source s = gguf::llama();
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : s.metadata)
    metadata[key.rfind("llama.", 0) == 0 ? "phi3." + key.substr(6) : key] = value;
  s.metadata = metadata;
  s.metadata["general.architecture"] = gguf::word("phi3");
  s.metadata["phi3.attention.sliding_window"] = gguf::whole(20);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    for (const char* const part : {"attn_q", "attn_k", "attn_v", "ffn_gate"})
      s.tensors.erase(layer + part + ".weight");
    s.tensors[layer + "attn_qkv.weight"] = {16, 8};
    s.tensors[layer + "ffn_up.weight"] = {24, 8};
  }
  return s;
}
constexpr Kept kConvolutions = {gguf::lfm2, 16}, kMamba = {gguf::granite, 2},
               kDeltaNets = {gguf::qwen35, 2}, kRings = {windowed, 256 - 20 + 2, 600};
constexpr Kept kAllKept[] = {kConvolutions, kMamba, kDeltaNets};

gguf::Source source_of(const Kept& kept, uint32_t seed) {
  gguf::Source source = chat_source(0, kept.source());
  source.seed = seed;
  return source;
}
/// A session of such a model.
struct SnapshotChat : AskedChat {
  explicit SnapshotChat(int32_t lookup = 0, int threads = 1, int32_t slots = 0, uint32_t seed = 1,
                        int64_t most = kChatRun, const Kept& kept = kConvolutions)
      : AskedChat(lookup, threads, slots, source_of(kept, seed), kept.context, most) {}
  explicit SnapshotChat(const Kept& kept, int32_t lookup = 0, int threads = 1, int32_t slots = 0,
                        uint32_t seed = 1)
      : SnapshotChat(lookup, threads, slots, seed, kChatRun, kept) {}
};

Ids first_of(const Ids& ids, size_t count, const Ids& more = {}) {
  Ids all(ids.begin(), ids.begin() + ptrdiff_t(count));
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
Found anew(const Asked& asked, const Kept& kept = kConvolutions) {
  SnapshotChat chat(kept);
  return answer(chat, asked, 0);
}
Found goes_on(SlotGenerator slot, const Asked& asked, uint64_t* reused, int32_t lookup = 0) {
  Found found;
  const auto begun = slot.begin(asked.prompt, asked.options(lookup));
  REQUIRE(begun.ok());
  *reused = *begun;
  while (found.end == INGOT_END_NONE) {
    while (*slot.prefill() > 0) continue;
    take(slot, &found);
  }
  return found;
}

}  // namespace

TEST_CASE("snapshots: a prompt goes back by the last positions, else to the beginning") {
  for (const Kept& kept : kAllKept) {
    SnapshotChat chat(kept);
    const Ids prompt = repeated(1, 100, 60), tail = repeated(2, 100, 9);
    for (const size_t back : {0, 1, 2, 14, 15, 16, 17, 40}) {
      CAPTURE(kept.snapshots);
      CAPTURE(back);
      REQUIRE(chat.generator.begin(first_of(prompt, 1)).ok());
      while (*chat.generator.prefill() > 0) continue;
      const Asked whole{prompt, {}, 0, 1}, other{first_of(prompt, 60 - back, tail), {}, 0, 12};
      (void)answer(chat, whole, 0);
      REQUIRE(chat.generator.summary().cached == 60);
      uint64_t reused = 0;
      const Found found = goes_on(chat.generator.slot(0), other, &reused);
      CHECK(reused == (back < kept.snapshots ? 60 - back : 0));
      CHECK(found == anew(other, kept));
    }
  }
}

TEST_CASE("snapshots: a conversation that only goes on computes what is new, with two rows too") {
  for (const Kept& kept : {kMamba, kDeltaNets}) {
    SnapshotChat chat(kept);
    Ids said = repeated(1, 100, 20);
    for (int turn = 0; turn < 4; turn++) {
      CAPTURE(turn);
      uint64_t reused = 0;
      const Asked asked{said, {}, 0, 9};
      const Found found = goes_on(chat.generator.slot(0), asked, &reused);
      CHECK(found == anew(asked, kept));
      // of the last answer but its last token, which was not computed
      CHECK(reused == (turn ? said.size() - 6 : 0));
      said = first_of(said, said.size(), found.ids);
      const Ids more = repeated(uint32_t(turn), 100, 5);
      said.insert(said.end(), more.begin(), more.end());
    }
  }
}

TEST_CASE("snapshots: once back, none of what was further is left to go back to") {
  SnapshotChat chat;
  const Ids prompt = repeated(1, 100, 40);
  uint64_t reused = 0;
  (void)answer(chat, {prompt, {}, 0, 1}, 0);
  const Asked near{first_of(prompt, 27, {9}), {}, 0, 1}, far{first_of(prompt, 20, {8}), {}, 0, 5};
  CHECK(goes_on(chat.generator.slot(0), near, &reused) == anew(near));
  CHECK(reused == 27);
  CHECK(goes_on(chat.generator.slot(0), far, &reused) == anew(far));
  CHECK(reused == 0);  // 25 is the oldest
  CHECK(goes_on(chat.generator.slot(0), near, &reused) == anew(near));
  CHECK(reused == 20);
}

TEST_CASE("snapshots: look-up and drafts give the answers of plain decoding") {
  for (const Kept& kept : kAllKept) {
    SnapshotChat plain(kept);
    std::vector<Asked> asked;
    std::vector<Found> expected;
    const std::vector<Asked> all = questions();
    for (size_t i = 0; i<all.size(); i += kept.snapshots> 2 ? 1 : 3)
      asked.push_back(all[i]), expected.push_back(answer(plain, all[i], -1));
    const int threads = kept.snapshots > 2 ? 1 : 3;
    SnapshotChat chat(kept, kChecked, threads), drafted(kept, kChecked, threads),
        draft(kept, 0, threads, 0, 2);
    REQUIRE(drafted.generator.set_draft(&draft.generator).ok());
    uint64_t accepted = 0, proposed = 0;
    for (size_t i = 0; i < expected.size(); i++) {
      CAPTURE(i);
      const Found of_lookup = answer(chat, asked[i], -1);
      CHECK(of_lookup == expected[i]);
      CHECK(answer(drafted, asked[i], -1) == expected[i]);
      accepted += of_lookup.accepted, proposed += of_lookup.proposed;
    }
    CHECK(accepted > 2 * asked.size());
    CHECK(proposed > accepted);
  }
}

TEST_CASE("snapshots: slots in turns have the bits of lone runs") {
  constexpr uint32_t kSlots = 3;
  for (const Kept& kept : kAllKept) {
    SnapshotChat chat(kept, 0, kept.snapshots > 2 ? 1 : 3, kSlots);
    std::vector<Asked> asked;
    for (size_t i = 0; i < 9; i++)
      asked.push_back(
          {repeated(uint32_t(i), 100, 1 + i * 13 % 37), {}, 0, uint32_t(4 + i * 5 % 30)});
    std::vector<Found> found(asked.size());
    size_t in_slot[kSlots], begun = 0, ended = 0;
    std::fill_n(in_slot, kSlots, asked.size());
    for (size_t step = 0; ended < asked.size(); step++) {
      for (uint32_t i = 0; i < kSlots; i++)
        if (in_slot[i] == asked.size() && begun < asked.size() && step >= 2 * begun) {
          SlotGenerator slot = chat.generator.slot(i);
          in_slot[i] = begun++;
          REQUIRE(slot.begin(asked[in_slot[i]].prompt, asked[in_slot[i]].options(0)).ok());
        }
      REQUIRE(chat.generator.step().ok());
      for (uint32_t i = 0; i < kSlots; i++) {
        const ingot_generator_summary now = chat.generator.slot(i).summary();
        if (in_slot[i] == asked.size() || now.cached != now.token_count) continue;
        SlotGenerator slot = chat.generator.slot(i);
        take(slot, &found[in_slot[i]]);
        if (found[in_slot[i]].end == INGOT_END_NONE) continue;
        in_slot[i] = asked.size(), ended++;
      }
    }
    for (size_t i = 0; i < asked.size(); i++) {
      CAPTURE(i);
      CHECK(found[i] == anew(asked[i], kept));
    }
  }
}

TEST_CASE("snapshots: a slot takes what another has, where that can still go on from it") {
  SnapshotChat chat(0, 1, 3);
  const Ids prompt = repeated(1, 100, 40), tail = repeated(3, 100, 6);
  uint64_t reused = 0;
  (void)goes_on(chat.generator.slot(2), {prompt, {}, 0, 1}, &reused);
  const Asked near{first_of(prompt, 30, tail), {}, 0, 7}, far{first_of(prompt, 20, tail), {}, 0, 7};
  CHECK(goes_on(chat.generator.slot(0), near, &reused) == anew(near));
  CHECK(reused == 30);
  CHECK(goes_on(chat.generator.slot(1), far, &reused) == anew(far));
  CHECK(reused == 0);
  // Of what was taken there is the newest snapshot, and those of what came since.
  const Asked less{first_of(prompt, 29, tail), {}, 0, 2};
  CHECK(goes_on(chat.generator.slot(0), less, &reused) == anew(less));
  CHECK(reused == 29);  // of slot 2, which has it still
  (void)goes_on(chat.generator.slot(2), {repeated(9, 100, 30), {}, 0, 1}, &reused);
  CHECK(goes_on(chat.generator.slot(0), {first_of(prompt, 28, tail), {}, 0, 2}, &reused) ==
        anew({first_of(prompt, 28, tail), {}, 0, 2}));
  CHECK(reused == 20);  // of slot 1
}

namespace {

void check_by_lot(const Kept& kept, int turns, uint64_t least_reused) {
  constexpr uint32_t kSlots = 3;
  uint32_t seed = 77;
  const auto drawn = [&](size_t below) {
    seed = seed * 1664525u + 1013904223u;
    return size_t(seed >> 8) % below;
  };
  const size_t scale = size_t(kept.context / kAskedContext);
  SnapshotChat chat(kept, kChecked, 1, kSlots);
  Ids held[kSlots];
  for (Ids& text : held) text = repeated(5, 100, 80 * (scale - 1));
  uint64_t all_reused = 0;
  for (int turn = 0; turn < turns; turn++) {
    CAPTURE(turn);
    SlotGenerator slot = chat.generator.slot(uint32_t(drawn(kSlots)));
    const Ids& of = held[drawn(kSlots)];
    const size_t back = drawn(3) ? drawn(20) : drawn(40 + 60 * scale);
    Ids prompt =
        first_of(of, of.size() > back ? of.size() - back : 0,
                 repeated(uint32_t(turn), 1 + drawn(9), 1 + drawn(drawn(4) ? 3 : 40 * scale)));
    if (prompt.size() > 100 * scale) prompt.resize(100 * scale);
    const Asked asked{prompt, {}, 0, uint32_t(1 + drawn(20))};
    if (drawn(4) == 0) {
      REQUIRE(slot.begin(prompt, asked.options(0)).ok());
      for (size_t i = drawn(4); i > 0; i--) (void)*slot.prefill();
      if (drawn(2)) (void)slot.prefill(1);  // late
    }
    if (drawn(6) == 0) {
      const std::vector<uint8_t> saved = *slot.save();
      REQUIRE(
          chat.generator.slot(uint32_t(drawn(kSlots))).restore(saved.data(), saved.size()).ok());
    }
    uint64_t reused = 0;
    const Found found = goes_on(slot, asked, &reused, drawn(2) ? -1 : 0);
    CHECK(found == anew(asked, kept));
    all_reused += reused;
    held[drawn(kSlots)] = first_of(prompt, prompt.size(), found.ids);
  }
  CHECK(all_reused > least_reused);
}

}  // namespace

TEST_CASE("snapshots: slots that go on, back and elsewhere, late runs and saved ones, by lot") {
#ifdef INGOT_SANITIZED  // a turn takes ten times as long
  constexpr int kPart = 4;
#else
  constexpr int kPart = 1;
#endif
  check_by_lot(kConvolutions, 120 / kPart, 500 / kPart / kPart);
  check_by_lot(kMamba, 24, 30);
  check_by_lot(kDeltaNets, 24, 30);
  check_by_lot(kRings, 40 / kPart, 2000 / kPart / kPart);
}

TEST_CASE("snapshots: a run that was late or cancelled leaves what goes on, or begins anew") {
  for (const int64_t most : {kChatRun, int64_t{40}}) {
    SnapshotChat chat(0, 1, 0, 1, most);
    const Ids prompt = repeated(1, 100, 90);
    const Asked asked{prompt, {}, 0, 6};
    REQUIRE(chat.generator.begin(prompt, asked.options(0)).ok());
    const uint64_t part = uint64_t(most);
    REQUIRE(chat.generator.prefill().ok());
    CHECK(chat.generator.summary().cached == part);
    CHECK(chat.generator.prefill(1).error().code == INGOT_DEADLINE_EXCEEDED);
    CHECK(chat.generator.summary().cached == (most < int64_t(kConvolutions.snapshots) ? part : 0));
    Found found;
    while (*chat.generator.prefill() > 0) continue;
    go_on(chat, &found);
    const Found expected = anew(asked);
    CHECK(found.ids == expected.ids);
    CHECK(found.logits == expected.logits);
  }
}

TEST_CASE("snapshots: a conversation that was saved goes on, and not back") {
  SnapshotChat chat, other;
  const Ids prompt = repeated(1, 100, 40);
  (void)answer(chat, {prompt, {}, 0, 1}, 0);
  const std::vector<uint8_t> saved = *chat.generator.save();
  const Asked more{first_of(prompt, 40, {7, 8}), {}, 0, 5}, less{first_of(prompt, 39), {}, 0, 5};
  for (const Asked& asked : {more, less}) {
    REQUIRE(other.generator.restore(saved.data(), saved.size()).ok());
    uint64_t reused = 0;
    CHECK(goes_on(other.generator.slot(0), asked, &reused) == anew(asked));
    CHECK(reused == (asked.prompt.size() > 40 ? 40 : 0));
  }
}

TEST_CASE("snapshots: rings turn, and a prompt goes back by what is in front of the window") {
  SnapshotChat chat(kRings, kChecked);
  const Ids prompt = repeated(1, 100, 550);
  for (const size_t back : {0, 1, 100, 236, 237, 238, 400}) {
    CAPTURE(back);
    (void)answer(chat, {repeated(9, 100, 3), {}, 0, 1}, 0);
    (void)answer(chat, {prompt, {}, 0, 1}, 0);
    const Asked asked{first_of(prompt, 550 - back, repeated(2, 100, 5)), {}, 0, 12};
    uint64_t reused = 0;
    CHECK(goes_on(chat.generator.slot(0), asked, &reused, -1) == anew(asked, kRings));
    CHECK(reused == (back < kRings.snapshots ? 550 - back : 0));
  }
}

TEST_CASE("snapshots: a run by hand goes on where it was, and nowhere else") {
  SnapshotChat chat(0, 1, 3);
  const auto run = [&](int64_t position, int64_t slot) {
    chat.session.input<int32_t>("tokens").value()[0] = 5;
    chat.session.input<int64_t>("position").value()[0] = position;
    chat.session.input<int64_t>("slot").value()[0] = slot;
    chat.session.input<int64_t>("rows").value()[0] = 0;
    return chat.session.run().error().code;
  };
  const auto state_of = [&] { return chat.session.save_state().value(); };
  for (int64_t at = 0; at < 3; at++) CHECK(run(at, 1) == INGOT_OK);
  const std::vector<uint8_t> before = state_of();
  for (const int64_t bad : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN})
    CHECK(run(0, bad) == INGOT_BAD_INDEX_VALUE);
  for (const int64_t bad :
       {int64_t{-1}, int64_t{4}, int64_t{19}, kAskedContext, INT64_MAX, INT64_MIN})
    CHECK(run(bad, 1) == INGOT_BAD_INDEX_VALUE);
  CHECK(run(3, 2) == INGOT_BAD_INDEX_VALUE);
  CHECK(state_of() == before);
  CHECK(run(3, 1) == INGOT_OK);
}
