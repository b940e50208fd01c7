// SPDX-License-Identifier: Apache-2.0
// Sessions of several models that take turns in one arena of the caller's: as large as the largest
// of them, the state of each saved when its turn ends and restored when the next begins.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// A model, and its state between its turns.
struct Turns {
  FileBytes bytes;
  Model model;
  std::vector<uint8_t> saved;

  explicit Turns(const convert::FileSpec& spec) : bytes(spec), model(open_bytes_or_fail(bytes)) {}

  ingot_session_options options(void* arena, uint64_t arena_bytes) const {
    ingot_session_options o = session_options();
    o.threads = 1, o.arena_kind = INGOT_ARENA_CALLER, o.arena = arena, o.arena_bytes = arena_bytes;
    return o;
  }
  uint64_t arena_bytes() const { return model.requirements(options(nullptr, 0))->arena_bytes; }
  /// One run in a session that begins and ends here. What it left is overwritten behind it.
  std::vector<float> take_turn(AlignedBlock& arena, uint64_t arena_bytes, float x) {
    std::vector<float> y;
    {
      auto session = model.session(options(arena.data(), arena_bytes));
      REQUIRE_MESSAGE(session.ok(), session.error().text());
      if (!saved.empty()) REQUIRE(session->restore_state(saved.data(), saved.size()).ok());
      y = step(*session, x);
      if (model.summary().state_count) save(*session);
    }
    std::fill(arena.data(), arena.data() + arena_bytes, uint8_t{0xa5});
    return y;
  }
  static std::vector<float> step(Session& session, float x) {
    const size_t count = session.input(0)->bytes / 4;
    write(session.input(0), ramp(count, x));
    REQUIRE(session.run().ok());
    return read<float>(session.output(0));
  }

 private:
  void save(Session& session) {
    uint64_t need = 0;
    ingot_session_save_state(session.get(), nullptr, 0, &need, nullptr);
    saved.resize(need);
    REQUIRE(ingot_session_save_state(session.get(), saved.data(), need, &need, nullptr) ==
            INGOT_OK);
  }
};

/// Outputs of `steps` runs of one session that nobody interrupts.
std::vector<std::vector<float>> uninterrupted(const Turns& turns, int steps) {
  auto session = turns.model.session(session_options());
  REQUIRE(session.ok());
  std::vector<std::vector<float>> all;
  for (int i = 0; i < steps; i++) all.push_back(Turns::step(*session, float(i)));
  return all;
}

}  // namespace

TEST_CASE("turns: two models in one arena, one with state, give what each gives alone") {
  for (const bool with_init : {false, true}) {
    CAPTURE(with_init);
    Turns counting(counting_network(with_init)), chain(chain_network(37));
    const auto counted = uninterrupted(counting, 6), chained = uninterrupted(chain, 6);
    CHECK(counted[5] != counted[0]);
    const uint64_t largest = std::max(counting.arena_bytes(), chain.arena_bytes());
    CHECK(largest < counting.arena_bytes() + chain.arena_bytes());
    AlignedBlock arena(largest, 64);
    for (int i = 0; i < 6; i++) {
      CHECK(counting.take_turn(arena, largest, float(i)) == counted[size_t(i)]);
      CHECK(chain.take_turn(arena, largest, float(i)) == chained[size_t(i)]);
    }
  }
}

TEST_CASE("turns: state that is not restored begins anew, that of another model is refused") {
  Turns counting(counting_network(true)), other(counting_network(false));
  const uint64_t bytes = std::max(counting.arena_bytes(), other.arena_bytes());
  AlignedBlock arena(bytes, 64);
  const std::vector<float> first = counting.take_turn(arena, bytes, 2);
  CHECK(counting.take_turn(arena, bytes, 2) != first);
  const std::vector<uint8_t> saved = counting.saved;
  counting.saved.clear();
  CHECK(counting.take_turn(arena, bytes, 2) == first);
  auto session = other.model.session(other.options(arena.data(), bytes));
  REQUIRE(session.ok());
  const auto refused = session->restore_state(saved.data(), saved.size());
  CHECK(refused.error().code == INGOT_STATE_MISMATCH);
}

TEST_CASE("turns: an arena for the smaller model alone is refused with both numbers") {
  Turns counting(counting_network(true)), chain(chain_network(37));
  const uint64_t small = counting.arena_bytes();
  AlignedBlock arena(small, 64);
  const auto refused = chain.model.session(chain.options(arena.data(), small));
  CHECK(refused.error().code == INGOT_ARENA_TOO_SMALL);
  CHECK(refused.error().need == chain.arena_bytes());
  CHECK(refused.error().have == small);
}
