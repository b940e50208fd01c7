// SPDX-License-Identifier: Apache-2.0
// Sessions, pipelines and started runs of programs whose control flow a GPU decides: queued like
// any other, graphs bounded, profiles by the host.
#include <doctest/doctest.h>

#include "tests/cuda/branch_runs.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE_FIXTURE(FakeDriverCase,
                  "cuda conditional: the sixteen newest bindings keep their graphs, one each") {
  if (!driver_decides()) return;
  FileBytes bytes(branching_network());
  Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, on("cuda", INGOT_REBINDABLE)),
          cpu = make(model, on("cpu", INGOT_REBINDABLE));
  const auto run = [&](int64_t n, bool flag) {
    for (Session* s : {&cpu, &gpu}) {
      REQUIRE(s->rebind("N", n).ok());
      write(s->input("x"), ramp(size_t(n) * 8, float(n)));
      write(s->input("flag"), std::vector<uint8_t>{flag});
    }
    REQUIRE(cpu.run().ok());
    CHECK(counted_run(gpu) == Counts{1, 1});
    CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
  };
  for (int64_t n = 1; n <= 40; n++) {
    CAPTURE(n);
    run(n, n % 2);
    // that of the largest binding, made first
    CHECK(fake_cuda().execs == uint64_t(n < 16 ? n : 16) + (n < 16));
  }
  for (int64_t n = 40; n > 24; n--) {  // back costs nothing
    const uint64_t calls = fake_cuda().calls;
    REQUIRE(gpu.rebind("N", n).ok());
    CHECK(fake_cuda().calls - calls == 2);  // the context, and nothing made
    run(n, n % 2 == 0);
  }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: a profile has every instruction as often as it ran, the host deciding; "
    "other runs stay one "
    "launch") {
  if (!driver_decides()) return;
  FileBytes bytes(looping_network());
  Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, on("cuda"));
  std::vector<uint32_t> seen;
  for (int run = 0; run < 3; run++) {
    ingot_session_set_profile(
        gpu.get(),
        [](void* user, const ingot_profile_event* event) {
          static_cast<std::vector<uint32_t>*>(user)->push_back(event->instruction);
        },
        &seen);
    seen.clear();
    fill_loop(gpu, {2, 100});
    const FakeCuda before = fake_cuda();
    REQUIRE(gpu.run().ok());
    // before the loop, two iterations, behind it
    CHECK(fake_cuda().launches - before.launches == 4);
    CHECK(fake_cuda().decided == before.decided);
    CHECK(seen == std::vector<uint32_t>{0, 1, 4, 5, 6, 4, 5, 6, 3});
    CHECK(read<int64_t>(gpu.output("made")) == std::vector<int64_t>{2});
    CHECK(gpu.branch(0).taken == 2);
    ingot_session_set_profile(gpu.get(), nullptr, nullptr);
    fill_loop(gpu, {3, 100});
    CHECK(counted_run(gpu) == Counts{1, 1});
    CHECK(read<int64_t>(gpu.output("made")) == std::vector<int64_t>{3});
    CHECK(gpu.branch(0).taken == 3);
  }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: a started run is the GPU's own, and wait tells what it took and what it "
    "refused") {
  if (!driver_decides()) return;
  FileBytes bytes(looping_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda"));
  CHECK(make(model, on("cuda", INGOT_ASYNC)).requirements().outside_bytes ==
        gpu.requirements().outside_bytes);
  for (const int64_t count : {3, 0, 2}) {
    fill_loop(cpu, {count, 100});
    fill_loop(gpu, {count, 100});
    REQUIRE(cpu.run().ok());
    const FakeCuda before = fake_cuda();
    REQUIRE(gpu.start().ok());
    CHECK(fake_cuda().launches - before.launches == 1);
    CHECK(fake_cuda().waits == before.waits);
    CHECK(fake_cuda().queued == 1);
    REQUIRE(gpu.wait().ok());
    CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
    CHECK(gpu.branch(0).taken == uint64_t(count));
  }
  fill_loop(gpu, {4, -1});
  REQUIRE(gpu.start().ok());
  CHECK(gpu.wait().error().code == INGOT_CONTROL_REFUSED);
  fill_loop(gpu, {3, -1});
  REQUIRE(gpu.start().ok());  // and destroyed meanwhile
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: a pipeline queues items, one launch each, and names the item that was "
    "refused") {
  if (!driver_decides()) return;
  FileBytes bytes(looping_network());
  for (const uint32_t order : {uint32_t(kLast), kRandom + 3, kRandom + 8}) {
    const InOrder in(order);
    Model model = open_bytes_or_fail(bytes, scalar());
    const ingot_session_options session = on("cuda");
    auto made = Pipeline::create(model, with(session, 3));
    REQUIRE_MESSAGE(made.ok(), made.error().text());
    Session cpu = make(model, on("cpu"));
    uint64_t pushed = 0;
    const uint64_t launches = fake_cuda().launches;
    for (uint64_t item = 0; item < 20; item++) {
      while (made->free() && pushed < 20) {
        // every fifth is beyond the bound of 3
        const int64_t count = int64_t(pushed % 5), end = int64_t(pushed % 3);
        REQUIRE(made->push([&](Pipeline& p) {
                      std::memcpy(p.input(0)->data, &count, 8);
                      std::memcpy(p.input(1)->data, &end, 8);
                      std::memcpy(p.input(2)->data, ramp(32, float(pushed)).data(), 128);
                    })
                    .ok());
        pushed++;
      }
      const auto popped = made->pop();
      CAPTURE(item);
      if (item % 5 == 4) {
        CHECK((popped.error().code == INGOT_CONTROL_REFUSED || popped.error().instruction == 2));
      } else {
        REQUIRE(popped.ok());
        fill_loop(cpu, {int64_t(item % 5), int64_t(item % 3)});
        write(cpu.input("x"), ramp(32, float(item)));
        REQUIRE(cpu.run().ok());
        CHECK(std::memcmp(made->output(0)->data, cpu.output(0)->data, 128) == 0);
        made->release().value();
      }
    }
    CHECK(fake_cuda().launches - launches == 20);
  }
}
