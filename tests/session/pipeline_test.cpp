// SPDX-License-Identifier: Apache-2.0
// Runs that are started and waited for, and pipelines, on the CPU: order, waiting, errors by item,
// ends at any time.
#include <doctest/doctest.h>

#include <atomic>
#include <ingot/pipeline.hpp>
#include <thread>

#include "tests/session/counting_allocator.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

Pipeline make(const Model& model, const ingot_pipeline_options& options) {
  auto pipeline = Pipeline::create(model, options);
  if (!pipeline) throw std::runtime_error(pipeline.error().text());
  return std::move(*pipeline);
}

/// What chain_network() makes of items whose elements are all `x`.
float chain_of(float x, size_t i) { return -(x > 0 ? x : 0) + float(i % 8) + x; }

bool is_chain_of(const Elements<float>& y, float x) {
  if (y.empty()) return false;
  for (size_t i = 0; i < y.size; i++)
    if (y[i] != chain_of(x, i)) return false;
  return true;
}

void fill(Pipeline& pipeline, float x) {
  for (float& element : pipeline.input<float>(0).value()) element = x;
}

uint64_t held(const CountingAllocator& heap) {
  uint64_t bytes = 0;
  for (const auto& block : heap.alive) bytes += block.second;
  return bytes;
}

struct Count {
  std::atomic<uint64_t> limit{100};
  std::atomic<int> calls{0};
  int32_t last = 1;  // what the call after the last item answers
};
int32_t load(void* user, ingot_pipeline* pipeline, uint64_t item) {
  Count& count = *static_cast<Count*>(user);
  count.calls++;
  if (item >= count.limit) return count.last;
  ingot_tensor tensor;
  if (ingot_pipeline_input(pipeline, 0, &tensor)) return -1;
  for (float& element : elements<float>(tensor).value()) element = float(item);
  return 0;
}

}  // namespace

TEST_CASE(
    "async: a started run is waited for, with a thread of the session's and without; states are "
    "named") {
  FileBytes bytes(chain_network(100));
  Model model = open_bytes_or_fail(bytes);
  for (const uint32_t flags : {0u, uint32_t{INGOT_ASYNC}}) {
    CAPTURE(flags);
    auto session = model.session(with_threads(1, flags));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    CHECK(session->wait().error().code == INGOT_WRONG_STATE);
    for (int i = 0; i < 50; i++) {
      write(session->input(0), std::vector<float>(800, float(i)));
      REQUIRE(session->start().ok());
      CHECK(session->start().error().code == INGOT_WRONG_STATE);
      CHECK(session->run().error().code == INGOT_WRONG_STATE);
      ingot_tensor mine = session->input(0).value();
      CHECK(session->bind_input(0, mine).error().code == INGOT_WRONG_STATE);
      CHECK(session->reset_state().error().code == INGOT_WRONG_STATE);
      if (i % 2)
        while (!session->has_ended()) std::this_thread::yield();
      REQUIRE(session->wait().ok());
      CHECK(is_chain_of(session->output<float>(0).value(), float(i)));
      CHECK(session->wait().error().code == INGOT_WRONG_STATE);
    }
    write(session->input(0), ramp(800));
    REQUIRE(session->run().ok());
    session->cancel();
    REQUIRE(session->start().ok());
    CHECK(session->wait().error().code == INGOT_CANCELLED);
    std::atomic<int> ended{0};
    REQUIRE(ingot_session_start_with(
                session->get(), 0, [](void* user) { ++*static_cast<std::atomic<int>*>(user); },
                &ended, nullptr) == INGOT_OK);
    REQUIRE(session->wait().ok());
    CHECK(ended == 1);
    REQUIRE(ingot_session_start_with(session->get(), 1, nullptr, nullptr, nullptr) == INGOT_OK);
    CHECK(session->wait().error().code == INGOT_DEADLINE_EXCEEDED);
    REQUIRE(session->start().ok());  // and destroyed while it runs
  }
}

TEST_CASE("async: memory of the thread is stated, and what a lookup finds wrong is told by wait") {
  FileBytes bytes(lookup_network());
  Model model = open_bytes_or_fail(bytes);
  auto with = model.session(with_threads(1, INGOT_ASYNC)), without = model.session(with_threads(1));
  REQUIRE(with.ok());
  CHECK(with->requirements().outside_bytes > without->requirements().outside_bytes);
  write(with->input("table"), ramp(32, 0));
  write(with->input("indices"), std::vector<int64_t>{0, 9, 3});
  REQUIRE(with->start().ok());
  const auto ended = with->wait();
  CHECK(ended.error().code == INGOT_BAD_INDEX_VALUE);
  CHECK(ended.error().instruction == 0);
}

TEST_CASE("pipeline: one thread fills and reads; order is kept, every slot has its own memory") {
  FileBytes bytes(chain_network(40));
  Model model = open_bytes_or_fail(bytes);
  for (const uint32_t depth : {1u, 2u, 3u, 16u}) {
    CAPTURE(depth);
    const ingot_session_options session = with_threads(1);
    ingot_pipeline_options options = pipeline_options();
    options.session = &session;
    options.depth = depth;
    Pipeline pipeline = make(model, options);
    CHECK(pipeline.pop().error().code == INGOT_WRONG_STATE);
    uint64_t pushed = 0;
    for (uint64_t popped = 0; popped < 60;) {
      while (pipeline.free() && pushed < 60)
        REQUIRE(pipeline.push([&](Pipeline& p) { fill(p, float(pushed++)); }).ok());
      if (pushed - popped == depth) {
        const auto refused = pipeline.acquire();
        CHECK(refused.error().code == INGOT_WRONG_STATE);
        CHECK(refused.error().hint[0] != 0);
      }
      const auto item = pipeline.pop();
      REQUIRE(item.ok());
      CHECK(item.value() == popped);
      CHECK(is_chain_of(pipeline.output<float>(0).value(), float(popped)));
      CHECK(pipeline.pop().error().code == INGOT_WRONG_STATE);  // not released
      pipeline.release().value();
      CHECK(pipeline.output(0).error().code == INGOT_WRONG_STATE);
      popped++;
    }
    pipeline.finish().value();
    CHECK(pipeline.pop().error().code == INGOT_NOT_FOUND);
    CHECK(pipeline.acquire().error().code == INGOT_WRONG_STATE);
  }
}

TEST_CASE("pipeline: state goes from item to item") {
  FileBytes bytes(counting_network(false));
  Model model = open_bytes_or_fail(bytes);
  Pipeline pipeline = make(model, pipeline_options());
  for (int i = 1; i <= 20; i++) {
    REQUIRE(pipeline.push([](Pipeline& p) { fill(p, 2); }).ok());
    REQUIRE(pipeline.pop().ok());
    CHECK(pipeline.output<float>(0).value()[3] == float(2 * i));
    pipeline.release().value();
  }
}

TEST_CASE("pipeline: an item's error comes with its number, and the others go on") {
  FileBytes bytes(lookup_network());
  Model model = open_bytes_or_fail(bytes);
  ingot_pipeline_options options = pipeline_options();
  options.depth = 3;
  Pipeline pipeline = make(model, options);
  const int32_t table = ingot_model_find_input(model.get(), "table"),
                indices = ingot_model_find_input(model.get(), "indices");
  for (int64_t item = 0; item < 3; item++)
    REQUIRE(
        pipeline
            .push([&](Pipeline& p) {
              write(p.input(uint32_t(table)), ramp(32, 0));
              write(p.input(uint32_t(indices)), std::vector<int64_t>{0, item == 1 ? 9 : item, 3});
            })
            .ok());
  for (uint64_t item = 0; item < 3; item++) {
    uint64_t failed = 0;
    const auto popped = pipeline.pop(&failed);
    CHECK(popped.ok() == (item != 1));
    if (item == 1) {
      CHECK(popped.error().code == INGOT_BAD_INDEX_VALUE);
      CHECK(failed == 1);
    } else {
      CHECK(pipeline.output<float>(0).value()[8] == ramp(32, 0)[size_t(item) * 8]);
      pipeline.release().value();
    }
  }
  CHECK(pipeline.free() == 3);
}

TEST_CASE("pipeline: a producer with a thread of its own, and a loader on one of the pipeline's") {
  FileBytes bytes(chain_network(40));
  Model model = open_bytes_or_fail(bytes);
  for (const bool with_loader : {false, true})
    for (const uint32_t depth : {1u, 2u, 4u}) {
      Count count;
      const ingot_session_options session = with_threads(1);
      ingot_pipeline_options options = pipeline_options();
      options.session = &session;
      options.depth = depth;
      options.flags = with_loader ? 0 : uint32_t{INGOT_PIPELINE_TWO_THREADS};
      if (with_loader) options.loader = load, options.user = &count;
      Pipeline pipeline = make(model, options);
      if (with_loader) CHECK(pipeline.acquire().error().code == INGOT_WRONG_STATE);
      std::thread producer([&] {
        if (with_loader) return;
        for (int i = 0; i < 100; i++)
          if (!pipeline.push([i](Pipeline& p) { fill(p, float(i)); })) return;
        pipeline.finish().value();
      });
      uint64_t items = 0;
      for (;; items++) {
        const auto item = pipeline.pop();
        if (!item.ok()) {
          CHECK(item.error().code == INGOT_NOT_FOUND);
          break;
        }
        CHECK(item.error().code == INGOT_OK);
        CHECK(is_chain_of(pipeline.output<float>(0).value(), float(items)));
        pipeline.release().value();
      }
      producer.join();
      CHECK(items == 100);
    }
}

TEST_CASE("pipeline: a loader's failure is told behind the last item, once") {
  FileBytes bytes(chain_network(4));
  Model model = open_bytes_or_fail(bytes);
  Count count;
  count.limit = 3;
  count.last = -7;
  ingot_pipeline_options options = pipeline_options();
  options.loader = load, options.user = &count;
  Pipeline pipeline = make(model, options);
  for (int i = 0; i < 3; i++) {
    REQUIRE(pipeline.pop().ok());
    pipeline.release().value();
  }
  const auto failed = pipeline.pop();
  CHECK(failed.error().code == INGOT_FILE_READ);
  CHECK(int64_t(failed.error().have) == -7);
  CHECK(pipeline.pop().error().code == INGOT_NOT_FOUND);
}

TEST_CASE(
    "pipeline: an item that is not there at the deadline is given later; nothing pushed is late as "
    "well") {
  FileBytes bytes(chain_network(50000));
  Model model = open_bytes_or_fail(bytes);
  const ingot_session_options session = with_threads(1);
  ingot_pipeline_options options = pipeline_options();
  options.session = &session;
  int late = 0;
  Pipeline pipeline = make(model, options);
  CHECK(pipeline.pop_until(ingot_clock_ns() + 1'000'000'000).error().code == INGOT_WRONG_STATE);
  for (uint64_t item = 0; item < 20; item++) {
    REQUIRE(pipeline.push([&](Pipeline& p) { fill(p, float(item)); }).ok());
    // asks, sleeps a little, asks
    for (uint64_t patience = 0;; patience = patience ? 0 : 100'000) {
      uint64_t failed = 0;
      const auto popped = pipeline.pop_until(patience ? ingot_clock_ns() + patience : 0, &failed);
      if (popped.ok()) {
        CHECK(popped.value() == item);
        break;
      }
      REQUIRE(popped.error().code == INGOT_DEADLINE_EXCEEDED);
      CHECK(failed == UINT64_MAX);
      CHECK(popped.error().have >= popped.error().need);
      late++;
    }
    CHECK(is_chain_of(pipeline.output<float>(0).value(), float(item)));
    pipeline.release().value();
  }
  CHECK(late > 0);
  options.flags = INGOT_PIPELINE_TWO_THREADS;
  Pipeline empty = make(model, options);
  const uint64_t began = ingot_clock_ns();
  CHECK(empty.pop_until(began + 20'000'000).error().code == INGOT_DEADLINE_EXCEEDED);
  CHECK(ingot_clock_ns() >= began + 20'000'000);
  REQUIRE(empty.push([&](Pipeline& p) { fill(p, 3); }).ok());
  REQUIRE(empty.pop_until(ingot_clock_ns() + 60'000'000'000u).ok());
  CHECK(is_chain_of(empty.output<float>(0).value(), 3));
  empty.cancel();
  CHECK(empty.pop_until(ingot_clock_ns() + 60'000'000'000u).error().code == INGOT_CANCELLED);
}

TEST_CASE("pipeline: destroyed and cancelled at any time, from any thread") {
  FileBytes bytes(chain_network(200));
  Model model = open_bytes_or_fail(bytes);
  for (int round = 0; round < 40; round++) {
    Count count;
    count.limit = 1000000;
    ingot_pipeline_options options = pipeline_options();
    options.depth = uint32_t(1 + round % 3);
    options.loader = load, options.user = &count;
    Pipeline pipeline = make(model, options);
    for (int i = 0; i < round % 5; i++) {
      REQUIRE(pipeline.pop().ok());
      pipeline.release().value();
    }
    if (round % 2) continue;
    std::thread other([&] { pipeline.cancel(); });
    for (;;) {
      const auto item = pipeline.pop();
      if (!item.ok()) {
        CHECK(item.error().code == INGOT_CANCELLED);
        break;
      }
      pipeline.release().value();
    }
    other.join();
  }
}

TEST_CASE(
    "pipeline: bytes are what the requirements say; no item allocates; bad options are named") {
  FileBytes bytes(chain_network(64));
  CountingAllocator heap;
  Model model = open_bytes_or_fail(bytes);
  ingot_session_options session = with_threads(1);
  session.allocator = &heap.allocator;
  session.arena_kind = INGOT_ARENA_ALLOCATOR;
  ingot_pipeline_options options = pipeline_options();
  options.session = &session;
  options.depth = 3;
  ingot_pipeline_requirements need = {};
  need.size = sizeof need;
  REQUIRE(ingot_pipeline_requirements_of(model.get(), &options, &need, nullptr) == INGOT_OK);
  CHECK(held(heap) == 0);
  CHECK(need.slots_host >= 3 * 2 * 64 * 32);
  CHECK(need.slots_pinned == 0);
  {
    Pipeline pipeline = make(model, options);
    CHECK(held(heap) == need.slots_host + need.arena_bytes);
    const int calls = heap.calls;
    for (int i = 0; i < 20; i++) {
      REQUIRE(pipeline.push([](Pipeline& p) { fill(p, 1); }).ok());
      REQUIRE(pipeline.pop().ok());
      pipeline.release().value();
    }
    CHECK(heap.calls == calls);
    ingot_requirements own = {};
    own.size = sizeof own;
    REQUIRE(ingot_session_requirements(ingot_pipeline_session(pipeline.get()), &own) == INGOT_OK);
    CHECK(own.arena_bytes == need.arena_bytes);
  }
  CHECK(held(heap) == 0);
  const auto refused = [&](ingot_code code) {
    const auto made = Pipeline::create(model, options);
    REQUIRE(!made.ok());
    CHECK(made.error().code == code);
    CHECK(made.error().field[0] != 0);
    CHECK(held(heap) == 0);
  };
  options.depth = 17;
  refused(INGOT_INVALID_ARGUMENT);
  options.depth = 2, options.flags = 128;
  refused(INGOT_INVALID_ARGUMENT);
  options.flags = 0, session.flags = INGOT_REBINDABLE;
  refused(INGOT_INVALID_ARGUMENT);
  session.flags = 0, session.device = "cuda:77";
  refused(INGOT_NO_SUCH_DEVICE);
}

TEST_CASE("pipeline: devices with memory of their own, through copies") {
  FileBytes bytes(chain_network(16));
  Model model = open_bytes_or_fail(bytes);
  ingot_session_options session = with_threads(1);
  session.device = "fake:0";
  ingot_pipeline_options options = pipeline_options();
  options.session = &session;
  Pipeline pipeline = make(model, options);
  for (int i = 0; i < 10; i++) {
    REQUIRE(pipeline.push([i](Pipeline& p) { fill(p, float(i)); }).ok());
    REQUIRE(pipeline.pop().ok());
    CHECK(is_chain_of(pipeline.output<float>(0).value(), float(i)));
    pipeline.release().value();
  }
}
