// SPDX-License-Identifier: Apache-2.0
// Sessions, pipelines and started runs of programs with control flow on a GPU: every fault named,
// graphs bounded, nothing left behind.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/cuda/branch_runs.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// Of a run whose loop makes three iterations.
void fail_each_call(FileBytes& bytes, const std::vector<float>& expected, uint32_t flags, int code,
                    int calls_of_run) {
  bool reached = true;
  int in_runs = 0, other_variants = 0;
  for (uint64_t n = 1; reached; n++) {
    CAPTURE(code);
    CAPTURE(n);
    {
      Model model = open_bytes_or_fail(bytes, scalar());
      fake_cuda().fail_code = code;
      fake_cuda().fail_at_call = n;
      auto session = model.session(on("cuda", flags));
      if (!session) {
        CHECK(session.error().code >= INGOT_ARENA_TOO_SMALL);
        CHECK(session.error().field[0] != 0);
        other_variants +=
            std::string(session.error().hint).find("--host-branches") != std::string::npos;
        reached = fake_cuda().fail_at_call == 0;
        CHECK(reached);
      } else {
        const bool was_made_well = fake_cuda().fail_at_call != 0;
        fill_nested(*session, false, false, {3, 1});
        const auto ran = session->run();
        if (ran.ok()) {
          CHECK(read<float>(session->output("y")) == expected);
        } else {
          in_runs += was_made_well;
          CHECK((ran.error().code == INGOT_DEVICE_LOST || ran.error().code == INGOT_OUT_OF_MEMORY));
          CHECK(std::string(ran.error().name) == "cuda:0");
        }
        const bool sticky = fake_cuda().sticky != 0;
        reached = fake_cuda().fail_at_call == 0;
        fake_cuda().fail_at_call = 0;
        const auto again = session->run();
        if (!ran.ok() && ran.error().code == INGOT_DEVICE_LOST)
          CHECK(again.error().code == INGOT_WRONG_STATE);
        if (ran.ok() && !sticky) CHECK(again.ok());
      }
    }
    heal();
    CHECK(alive() == "");
  }
  CHECK(in_runs == calls_of_run);
  CHECK((other_variants > 5) == (driver_decides() && !(flags & INGOT_HOST_BRANCHES) && code != 2));
}

}  // namespace

TEST_CASE(
    "cuda branches: every call of the driver fails in turn: a named error, nothing leaked, the "
    "session usable or "
    "dead") {
  fake_cuda();
  FileBytes bytes(nested_network());
  std::vector<float> expected;
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    Session cpu = make(model, on("cpu"));
    (void)make(model,
               // the driver is there: what fails when a process first asks for it is session_test's
               on("cuda"));
    fill_nested(cpu, false, false, {3, 1});
    REQUIRE(cpu.run().ok());
    expected = read<float>(cpu.output("y"));
  }
  const int by_host = 1 + 2 + 2 + 3 * 3 + 2 + 1 + 3;  // the context, launches and waits of that run
  for (const int code : {2, 1, 700, 719}) {
    fail_each_call(bytes, expected, INGOT_HOST_BRANCHES, code, by_host);
    fail_each_call(bytes, expected, 0, code, driver_decides() ? 3 : by_host);
  }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: the sixteen newest bindings keep their graphs, branches too, and no more") {
  FileBytes bytes(branching_network());
  Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, by_host(INGOT_REBINDABLE)),
          cpu = make(model, on("cpu", INGOT_REBINDABLE));
  const uint32_t segments = 4;  // before the If, two branches, behind it
  const auto run = [&](int64_t n, bool flag) {
    for (Session* s : {&cpu, &gpu}) {
      REQUIRE(s->rebind("N", n).ok());
      write(s->input("x"), ramp(size_t(n) * 8, float(n)));
      write(s->input("flag"), std::vector<uint8_t>{flag});
      REQUIRE(s->run().ok());
    }
    CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
  };
  for (int64_t n = 1; n <= 40; n++) {
    CAPTURE(n);
    run(n, n % 2);
    CHECK(fake_cuda().execs <= 16 * segments);
  }
  CHECK(fake_cuda().execs == 16 * segments);
  for (int64_t n = 40; n > 24; n--) {  // back costs nothing
    const uint64_t calls = fake_cuda().calls;
    REQUIRE(gpu.rebind("N", n).ok());
    CHECK(fake_cuda().calls - calls == 2);  // the context, and nothing made
    run(n, n % 2 == 0);
  }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: a started run is the thread's that was asked for, or start itself; poll and "
    "wait tell its end") {
  FileBytes bytes(looping_network());
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), plain = make(model, by_host()),
          async = make(model, by_host(INGOT_ASYNC));
  CHECK(async.requirements().outside_bytes > plain.requirements().outside_bytes);
  fill_loop(cpu, {3, 1});
  REQUIRE(cpu.run().ok());
  for (Session* s : {&plain, &async})
    for (int turn = 0; turn < 3; turn++) {
      fill_loop(*s, {3, 1});
      std::atomic<int> ended{0};
      REQUIRE(ingot_session_start_with(
                  s->get(), 0, [](void* user) { ++*static_cast<std::atomic<int>*>(user); }, &ended,
                  nullptr) == INGOT_OK);
      if (s == &plain) CHECK(ended == 1);
      CHECK(s->run().error().code == INGOT_WRONG_STATE);
      while (!s->has_ended()) std::this_thread::yield();
      REQUIRE(s->wait().ok());
      CHECK(ended == 1);
      CHECK(read<float>(s->output("y")) == read<float>(cpu.output("y")));
      CHECK(s->wait().error().code == INGOT_WRONG_STATE);
    }
  fill_loop(async, {4, -1});
  REQUIRE(async.start().ok());
  CHECK(async.wait().error().code == INGOT_CONTROL_REFUSED);
  fill_loop(async, {3, -1});
  REQUIRE(async.start().ok());  // and destroyed meanwhile
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: a pipeline runs them on its thread, with the numbers of the CPU and the memory "
    "that it states") {
  FileBytes bytes(looping_network());
  Model model = open_bytes_or_fail(bytes, scalar());
  const ingot_session_options session = by_host();
  ingot_pipeline_options options = pipeline_options();
  options.session = &session;
  options.depth = 3;
  auto made = Pipeline::create(model, options);
  REQUIRE_MESSAGE(made.ok(), made.error().text());
  Session cpu = make(model, on("cpu"));
  uint64_t pushed = 0;
  for (uint64_t item = 0; item < 20; item++) {
    while (made->free() && pushed < 20) {
      REQUIRE(made->push([&](Pipeline& p) {
                    std::memcpy(p.input(0)->data, &(const int64_t&)int64_t(pushed % 4), 8);
                    std::memcpy(p.input(1)->data, &(const int64_t&)int64_t(pushed % 3), 8);
                    std::memcpy(p.input(2)->data, ramp(32, float(pushed)).data(), 128);
                  })
                  .ok());
      pushed++;
    }
    const auto popped = made->pop();
    REQUIRE(popped.ok());
    fill_loop(cpu, {int64_t(item % 4), int64_t(item % 3)});
    write(cpu.input("x"), ramp(32, float(item)));
    REQUIRE(cpu.run().ok());
    CHECK(std::memcmp(made->output(0)->data, cpu.output(0)->data, 128) == 0);
    made->release().value();
  }
}

TEST_CASE("cuda branches: the child of a fork is told, and the parent goes on") {
  fake_cuda();
  FileBytes bytes(looping_network());
  Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, on("cuda"));
  fill_loop(gpu, {3, 100});
  REQUIRE(gpu.run().ok());
  const std::vector<float> expected = read<float>(gpu.output("y"));
  const pid_t child = fork();
  if (child == 0) _exit(gpu.run().error().code == INGOT_DEVICE_LOST ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  REQUIRE(gpu.run().ok());
  CHECK(read<float>(gpu.output("y")) == expected);
}
