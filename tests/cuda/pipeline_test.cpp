// SPDX-License-Identifier: Apache-2.0
// Runs that are started and pipelines on a GPU, over the fake driver whose streams do their work as
// late, and in as odd an order, as events allow: the same numbers, exact memory, every fault named,
// nothing left behind.
#include <doctest/doctest.h>

#include <atomic>

#include "tests/cuda/chain_items.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE(
    "cuda async: start is one launch, wait is one wait, and nothing else; a function is called "
    "behind the run") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(100));
  {
    const InOrder late(kLast);
    Model model = open_bytes_or_fail(bytes, scalar());
    auto session = model.session(on("cuda", INGOT_ASYNC));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    auto plain = model.session(on("cuda"));
    REQUIRE(plain.ok());
    // no thread
    CHECK(session->requirements().outside_bytes == plain->requirements().outside_bytes);
    for (int i = 0; i < 5; i++) {
      write(session->input(0), std::vector<float>(800, float(i)));
      FakeCuda before = fake;
      REQUIRE(session->start().ok());
      if (has_graphs()) {
        CHECK(deeds(fake) - deeds(before) == 1);
        CHECK(fake.launches - before.launches == 1);
      }
      CHECK(fake.kernels == before.kernels);  // still queued
      CHECK(session->start().error().code == INGOT_WRONG_STATE);
      CHECK(session->run().error().code == INGOT_WRONG_STATE);
      before = fake;
      REQUIRE(session->wait().ok());
      CHECK(deeds(fake) - deeds(before) == 1);
      CHECK(fake.waits - before.waits == 1);
      CHECK(is_chain_of(session->output<float>(0).value(), float(i)));
    }
    std::atomic<int> ended{0};
    REQUIRE(ingot_session_start_with(
                session->get(), 0, [](void* user) { ++*static_cast<std::atomic<int>*>(user); },
                &ended, nullptr) == INGOT_OK);
    CHECK(ended == 0);
    int polls = 0;
    while (!session->has_ended()) polls++;
    CHECK(polls > 0);
    CHECK(ended == 1);
    REQUIRE(session->wait().ok());
    session->cancel();
    CHECK(session->start().error().code == INGOT_CANCELLED);
    CHECK(session->wait().error().code == INGOT_WRONG_STATE);
    CHECK(ingot_session_start_with(session->get(), 1, nullptr, nullptr, nullptr) ==
          INGOT_DEADLINE_EXCEEDED);
    REQUIRE(session->start().ok());  // and destroyed meanwhile
  }
  CHECK(alive() == "");
}

TEST_CASE(
    "cuda async: a device lost while a run is queued is told by wait, and the session is dead") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(4));
  {
    const InOrder late(kLast);
    Model model = open_bytes_or_fail(bytes, scalar());
    auto session = model.session(on("cuda"));
    REQUIRE(session.ok());
    REQUIRE(session->start().ok());
    fake.fail_code = 700, fake.fail_at_call = 1;
    const auto ended = session->wait();
    CHECK(ended.error().code == INGOT_DEVICE_LOST);
    CHECK(std::string(ended.error().name) == "cuda:0");
    CHECK(session->start().error().code == INGOT_WRONG_STATE);
  }
  heal();
  CHECK(alive() == "");
}

TEST_CASE("cuda pipeline: the bits of the CPU in every order of streams") {
  fake_cuda();
  FileBytes bytes(chain_network(64));
  for (uint32_t order = 0; order < 12; order++)
    for (const uint32_t depth : {1u, 2u, 3u}) {
      CAPTURE(order);
      CAPTURE(depth);
      {
        const InOrder in(order);
        Model model = open_bytes_or_fail(bytes, scalar());
        const ingot_session_options session = on("cuda");
        auto pipeline = Pipeline::create(model, with(session, depth));
        REQUIRE_MESSAGE(pipeline.ok(), pipeline.error().text());
        CHECK(wrong_items(*pipeline, 25) == 0);
        for (uint32_t i = 0; i < depth; i++)
          (void)pipeline->push([](Pipeline& p) { fill(p, 1); });  // dropped while they run
      }
      CHECK(alive() == "");
    }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda pipeline: a copy, or a run, that is not waited for shows as wrong numbers") {
  FileBytes bytes(chain_network(64));
  int wrong = 0;
  {
    const InOrder late(kLast, is_integrated() ? "cuEventSynchronize" : "cuStreamWaitEvent");
    Model model = open_bytes_or_fail(bytes, scalar());
    const ingot_session_options session = on("cuda");
    auto pipeline = Pipeline::create(model, with(session, 2));
    REQUIRE(pipeline.ok());
    wrong = wrong_items(*pipeline, 25);
  }
  CHECK(wrong > 0);
}

TEST_CASE(
    "cuda pipeline: an item costs so many calls, one launch, one copy each way, one wait; no graph "
    "and no memory is "
    "made") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(64));
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    const ingot_session_options session = on("cuda");
    auto pipeline = Pipeline::create(model, with(session, 2));
    REQUIRE(pipeline.ok());
    CHECK(wrong_items(*pipeline, 4) == 0);
    const FakeCuda before = fake;
    CHECK(wrong_items(*pipeline, 10) == 0);
    if (has_graphs()) CHECK(fake.launches - before.launches == 10);
    const uint64_t copies = is_integrated() ? 0 : 10;  // the graph's own kernels copy there
    CHECK(fake.uploads - before.uploads == copies);
    CHECK(fake.downloads - before.downloads == copies);
    CHECK(fake.waits - before.waits == 10);
    // Two copies, launch, two waits of streams, three records; one wait. Without copies the launch
    // and one record.
    if (has_graphs()) CHECK(deeds(fake) - deeds(before) == (is_integrated() ? 30 : 90));
    CHECK(fake.switches - before.switches == 40);  // to submit and to collect
    CHECK(fake.allocations == before.allocations);
    CHECK(fake.pinned == before.pinned);
    CHECK(fake.execs == before.execs);
    CHECK(fake.events == (is_integrated() ? 2 : 6));
    CHECK(fake.streams ==
          // one of the model's weights, one of the session's, two for copies
          (is_integrated() ? 2 : 4));
  }
  CHECK(alive() == "");
}

TEST_CASE("cuda pipeline: memory of device and host is what the requirements say") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(300));
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    const ingot_session_options session = on("cuda");
    const ingot_pipeline_options options = with(session, 3);
    ingot_pipeline_requirements need = {};
    need.size = sizeof need;
    REQUIRE(ingot_pipeline_requirements_of(model.get(), &options, &need, nullptr) == INGOT_OK);
    uint64_t pinned_before = 0;
    {
      auto alone = model.session(session);
      REQUIRE(alone.ok());
      pinned_before = fake.pinned_bytes;
    }
    CHECK(fake.pinned_bytes == 0);
    auto pipeline = Pipeline::create(model, options);
    REQUIRE(pipeline.ok());
    CHECK(fake.bytes == need.arena_bytes + need.weights_shared + need.slots_device);
    CHECK(fake.pinned_bytes == pinned_before + need.slots_pinned);
    CHECK(need.slots_device >= (is_integrated() ? 0 : 3 * 2 * 300 * 32));
    CHECK((need.slots_device == 0) == is_integrated());
    CHECK(need.slots_pinned >= 3 * 2 * 300 * 32);
  }
  CHECK(alive() == "");
}

TEST_CASE("cuda pipeline: a loader on a thread of its own") {
  fake_cuda();
  FileBytes bytes(chain_network(64));
  for (uint32_t order = 0; order < 6; order++) {
    {
      const InOrder in(order);
      Model model = open_bytes_or_fail(bytes, scalar());
      const ingot_session_options session = on("cuda");
      ingot_pipeline_options options = with(session, 3);
      options.loader = [](void*, ingot_pipeline* pipeline, uint64_t item) -> int32_t {
        ingot_tensor tensor;
        if (item == 40) return 1;
        if (ingot_pipeline_input(pipeline, 0, &tensor)) return -1;
        for (float& element : elements<float>(tensor).value()) element = float(item);
        return 0;
      };
      auto pipeline = Pipeline::create(model, options);
      REQUIRE(pipeline.ok());
      uint64_t items = 0;
      for (;; items++) {
        const auto item = pipeline->pop();
        if (!item.ok()) {
          CHECK(item.error().code == INGOT_NOT_FOUND);
          break;
        }
        CHECK(is_chain_of(pipeline->output<float>(0).value(), float(items)));
        pipeline->release().value();
      }
      CHECK(items == 40);
      auto dropped = Pipeline::create(model, options);
      REQUIRE(dropped.ok());
    }
    CHECK(alive() == "");
  }
}

TEST_CASE_FIXTURE(FakeDriverCase,
                  "cuda pipeline: an index that is wrong is its item's error alone") {
  FileBytes bytes(lookup_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(bytes, scalar());
  const ingot_session_options session = on("cuda");
  auto pipeline = Pipeline::create(model, with(session, 3));
  REQUIRE_MESSAGE(pipeline.ok(), pipeline.error().text());
  const uint32_t table = uint32_t(ingot_model_find_input(model.get(), "table"));
  const uint32_t indices = uint32_t(ingot_model_find_input(model.get(), "indices"));
  for (int64_t item = 0; item < 3; item++)
    REQUIRE(pipeline
                ->push([&](Pipeline& p) {
                  write(p.input(table), ramp(32, 0));
                  write(p.input(indices), std::vector<int64_t>{0, item == 1 ? 9 : item, 3});
                })
                .ok());
  for (uint64_t item = 0; item < 3; item++) {
    uint64_t failed = 0;
    const auto popped = pipeline->pop(&failed);
    CHECK(popped.ok() == (item != 1));
    if (item == 1) CHECK(popped.error().code == INGOT_BAD_INDEX_VALUE);
    if (item == 1) CHECK(failed == 1);
    if (item != 1) CHECK(pipeline->output<float>(0).value()[8] == ramp(32, 0)[size_t(item) * 8]);
    if (item != 1) pipeline->release().value();
  }
}

TEST_CASE(
    "cuda pipeline: every call of the driver fails in turn: a named error, nothing leaked, no "
    "wrong number") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(8));
  for (const uint32_t order : {uint32_t{kAtOnce}, uint32_t{kLast}})
    for (const int code : {2, 1, 700}) {
      bool reached = true;
      int faults = 0, failed_items = 0;
      for (uint64_t n = 1; reached; n++) {
        CAPTURE(code);
        CAPTURE(n);
        {
          const InOrder in(order);
          Model model = open_bytes_or_fail(bytes, scalar());
          fake.fail_code = code;
          fake.fail_at_call = n;
          const ingot_session_options session = on("cuda");
          auto pipeline = Pipeline::create(model, with(session, 2));
          if (!pipeline.ok()) {
            CHECK(pipeline.error().code >= INGOT_ARENA_TOO_SMALL);
            CHECK(pipeline.error().field[0] != 0);
            CHECK(fake.fail_at_call == 0);
          } else {
            bool lost = false;
            for (int item = 0; item < 4; item++) {
              REQUIRE(pipeline->push([&](Pipeline& p) { fill(p, float(item)); }).ok());
              uint64_t failed = 0;
              const auto popped = pipeline->pop(&failed);
              if (popped.ok()) {
                CHECK(!lost);
                CHECK(is_chain_of(pipeline->output<float>(0).value(), float(item)));
                pipeline->release().value();
                continue;
              }
              CHECK((popped.error().code == INGOT_DEVICE_LOST ||
                     popped.error().code == INGOT_OUT_OF_MEMORY));
              CHECK(std::string(popped.error().name) == "cuda:0");
              CHECK(failed == uint64_t(item));
              lost = true;
              failed_items++;
            }
            reached = fake.fail_at_call == 0;
            fake.fail_at_call = 0;
          }
          faults++;
        }
        heal();
        CHECK(alive() == "");
      }
      CHECK(faults > 40);
      CHECK(failed_items > 20);
    }
}
