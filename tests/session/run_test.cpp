// SPDX-License-Identifier: Apache-2.0
// Sessions: answers, state, control flow, cancelling, deadlines, profiling, several at once.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

std::vector<float> chain_answer(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); i++) y[i] = -(x[i] > 0 ? x[i] : 0) + float(i % 8) + x[i];
  return y;
}

}  // namespace

TEST_CASE("session: computes from memory, from a file, through a reader, mapped and copied") {
  const convert::FileSpec spec = chain_network();
  FileBytes bytes(spec);
  TemporaryFile file(spec);
  const ingot_reader reader = bytes.reader();
  const std::vector<float> x = ramp(32);
  for (const char* how : {"memory", "path", "path copied", "path hashes", "reader"}) {
    CAPTURE(how);
    ingot_open_options options = open_options(oracle_table());
    if (std::strstr(how, "copied")) options.map = INGOT_MAP_COPY;
    if (std::strstr(how, "hashes")) options.trust = INGOT_TRUST_HASHES;
    ingot_model* opened = nullptr;
    Error error;
    if (how[0] == 'm')
      ingot_model_open_memory(bytes.data(), bytes.size(), &options, &opened, &error);
    if (how[0] == 'p') ingot_model_open(file.path(), &options, &opened, &error);
    if (how[0] == 'r') ingot_model_open_reader(&reader, &options, &opened, &error);
    REQUIRE_MESSAGE(opened, error.text());
    const Model model(opened);
    CHECK(ingot_model_verify_hashes(model.get(), nullptr) == INGOT_OK);
    auto session = model.session(with_threads(1));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    for (int run = 0; run < 3; run++) {
      write(session->input(0), x);
      const auto ran = session->run();
      REQUIRE_MESSAGE(ran.ok(), ran.error().text());
      CHECK(read<float>(session->output("y")) == chain_answer(x));
    }
  }
}

TEST_CASE("session: threads and a shared pool give the same answer") {
  FileBytes bytes(chain_network(300));
  Model model = open_bytes_or_fail(bytes);
  auto pool = Pool::create(3);
  REQUIRE(pool.ok());
  const std::vector<float> x = ramp(2400);
  for (int threads = 1; threads <= 4; threads++) {
    ingot_session_options options = with_threads(threads < 4 ? threads : 3);
    if (threads == 4) options.pool = pool->get();
    auto session = model.session(options);
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    write(session->input(0), x);
    REQUIRE(session->run().ok());
    CHECK(read<float>(session->output(0)) == chain_answer(x));
  }
}

TEST_CASE("session: an ensemble of trees is shared for its walks, not for the size of its tables") {
  for (const bool one_row : {true, false}) {
    CAPTURE(one_row);
    const int64_t rows = one_row ? 1 : 4096;
    convert::FileSpec file;
    file.segment_alignment = 16;
    convert::ProgramSpec& p = file.program;
    const int32_t x = p.add_value(input("x", {rows, 4})),
                  nodes = p.add_value(constant("nodes", {60000, 3}, Packing::kDense, DType::kI32)),
                  weights = p.add_value(constant("weights", {100, 1})),
                  y = p.add_value(output("y", {rows, 1}));
    p.add_instruction(TreeEnsembleAttributes{100, 4, 8, TreeAggregate::kSum, false},
                      {x, nodes, weights}, {y});
    add_ports(&file);
    FileBytes bytes(file);
    Model model = open_bytes_or_fail(bytes);
    auto pool = Pool::create(2);
    REQUIRE(pool.ok());
    for (ingot_pool* shared : {static_cast<ingot_pool*>(nullptr), pool->get()}) {
      ingot_session_options options = with_threads(0);
      options.pool = shared;
      auto session = model.session(options);
      REQUIRE_MESSAGE(session.ok(), session.error().text());
      ingot_placement placement = {};
      placement.size = sizeof placement;
      REQUIRE(ingot_session_placement(session->get(), &placement) == INGOT_OK);
      if (one_row) CHECK(placement.threads == 1);
      if (!one_row && shared) CHECK(placement.threads == 2);
    }
  }
}

TEST_CASE(
    "session: the caller's executor runs bodies at once, one behind the other, or backwards") {
  FileBytes bytes(chain_network(50));
  Model model = open_bytes_or_fail(bytes);
  using Body = void (*)(void*, int32_t);
  const ingot_executor executors[] = {
      {nullptr,
       [](void*, Body body, void* argument, int32_t n) {
         for (int32_t i = 0; i < n; i++) body(argument, i);
       }},
      {nullptr,
       [](void*, Body body, void* argument, int32_t n) {
         for (int32_t i = n; i-- > 0;) body(argument, i);
       }},
      {nullptr,
       [](void*, Body body, void* argument, int32_t n) {
         std::vector<std::thread> threads;
         for (int32_t i = 1; i < n; i++) threads.emplace_back(body, argument, i);
         body(argument, 0);
         for (std::thread& t : threads) t.join();
       }},
  };
  for (const ingot_executor& executor : executors) {
    ingot_session_options options = with_threads(3);
    options.executor = &executor;
    auto session = model.session(options);
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    for (int run = 0; run < 5; run++) {
      write(session->input(0), ramp(400));
      REQUIRE(session->run().ok());
      CHECK(read<float>(session->output(0)) == chain_answer(ramp(400)));
    }
  }
  const ingot_executor idle = {nullptr, [](void*, Body, void*, int32_t) {}};
  ingot_session_options options = with_threads(2);
  options.executor = &idle;
  auto session = model.session(options);
  REQUIRE(session.ok());
  CHECK(session->run().error().code == INGOT_THREAD_FAILED);
}

TEST_CASE("session: both branches of an If, at several bindings") {
  FileBytes bytes(branching_network());
  Model model = open_bytes_or_fail(bytes);
  for (int64_t n : {1, 2, 7, 64}) {
    CAPTURE(n);
    const ingot_binding binding = {"N", n};
    ingot_session_options options = with_threads(1);
    options.bindings = &binding;
    options.binding_count = 1;
    auto session = model.session(options);
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    const std::vector<float> x = ramp(size_t(n) * 8, -1);
    for (uint8_t flag : {uint8_t{1}, uint8_t{0}, uint8_t{1}}) {
      write(session->input("x"), x);
      write(session->input("flag"), std::vector<uint8_t>{flag});
      const auto ran = session->run();
      REQUIRE_MESSAGE(ran.ok(), ran.error().text());
      const std::vector<float> y = read<float>(session->output("y"));
      const size_t half = size_t(n + 1) / 2, skipped = size_t(n) - half;
      REQUIRE(y.size() == half * 16);
      for (size_t row = 0; row < half; row++)
        for (size_t i = 0; i < 16; i++) {
          const float from = x[(row + skipped) * 8 + i % 8];
          const float both = i < 8 ? (from > 0 ? from : 0) : -from;
          CHECK(y[row * 16 + i] == doctest::Approx(flag ? both : std::tanh(both)).epsilon(1e-5));
        }
    }
  }
}

TEST_CASE(
    "session: bindings are named when they are missing, unknown, contradictory or out of bounds") {
  FileBytes bytes(branching_network());
  Model model = open_bytes_or_fail(bytes);
  struct Case {
    std::vector<ingot_binding> bindings;
    ingot_code code;
    const char* name;
  };
  const Case cases[] = {{{}, INGOT_UNBOUND_DIMENSION, "N"},
                        {{{"M", 3}}, INGOT_NOT_FOUND, "M"},
                        {{{"N", 65}}, INGOT_DIMENSION_OUT_OF_BOUNDS, "N"},
                        {{{"N", 0}}, INGOT_DIMENSION_OUT_OF_BOUNDS, "N"},
                        {{{"N", -1}}, INGOT_DIMENSION_OUT_OF_BOUNDS, "N"},
                        {{{"N", 3}, {"N", 4}}, INGOT_INVALID_ARGUMENT, "N"}};
  for (const Case& c : cases) {
    ingot_session_options options = with_threads(1);
    options.bindings = c.bindings.data();
    options.binding_count = c.bindings.size();
    const auto session = model.session(options);
    CAPTURE(session.error().text());
    CHECK(session.error().code == c.code);
    CHECK(std::string(session.error().name) == c.name);
  }
}

TEST_CASE("session: state lives from run to run and is reset to its initial value") {
  for (bool with_init : {false, true}) {
    FileBytes bytes(counting_network(with_init));
    Model model = open_bytes_or_fail(bytes);
    auto session = model.session(with_threads(1));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    CHECK(session->requirements().state == 64);
    const float start = with_init ? 1 : 0;
    for (int round = 0; round < 2; round++) {
      for (int run = 1; run <= 3; run++) {
        write(session->input(0), std::vector<float>(8, 2.0f));
        REQUIRE(session->run().ok());
        CHECK(read<float>(session->output(0)) == std::vector<float>(8, start + 2.0f * float(run)));
      }
      REQUIRE(session->reset_state().ok());
    }
  }
}

TEST_CASE("session: an index outside its range is an error, and the session stays usable") {
  FileBytes bytes(lookup_network());
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session(with_threads(1));
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  for (int64_t index : {2, 4, -1, -5, 1}) {
    write(session->input("table"), ramp(32, 0));
    write(session->input("indices"), std::vector<int64_t>{0, index, 3});
    const auto ran = session->run();
    const bool inside = index >= -4 && index < 4;
    CHECK(ran.ok() == inside);
    if (!inside) CHECK(ran.error().code == INGOT_BAD_INDEX_VALUE);
    if (!inside) CHECK(ran.error().instruction == 0);
  }
}

TEST_CASE(
    "session: cancel ends the next run and no other; a deadline that has passed ends this one") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session(with_threads(1));
  REQUIRE(session.ok());
  write(session->input(0), ramp(32));
  session->cancel();
  CHECK(session->run().error().code == INGOT_CANCELLED);
  CHECK(session->run().ok());
  CHECK(session->run_until(ingot_clock_ns() - 1).error().code == INGOT_DEADLINE_EXCEEDED);
  CHECK(session->run_until(ingot_clock_ns() + 60000000000u).ok());
  CHECK(session->run().ok());
}

TEST_CASE(
    "session: the profile sees every instruction that ran, in order, and can be switched off") {
  FileBytes bytes(branching_network());
  Model model = open_bytes_or_fail(bytes);
  const ingot_binding binding = {"N", 4};
  ingot_session_options options = with_threads(1);
  options.bindings = &binding;
  options.binding_count = 1;
  auto session = model.session(options);
  REQUIRE(session.ok());
  std::vector<ingot_profile_event> events;
  ingot_session_set_profile(
      session->get(),
      [](void* user, const ingot_profile_event* event) {
        static_cast<std::vector<ingot_profile_event>*>(user)->push_back(*event);
      },
      &events);
  write(session->input("x"), ramp(32));
  write(session->input("flag"), std::vector<uint8_t>{1});
  REQUIRE(session->run().ok());
  std::vector<std::string> ops;
  for (const ingot_profile_event& event : events) {
    ops.push_back(event.op);
    CHECK(event.begin_ns <= event.end_ns);
    CHECK(event.kernel[0] != 0);
    CHECK(event.team == 1);
  }
  CHECK(ops == std::vector<std::string>{"elementwise", "elementwise", "copy", "slice"});
  ingot_session_set_profile(session->get(), nullptr, nullptr);
  REQUIRE(session->run().ok());
  CHECK(events.size() == 4);
}

#if defined(__x86_64__) || defined(__aarch64__)  // others have no tables to unwind a library of C
TEST_CASE("session: an exception through the profile function is named by every later run") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session(with_threads(1)), other = model.session(with_threads(1));
  REQUIRE(session.ok());
  REQUIRE(other.ok());
  write(session->input(0), ramp(32)), write(other->input(0), ramp(32));
  int again = 0;
  ingot_session_set_profile(
      session->get(),
      [](void* user, const ingot_profile_event*) { throw *static_cast<int*>(user); }, &again);
  CHECK_THROWS_AS((void)session->run(), int);
  for (int i = 0; i < 2; i++) {
    const auto refused = session->run();
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == INGOT_WRONG_STATE);
    CHECK(std::string(refused.error().text()).find("profile function") != std::string::npos);
  }
  CHECK(other->run().ok());  // the model is whole
}
#endif

TEST_CASE("session: four threads make, run and destroy sessions of one model at once") {
  FileBytes bytes(branching_network());
  Model model = open_bytes_or_fail(bytes);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&model, &wrong, t] {
      for (int round = 0; round < 20; round++) {
        const ingot_binding binding = {"N", 1 + (t * 7 + round) % 64};
        ingot_session_options options = with_threads(1);
        options.bindings = &binding;
        options.binding_count = 1;
        auto session = model.session(options);
        if (!session) {
          wrong++;
          continue;
        }
        const std::vector<float> x(size_t(binding.value) * 8, 2.0f);
        write(session->input("x"), x);
        write(session->input("flag"), std::vector<uint8_t>{1});
        if (!session->run()) {
          wrong++;
          continue;
        }
        const std::vector<float> y = read<float>(session->output("y"));
        for (size_t i = 0; i < y.size(); i++) wrong += y[i] != (i % 16 < 8 ? 2.0f : -2.0f);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
