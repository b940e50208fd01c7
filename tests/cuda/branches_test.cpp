// SPDX-License-Identifier: Apache-2.0
// Control flow on a GPU whose branches the host decides, over the fake driver: the bits of the CPU,
// and exactly the launches and waits that are stated for what a run takes.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "tests/cuda/branch_runs.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: a loop runs as its count and its condition say, with one wait for each "
    "iteration") {
  FileBytes bytes(looping_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, by_host(INGOT_STRICT));
  CHECK(std::string(gpu.share(0).device) == "cuda:0");
  CHECK(gpu.share(0).instructions == 7);
  for (const int64_t count : {0, 1, 2, 3, 2, -4})
    for (const int64_t end : {int64_t(100), int64_t(0), int64_t(1)}) {
      CAPTURE(count);
      CAPTURE(end);
      fill_loop(cpu, {count, end});
      fill_loop(gpu, {count, end});
      REQUIRE(cpu.run().ok());
      const Counts counts = counted_run(gpu);
      const std::vector<int64_t> made = read<int64_t>(cpu.output("made"));
      CHECK(read<int64_t>(gpu.output("made")) == made);
      CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
      CHECK(counts == Counts{2 + uint64_t(made[0]), 2 + uint64_t(made[0])});
      CHECK(counts == stated(gpu, 0));
    }
  const ingot_branch body = gpu.branch(0);
  CHECK(std::string(body.name) == "body");
  CHECK(std::string(body.device) == "cuda:0");
  CHECK(body.instruction == 2);
  CHECK(body.kind == 2);
  CHECK(body.parent == -1);
  CHECK(body.most == 3);
  CHECK(gpu.branch(1).name == nullptr);
  CHECK(cpu.branch(0).name == nullptr);
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: iterations that the host can count are launched without a wait between them") {
  for (const bool known : {true, false}) {
    CAPTURE(known);
    FileBytes bytes(counted_network(known));
    const InOrder late(kLast);
    Model model = open_bytes_or_fail(bytes, scalar());
    Session cpu = make(model, on("cpu")), gpu = make(model, by_host());
    write(cpu.input(0), ramp(32));
    write(gpu.input(0), ramp(32));
    REQUIRE(cpu.run().ok());
    const Counts counts = counted_run(gpu);
    CHECK(read<float>(gpu.output(0)) == read<float>(cpu.output(0)));
    CHECK(counts == Counts{5, 1});
    CHECK(counts == stated(gpu, 0));
  }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: Ifs and loops inside each other, at every edge of what they are in") {
  FileBytes bytes(nested_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, by_host(INGOT_STRICT));
  for (const bool outer : {true, false})
    for (const bool inner : {true, false})
      for (const int64_t count : {0, 1, 5})
        for (const int64_t end : {-1, 0, 3, 4}) {
          CAPTURE(outer);
          CAPTURE(inner);
          CAPTURE(count);
          CAPTURE(end);
          fill_nested(cpu, outer, inner, {count, end});
          fill_nested(gpu, outer, inner, {count, end});
          REQUIRE(cpu.run().ok());
          const Counts counts = counted_run(gpu);
          CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
          CHECK(read<int64_t>(gpu.output("r")) == read<int64_t>(cpu.output("r")));
          const uint64_t n = uint64_t(count);
          CHECK(counts == (outer ? Counts{2 + 1 + 1, 2 + 1} : Counts{2 + 2 + n * 3, 2 + 1 + n}));
          CHECK(counts == stated(gpu, 0));
        }
  fill_nested(gpu, false, false, {5, 3});
  REQUIRE(gpu.run().ok());
  // outer, inner, not inner, not outer, body, differs, is end
  const int32_t kinds[] = {0, 0, 1, 1, 2, 0, 1}, parents[] = {-1, 0, 0, -1, 3, 4, 4};
  const uint64_t taken[] = {0, 0, 0, 1, 5, 4, 1}, most[] = {1, 1, 1, 1, 100, 1, 1};
  for (uint32_t i = 0; i < 7; i++) {
    CAPTURE(i);
    const ingot_branch branch = gpu.branch(i);
    REQUIRE(branch.name);
    CHECK(branch.kind == kinds[i]);
    CHECK(branch.parent == parents[i]);
    CHECK(branch.taken == taken[i]);
    CHECK(branch.most == int64_t(most[i]));
    ingot_branch of_model{};
    of_model.size = sizeof of_model;
    const ingot_session_options options = by_host();
    REQUIRE(ingot_model_branch(model.get(), &options, i, &of_model, nullptr) == INGOT_OK);
    of_model.taken = branch.taken;
    CHECK(std::memcmp(&of_model, &branch, sizeof branch) == 0);
  }
  ingot_branch beyond{};
  beyond.size = sizeof beyond;
  const ingot_session_options options = by_host(), on_cpu = on("cpu");
  CHECK(ingot_model_branch(model.get(), &options, 7, &beyond, nullptr) == INGOT_NOT_FOUND);
  CHECK(ingot_model_branch(model.get(), &on_cpu, 0, &beyond, nullptr) == INGOT_NOT_FOUND);
  ingot_share before{};
  before.size = sizeof before;
  REQUIRE(ingot_model_share(model.get(), &options, 0, &before, nullptr) == INGOT_OK);
  CHECK(before.launches == gpu.share(0).launches);
  CHECK(before.waits == gpu.share(0).waits);
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: what the file was not converted for ends the run, and the session stays "
    "usable") {
  FileBytes one_sided(one_sided_network()), looping(looping_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(one_sided, scalar());
  Session gpu = make(model, by_host());
  for (const uint8_t flag : {1, 0, 1, 0}) {
    write(gpu.input("flag"), std::vector<uint8_t>{flag});
    write(gpu.input("x"), std::vector<float>(8, 2.0f));
    const auto ran = gpu.run();
    CHECK(ran.ok() == (flag == 0));
    if (ran.ok()) {
      CHECK(read<float>(gpu.output("y")) == std::vector<float>(8, -2.0f));
    } else {
      CHECK(ran.error().code == INGOT_CONTROL_REFUSED);
      CHECK(ran.error().instruction == 0);
    }
    CHECK(fake_cuda().queued == 0);
  }
  Model loops = open_bytes_or_fail(looping, scalar());
  Session looper = make(loops, by_host());
  fill_loop(looper, {4, 100});
  const auto refused = looper.run();
  CHECK(refused.error().code == INGOT_CONTROL_REFUSED);
  CHECK(refused.error().instruction == 2);
  CHECK(refused.error().need == 3);
  CHECK(refused.error().have == 4);
  fill_loop(looper, {3, 100});
  CHECK(looper.run().ok());
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: a run is given up between iterations, by a deadline and by another thread, and "
    "nothing is queued "
    "then") {
  FileBytes bytes(looping_network(int64_t{1} << 40));
  Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, by_host());
  fill_loop(gpu, {int64_t{1} << 40, -1});
  const auto late = gpu.run_until(ingot_clock_ns() + 20'000'000);
  CHECK(late.error().code == INGOT_DEADLINE_EXCEEDED);
  CHECK(late.error().instruction == 2);
  CHECK(fake_cuda().queued == 0);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gpu.cancel();
  });
  const auto cancelled = gpu.run();
  canceller.join();
  CHECK(cancelled.error().code == INGOT_CANCELLED);
  CHECK(gpu.branch(0).taken > 0);
  fill_loop(gpu, {2, -1});
  REQUIRE(gpu.run().ok());
  CHECK(read<int64_t>(gpu.output("made")) == std::vector<int64_t>{2});
  CHECK(gpu.branch(0).taken == 2);
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: an If or a Loop with a step that the GPU lacks is the CPU's as a whole; beside "
    "it the others are "
    "stated exactly") {
  FileBytes bytes(half_lacking_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, by_host());
  for (const int64_t count : {0, 1, 3}) {
    CAPTURE(count);
    for (Session* s : {&cpu, &gpu}) {
      write(s->input("count"), std::vector<int64_t>{count});
      write(s->input("x"), ramp(32));
    }
    REQUIRE(cpu.run().ok());
    const FakeCuda before = fake_cuda();
    REQUIRE(gpu.run().ok());
    const FakeCuda& after = fake_cuda();
    CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
    const ingot_share share = gpu.share(1);
    CHECK(share.instructions == 5);         // relu, the loop with its body, the copy
    CHECK(gpu.share(0).instructions == 5);  // the loop with exp in f64, and what follows it
    CHECK(stated(gpu, 1) == Counts{after.launches - before.launches, after.waits - before.waits});
    CHECK(after.uploads - before.uploads == share.uploads);
    CHECK(after.downloads - before.downloads == share.downloads);
    CHECK(gpu.branch(0).taken == uint64_t(count));
    CHECK(std::string(gpu.branch(0).name) == "body");
    CHECK(gpu.branch(1).name == nullptr);  // the other one is the CPU's
  }
  const auto strict = model.session(by_host(INGOT_STRICT));
  REQUIRE(!strict.ok());
  CHECK(strict.error().code == INGOT_NO_KERNEL);
  CHECK(std::string(strict.error().name) == "e");
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda branches: an index out of range in a body ends the run with its instruction, before a "
    "loop goes on with it") {
  FileBytes bytes(indexing_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, by_host());
  for (const int64_t bad : {-1, 2, 0, -1}) {
    CAPTURE(bad);
    std::vector<int64_t> indices = {3, 1, 0, 2};
    if (bad >= 0) indices[size_t(bad)] = 99;
    for (Session* s : {&cpu, &gpu}) write(s->input("indices"), indices);
    const auto expected = cpu.run(), found = gpu.run();
    CHECK(found.ok() == (bad < 0));
    CHECK(expected.ok() == found.ok());
    CHECK(fake_cuda().queued == 0);
    if (found.ok()) {
      CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
      continue;
    }
    CHECK(found.error().code == INGOT_BAD_INDEX_VALUE);
    CHECK(found.error().instruction == expected.error().instruction);
    CHECK(gpu.branch(0).taken <= uint64_t(bad + 1));
  }
}

TEST_CASE_FIXTURE(FakeDriverCase,
                  "cuda branches: a profile has every instruction that ran, as often as it ran") {
  FileBytes bytes(looping_network());
  Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, by_host());
  std::vector<uint32_t> seen;
  ingot_session_set_profile(
      gpu.get(),
      [](void* user, const ingot_profile_event* event) {
        static_cast<std::vector<uint32_t>*>(user)->push_back(event->instruction);
      },
      &seen);
  for (int run = 0; run < 2; run++) {
    seen.clear();
    fill_loop(gpu, {2, 100});
    REQUIRE(gpu.run().ok());
    CHECK(seen == std::vector<uint32_t>{0, 1, 4, 5, 6, 4, 5, 6, 3});
    CHECK(read<int64_t>(gpu.output("made")) == std::vector<int64_t>{2});
  }
}
