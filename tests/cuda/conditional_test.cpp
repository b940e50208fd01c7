// SPDX-License-Identifier: Apache-2.0
// Control flow that a GPU decides inside one launch, over a driver whose graphs have conditional
// nodes: the bits of the CPU, one launch and one wait; what it cannot decide stays the host's, with
// the reason. Over older drivers (CMakeLists.txt) all of it does.
#include <doctest/doctest.h>

#include "runtime/device/cuda/driver.h"
#include "tests/cuda/branch_runs.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr Counts kOne = {1, 1};

/// The reason of the first branch; "" where the device decides.
std::string reason_of(const Session& session) {
  REQUIRE(session.branch(0).name);
  CHECK(session.branch(0).on_device == (session.branch(0).why[0] == 0));
  return session.branch(0).why;
}

/// All branches; the same of the model.
void check_all_on_device(const Model& model, const Session& session,
                         const ingot_session_options& options) {
  for (uint32_t i = 0; session.branch(i).name; i++) {
    CAPTURE(i);
    ingot_branch branch = session.branch(i), of_model{};
    CHECK(branch.on_device == 1);
    CHECK(std::string(branch.why) == "");
    CHECK(branch.launches == 0);
    CHECK(branch.waits == 0);
    of_model.size = sizeof of_model;
    REQUIRE(ingot_model_branch(model.get(), &options, i, &of_model, nullptr) == INGOT_OK);
    of_model.taken = branch.taken;
    CHECK(std::memcmp(&of_model, &branch, sizeof branch) == 0);
  }
  ingot_share share{};
  share.size = sizeof share;
  REQUIRE(ingot_model_share(model.get(), &options, 0, &share, nullptr) == INGOT_OK);
  CHECK(share.launches == 1);
  CHECK(share.waits == 1);
}

}  // namespace

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: an older driver, one without the entry points, and who asks for it leave it "
    "to the host") {
  FileBytes bytes(looping_network());
  Model model = open_bytes_or_fail(bytes, scalar());
  const auto counts_of = [&](const ingot_session_options& options, std::string* reason) {
    Session gpu = make(model, options);
    fill_loop(gpu, {3, 100});
    const Counts counts = counted_run(gpu);
    CHECK(counts == stated(gpu, 0));
    CHECK(read<int64_t>(gpu.output("made")) == std::vector<int64_t>{3});
    *reason = reason_of(gpu);
    return counts;
  };
  const std::string old = "the driver is older than CUDA 12.4, whose graphs decide nothing";
  std::string reason;
  CHECK(counts_of(on("cuda"), &reason) == (driver_decides() ? kOne : Counts{5, 5}));
  CHECK(reason == (driver_decides() ? "" : old));
  CHECK(counts_of(by_host(), &reason) == Counts{5, 5});
  CHECK(reason == "it was asked for: INGOT_HOST_BRANCHES");
  auto& table = const_cast<cuda::Driver&>(cuda::driver());
  const cuda::Driver whole = table;
  table.cuGraphAddNode_v2 = nullptr;
  CHECK(counts_of(on("cuda"), &reason) == Counts{5, 5});
  CHECK(reason == old);
  table = whole;
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: a loop is one launch and one wait, whatever its count and its condition "
    "say") {
  if (!driver_decides()) return;
  FileBytes bytes(looping_network());
  {
    const InOrder late(kLast);
    Model model = open_bytes_or_fail(bytes, scalar());
    Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda", INGOT_STRICT));
    for (const int64_t count : {0, 1, 2, 3, 2, -4})
      for (const int64_t end : {int64_t(100), int64_t(0), int64_t(1), count}) {
        CAPTURE(count);
        CAPTURE(end);
        fill_loop(cpu, {count, end});
        fill_loop(gpu, {count, end});
        REQUIRE(cpu.run().ok());
        const uint64_t decided = fake_cuda().decided;
        CHECK(counted_run(gpu) == kOne);
        CHECK(fake_cuda().decided - decided == 1);
        const std::vector<int64_t> made = read<int64_t>(cpu.output("made"));
        CHECK(read<int64_t>(gpu.output("made")) == made);
        CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
        CHECK(gpu.branch(0).taken == uint64_t(made[0]));
        CHECK(stated(gpu, 0) == kOne);
      }
    check_all_on_device(model, gpu, on("cuda"));
  }
  CHECK(fake_cuda().bus_words == 0);
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: a count that is a constant, of the program and of the weights") {
  if (!driver_decides()) return;
  for (const bool known : {true, false}) {
    CAPTURE(known);
    FileBytes bytes(counted_network(known));
    const InOrder late(kLast);
    Model model = open_bytes_or_fail(bytes, scalar());
    Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda", INGOT_STRICT));
    for (Session* s : {&cpu, &gpu}) write(s->input(0), ramp(32));
    REQUIRE(cpu.run().ok());
    CHECK(counted_run(gpu) == kOne);
    CHECK(read<float>(gpu.output(0)) == read<float>(cpu.output(0)));
    CHECK(gpu.branch(0).taken == 3);
  }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: Ifs and loops inside each other, and what each run took of them") {
  if (!driver_decides()) return;
  FileBytes bytes(nested_network());
  {
    const InOrder late(kLast);
    Model model = open_bytes_or_fail(bytes, scalar());
    Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda", INGOT_STRICT)),
            host = make(model, by_host());
    for (const bool outer : {true, false})
      for (const bool inner : {true, false})
        for (const int64_t count : {0, 1, 5})
          for (const int64_t end : {-1, 0, 3, 4}) {
            CAPTURE(outer);
            CAPTURE(inner);
            CAPTURE(count);
            CAPTURE(end);
            for (Session* s : {&cpu, &gpu, &host}) fill_nested(*s, outer, inner, {count, end});
            REQUIRE(cpu.run().ok());
            REQUIRE(host.run().ok());
            CHECK(counted_run(gpu) == kOne);
            CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
            CHECK(read<int64_t>(gpu.output("r")) == read<int64_t>(cpu.output("r")));
            for (uint32_t i = 0; i < 7; i++) CHECK(gpu.branch(i).taken == host.branch(i).taken);
          }
    check_all_on_device(model, gpu, on("cuda"));
  }
  CHECK(fake_cuda().bus_words == 0);  // an iteration asks nothing of the host's memory
}

TEST_CASE_FIXTURE(FakeDriverCase, "cuda conditional: loops inside loops keep their own counts") {
  if (!driver_decides()) return;
  FileBytes bytes(loop_in_loop_network(8, 8));
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda", INGOT_STRICT));
  for (const int64_t outer : {0, 1, 3, 8})
    for (const int64_t inner : {0, 1, 5, 8}) {
      CAPTURE(outer);
      CAPTURE(inner);
      for (Session* s : {&cpu, &gpu}) {
        write(s->input("outer"), std::vector<int64_t>{outer});
        write(s->input("inner"), std::vector<int64_t>{inner});
        write(s->input("x"), ramp(32));
      }
      REQUIRE(cpu.run().ok());
      CHECK(counted_run(gpu) == kOne);
      CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
      for (const char* name : {"i", "r"})
        CHECK(read<int64_t>(gpu.output(name)) == read<int64_t>(cpu.output(name)));
      CHECK(gpu.branch(0).taken == uint64_t(outer));
      CHECK(gpu.branch(1).taken == uint64_t(outer * inner));
    }
  // The inner count is refused in the first iteration, and no other follows.
  write(gpu.input("outer"), std::vector<int64_t>{8});
  write(gpu.input("inner"), std::vector<int64_t>{9});
  const auto refused = gpu.run();
  CHECK(refused.error().code == INGOT_CONTROL_REFUSED);
  CHECK(refused.error().instruction == gpu.branch(1).instruction);
  CHECK(gpu.branch(0).taken == 1);
  CHECK(gpu.branch(1).taken == 0);
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: a loop of too many iterations is the host's, the bounded one inside it the "
    "GPU's") {
  if (!driver_decides()) return;
  const std::string far =
      "a loop in it may go round more than 1048576 times, and nothing cancels a graph";
  FileBytes endless(looping_network((int64_t{1} << 20) + 1)),
      bounded(looping_network(int64_t{1} << 20));
  FileBytes product(loop_in_loop_network(1 << 11, 1 << 10));
  const InOrder late(kLast);
  Model many = open_bytes_or_fail(endless, scalar()), few = open_bytes_or_fail(bounded, scalar());
  Session by_cpu = make(many, on("cuda")), by_gpu = make(few, on("cuda"));
  for (Session* s : {&by_cpu, &by_gpu}) fill_loop(*s, {2, 100});
  CHECK(counted_run(by_cpu) == Counts{4, 4});
  CHECK(reason_of(by_cpu) == far);
  CHECK(counted_run(by_gpu) == kOne);
  CHECK(reason_of(by_gpu) == "");

  Model model = open_bytes_or_fail(product, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda"));
  for (Session* s : {&cpu, &gpu}) {
    write(s->input("outer"), std::vector<int64_t>{3});
    write(s->input("inner"), std::vector<int64_t>{4});
    write(s->input("x"), ramp(32));
  }
  REQUIRE(cpu.run().ok());
  const Counts counts = counted_run(gpu);
  CHECK(counts == Counts{1 + 3 + 1, 2});
  CHECK(counts == stated(gpu, 0));
  CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
  CHECK(reason_of(gpu) == far);
  CHECK(gpu.branch(1).on_device == 1);
  CHECK(gpu.branch(0).launches == 1);
  CHECK(gpu.branch(1).launches == 0);
  CHECK(gpu.branch(0).taken == 3);
  CHECK(gpu.branch(1).taken == 12);
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: what the file was not converted for ends the run, and the session stays "
    "usable") {
  if (!driver_decides()) return;
  FileBytes one_sided(one_sided_network()), looping(looping_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(one_sided, scalar());
  Session gpu = make(model, on("cuda"));
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
  }
  Model loops = open_bytes_or_fail(looping, scalar());
  Session looper = make(loops, on("cuda"));
  fill_loop(looper, {4, 100});
  const auto refused = looper.run();
  CHECK(refused.error().code == INGOT_CONTROL_REFUSED);
  CHECK(refused.error().instruction == 2);
  CHECK(refused.error().need == 3);
  CHECK(refused.error().have == 4);
  CHECK(looper.branch(0).taken == 0);
  fill_loop(looper, {3, 100});
  CHECK(looper.run().ok());
}

TEST_CASE_FIXTURE(FakeDriverCase,
                  "cuda conditional: a fault in a body ends its loop, and the run names it") {
  if (!driver_decides()) return;
  FileBytes bytes(indexing_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda"));
  for (const int64_t bad : {-1, 2, 0, -1}) {
    CAPTURE(bad);
    std::vector<int64_t> indices = {3, 1, 0, 2};
    if (bad >= 0) indices[size_t(bad)] = 99;
    for (Session* s : {&cpu, &gpu}) write(s->input("indices"), indices);
    const auto expected = cpu.run(), found = gpu.run();
    CHECK(found.ok() == (bad < 0));
    CHECK(expected.ok() == found.ok());
    CHECK(gpu.branch(0).taken == uint64_t(bad < 0 ? 4 : bad + 1));
    if (found.ok()) {
      CHECK(read<float>(gpu.output("y")) == read<float>(cpu.output("y")));
      continue;
    }
    CHECK(found.error().code == INGOT_BAD_INDEX_VALUE);
    CHECK(found.error().instruction == expected.error().instruction);
  }
}

TEST_CASE_FIXTURE(FakeDriverCase,
                  "cuda conditional: on the GPU's part of a split, each segment is one launch") {
  if (!driver_decides()) return;
  FileBytes bytes(half_lacking_network());
  const InOrder late(kLast);
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda"));
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
    CHECK(after.launches - before.launches == 1);
    CHECK(stated(gpu, 1) == Counts{after.launches - before.launches, after.waits - before.waits});
    CHECK(gpu.branch(0).taken == uint64_t(count));
    CHECK(gpu.branch(0).on_device == 1);
  }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda conditional: conditions that nobody sets, and loops that do not end, are seen") {
  if (!driver_decides()) return;
  FileBytes bytes(looping_network());
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    Session cpu = make(model, on("cpu"));
    fill_loop(cpu, {3, 100});
    REQUIRE(cpu.run().ok());
    {
      const InOrder unset(kAtOnce, "cudaGraphSetConditional");
      Session gpu = make(model, on("cuda"));
      fill_loop(gpu, {3, 100});
      REQUIRE(gpu.run().ok());
      CHECK(read<float>(gpu.output("y")) != read<float>(cpu.output("y")));
    }
    Session gpu = make(model, on("cuda"));
    fill_loop(gpu, {3, 100});
    fake_cuda().most_rounds = 2;
    const auto endless = gpu.run();
    fake_cuda().most_rounds = 0;
    CHECK(endless.error().code == INGOT_DEVICE_LOST);
    CHECK(fake_cuda().misuses == 1);
    fake_cuda().misuses = 0;
  }
  heal();
}
