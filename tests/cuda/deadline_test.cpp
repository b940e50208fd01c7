// SPDX-License-Identifier: Apache-2.0
// pop with a deadline, of pipelines on a GPU: an item that is late is not lost.
#include <doctest/doctest.h>

#include "tests/cuda/chain_items.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE(
    "cuda pipeline: an item that is not there at the deadline is given later, with its own "
    "numbers") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(64));
  {
    const InOrder late(kLast);
    Model model = open_bytes_or_fail(bytes, scalar());
    const ingot_session_options session = on("cuda");
    auto pipeline = Pipeline::create(model, with(session, 2));
    REQUIRE(pipeline.ok());
    // nothing was pushed, and nobody else will
    CHECK(pipeline->pop_until(0).error().code == INGOT_WRONG_STATE);
    const uint64_t waits = fake.waits;
    for (uint64_t item = 0; item < 6; item++) {
      REQUIRE(pipeline->push([&](Pipeline& p) { fill(p, float(item)); }).ok());
      int asked = 0;
      for (;; asked++) {
        uint64_t failed = 0;
        const auto popped = pipeline->pop_until(0, &failed);
        if (popped.ok()) {
          CHECK(popped.value() == item);
          break;
        }
        REQUIRE(popped.error().code == INGOT_DEADLINE_EXCEEDED);
        CHECK(failed == UINT64_MAX);
        CHECK(pipeline->output(0).error().code == INGOT_WRONG_STATE);
        REQUIRE(asked < 100);
      }
      CHECK(asked >= 1);
      CHECK(is_chain_of(pipeline->output<float>(0).value(), float(item)));
      pipeline->release().value();
    }
    REQUIRE(pipeline->push([&](Pipeline& p) { fill(p, 7); }).ok());
    // asks until it is there
    REQUIRE(pipeline->pop_until(ingot_clock_ns() + 60'000'000'000u).ok());
    CHECK(is_chain_of(pipeline->output<float>(0).value(), 7));
    pipeline->release().value();
    CHECK(fake.waits == waits);  // never the wait that has no end
    REQUIRE(pipeline->push([&](Pipeline& p) { fill(p, 8); }).ok());
    CHECK(pipeline->pop_until(0).error().code == INGOT_DEADLINE_EXCEEDED);
    REQUIRE(pipeline->pop().ok());
    CHECK(is_chain_of(pipeline->output<float>(0).value(), 8));
    pipeline->release().value();
  }
  CHECK(alive() == "");
}

TEST_CASE("cuda pipeline: a device that is lost before the deadline is no late item") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(8));
  {
    const InOrder late(kLast);
    Model model = open_bytes_or_fail(bytes, scalar());
    const ingot_session_options session = on("cuda");
    auto pipeline = Pipeline::create(model, with(session, 2));
    REQUIRE(pipeline.ok());
    REQUIRE(pipeline->push([&](Pipeline& p) { fill(p, 1); }).ok());
    fake.fail_code = 700, fake.fail_at_call = 1;
    uint64_t failed = 9;
    const auto popped = pipeline->pop_until(ingot_clock_ns() + 60'000'000'000u, &failed);
    CHECK(popped.error().code == INGOT_DEVICE_LOST);
    CHECK(failed == 0);
  }
  heal();
  CHECK(alive() == "");
}
