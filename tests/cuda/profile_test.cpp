// SPDX-License-Identifier: Apache-2.0
// What a profile says of a GPU: the fake driver's clock is the number of kernels that have run, a
// millisecond each, so that what an instruction takes is known exactly.
#include <doctest/doctest.h>

#include "tests/cuda/chain_items.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct Watched {
  std::vector<ingot_profile_event> events;
  explicit Watched(Session& session) {
    ingot_session_set_profile(
        session.get(),
        [](void* user, const ingot_profile_event* event) {
          static_cast<Watched*>(user)->events.push_back(*event);
        },
        this);
  }
  Watched(const Watched&) = delete;
};

uint64_t kernels_in(const ingot_profile_event& event) {
  return (event.end_ns - event.begin_ns + 500'000) / 1'000'000;
}

}  // namespace

TEST_CASE(
    "cuda profile: every instruction of the graph has its own time; without a watcher nothing is "
    "recorded") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(64));
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    auto session = model.session(on("cuda"));
    REQUIRE(session.ok());
    write(session->input(0), ramp(512));
    REQUIRE(session->run().ok());
    const std::vector<float> answer = read<float>(session->output(0));
    FakeCuda before = fake;
    {
      Watched watched(*session);
      const uint64_t now = ingot_clock_ns();
      for (int run = 0; run < 2; run++) {
        watched.events.clear();
        REQUIRE(session->run().ok());
        REQUIRE(watched.events.size() == size_t(model.summary().instruction_count));
        for (size_t i = 0; i < watched.events.size(); i++) {
          CHECK(watched.events[i].instruction == i);
          CHECK(kernels_in(watched.events[i]) == 1);
          CHECK(watched.events[i].op[0] != 0);
          if (i) CHECK(watched.events[i].begin_ns == watched.events[i - 1].end_ns);
        }
        CHECK(watched.events.back().end_ns > now - 1'000'000'000);
        CHECK(watched.events.back().end_ns < ingot_clock_ns());
        CHECK(read<float>(session->output(0)) == answer);
        if (run == 0) {  // one graph more, made once
          CHECK(fake.execs == before.execs + 1);
          CHECK(fake.events == before.events + watched.events.size() + 2);
        }
        CHECK(fake.launches - before.launches == 1);
        CHECK(fake.waits - before.waits == 1);
        if (run == 0) before = fake;
      }
      CHECK(fake.execs == before.execs);
      ingot_session_set_profile(session->get(), nullptr, nullptr);
    }
    before = fake;
    REQUIRE(session->run().ok());
    CHECK(deeds(fake) - deeds(before) == 2);  // launch and wait, as ever
  }
  CHECK(alive() == "");
}

TEST_CASE(
    "cuda profile: every call of the driver fails in turn while a profile is taken: a named error, "
    "nothing leaked") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(8));
  for (const int code : {2, 1, 700}) {
    bool reached = true;
    int faults = 0;
    for (uint64_t n = 1; reached; n++, faults++) {
      CAPTURE(code);
      CAPTURE(n);
      {
        Model model = open_bytes_or_fail(bytes, scalar());
        auto session = model.session(on("cuda"));
        REQUIRE(session.ok());
        Watched watched(*session);
        fake.fail_code = code, fake.fail_at_call = n;
        const auto ran = session->run();
        reached = fake.fail_at_call == 0;
        // A context that was not pushed or popped may do no harm.
        if (!ran.ok()) {
          CHECK((ran.error().code == INGOT_DEVICE_LOST || ran.error().code == INGOT_OUT_OF_MEMORY));
          CHECK(std::string(ran.error().name) == "cuda:0");
          CHECK(ran.error().field[0] != 0);
        } else {
          CHECK(watched.events.size() == model.summary().instruction_count);
        }
      }
      heal();
      CHECK(alive() == "");
    }
    CHECK(faults > 20);
  }
}
