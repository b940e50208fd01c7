// SPDX-License-Identifier: Apache-2.0
// Sessions on a GPU, over the fake driver: one launch and one wait, the bits of the CPU, nothing
// left behind, every fault named.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <ingot/pipeline.hpp>

#include "tests/cuda/session_answers.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda: a program wholly on the GPU is one launch and one wait, with the bits of the CPU, and "
    "leaves nothing "
    "behind") {
  FileBytes bytes(chain_network(1000));
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda"));
  const std::vector<float> expected = answer(cpu);
  write(gpu.input(0), ramp(8000));
  const FakeCuda before = fake_cuda();
  for (int i = 0; i < 3; i++) REQUIRE(gpu.run().ok());
  const FakeCuda& after = fake_cuda();
  CHECK(read<float>(gpu.output(0)) == expected);
  CHECK(after.launches - before.launches == 3);
  CHECK(after.waits - before.waits == 3);
  CHECK(deeds(after) - deeds(before) == 6);      // and nothing else
  CHECK(after.switches - before.switches == 6);  // but the context made current, once a run
  CHECK(gpu.share(0).launches == 1);
  CHECK(gpu.share(0).waits == 1);
  CHECK(std::string(gpu.share(0).device) == "cuda:0");
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda: who waits for a GPU sleeps where that was asked for, in a run as in a pipeline") {
  FileBytes bytes(chain_network(1000));
  Model model = open_bytes_or_fail(bytes, scalar());
  for (const uint32_t flags : {0u, uint32_t(INGOT_BLOCKING_WAIT)}) {
    CAPTURE(flags);
    Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda", flags));
    const std::vector<float> expected = answer(cpu);
    write(gpu.input(0), ramp(8000));
    FakeCuda before = fake_cuda();
    for (int i = 0; i < 3; i++) REQUIRE(gpu.run().ok());
    CHECK(read<float>(gpu.output(0)) == expected);
    CHECK(fake_cuda().waits - before.waits == 3);
    CHECK(fake_cuda().sleeps - before.sleeps == (flags ? 3 : 0));
    const ingot_session_options options = on("cuda", flags);
    ingot_pipeline_options wanted = pipeline_options();
    wanted.session = &options;
    auto pipeline = Pipeline::create(model, wanted);
    REQUIRE(pipeline.ok());
    before = fake_cuda();
    REQUIRE(pipeline->push([](Pipeline&) {}));
    REQUIRE(pipeline->pop().ok());
    CHECK(fake_cuda().sleeps - before.sleeps == (flags ? 1 : 0));
  }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda: the arena is what requirements() says, weights are there once for all sessions") {
  FileBytes bytes(chain_network(1000));
  Model model = open_bytes_or_fail(bytes, scalar());
  ingot_requirements need = {};
  need.size = sizeof need;
  const ingot_session_options options = on("cuda");
  REQUIRE(ingot_model_requirements(model.get(), &options, &need, nullptr) == INGOT_OK);
  CHECK(fake_cuda().bytes == 0);
  Session first = make(model, options);
  CHECK(fake_cuda().bytes == need.arena_bytes + need.weights_shared);
  CHECK(fake_cuda().allocations == (need.weights_shared ? 2 : 1));
  Session second = make(model, options);
  CHECK(fake_cuda().bytes == 2 * need.arena_bytes + need.weights_shared);
  CHECK(answer(first) == answer(second));
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda: what the GPU has no kernel for runs on the CPU, with exactly the stated launches and "
    "waits; strict "
    "refuses") {
  FileBytes bytes(split_network());
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda"));
  const std::vector<float> expected = answer(cpu);
  const FakeCuda before = fake_cuda();
  CHECK(answer(gpu) == expected);
  const FakeCuda& after = fake_cuda();
  const ingot_share share = gpu.share(1);
  CHECK(std::string(share.device) == "cuda:0");
  CHECK(share.instructions == 2);
  CHECK(gpu.share(0).instructions == 2);  // without weights it stays where what it reads was made
  CHECK(after.launches - before.launches == share.launches);
  CHECK(after.waits - before.waits == share.waits);
  CHECK(after.uploads - before.uploads == share.uploads);
  CHECK(after.downloads - before.downloads == share.downloads);
  const auto strict = model.session(on("cuda", INGOT_STRICT));
  REQUIRE(!strict.ok());
  CHECK(strict.error().code == INGOT_NO_KERNEL);
  CHECK(strict.error().instruction == 2);
  CHECK(std::string(strict.error().name) == "e");
  CHECK(std::string(strict.error().field) ==
        "strict: the device has no kernel for this operator with these types");
  auto assignment =
      model.assign("cuda", [](const ingot_weight&) -> const char* { return nullptr; });
  REQUIRE(assignment.ok());
  const std::pair<int, const char*> expected_reasons[] = {
      {1, "the session's device"},
      {1, "the session's device"},
      {0, "the device has no kernel for this operator with these types"},
      {0, "it reads no weight, and what it reads was made there"}};
  for (uint32_t i = 0; i < 4; i++) {
    CHECK(assignment->device_of(i) == expected_reasons[i].first);
    CHECK(std::string(assignment->reason_of(i)) == expected_reasons[i].second);
  }
  CHECK(assignment->device_of(4) == -1);
  CHECK(std::string(assignment->reason_of(4)).empty());
}

TEST_CASE_FIXTURE(FakeDriverCase,
                  "cuda: a GPU with nothing to do is refused with what to do; auto takes the CPU") {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  convert::ValueSpec from = input("x", {4, 8}), to = output("y", {4, 8});
  from.dtype = to.dtype = DType::kF64;
  const int32_t x = p.add_value(from), y = p.add_value(to);
  ElementwiseAttributes exp = step(ElementwiseOp::kExp);
  exp.compute = ComputeType::kF64;
  p.add_instruction(exp, {x}, {y});
  add_ports(&file);
  FileBytes bytes(file);
  Model model = open_bytes_or_fail(bytes, scalar());
  const auto refused = model.session(on("cuda"));
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == INGOT_NO_KERNEL);
  CHECK(refused.error().instruction == 0);
  const std::string text = refused.error().text();
  CHECK(text.find("no kernel for any instruction") != std::string::npos);
  CHECK(text.find("use the device auto or cpu") != std::string::npos);
  CHECK(model.session(on("auto")).ok());
}

TEST_CASE(
    "cuda: every call of the driver fails in turn: a named error, nothing leaked, the session "
    "usable or dead") {
  fake_cuda();
  for (const bool split : {false, true})
    for (const int code : {2, 1, 700, 719}) {
      FileBytes bytes(split ? split_network() : chain_network(10));
      std::vector<float> expected;
      {
        Model model = open_bytes_or_fail(bytes, scalar());
        Session cpu = make(model, on("cpu"));
        expected = answer(cpu);
      }
      bool reached = true;
      int faults = 0;
      for (uint64_t n = 1; reached; n++) {
        CAPTURE(code);
        CAPTURE(n);
        CAPTURE(split);
        {
          Model model = open_bytes_or_fail(bytes, scalar());
          fake_cuda().fail_code = code;
          fake_cuda().fail_at_call = n;
          auto session = model.session(on("cuda"));
          if (!session) {
            CHECK(session.error().code >= INGOT_ARENA_TOO_SMALL);
            CHECK(session.error().field[0] != 0);
            reached = fake_cuda().fail_at_call == 0;
            CHECK(reached);
          } else {
            write(session->input(0), ramp(expected.size()));
            const auto ran = session->run();
            if (ran.ok()) {
              CHECK(read<float>(session->output(0)) == expected);
            } else {
              CHECK((ran.error().code == INGOT_DEVICE_LOST ||
                     ran.error().code == INGOT_OUT_OF_MEMORY));
              CHECK(std::string(ran.error().name) == "cuda:0");
            }
            const bool sticky = fake_cuda().sticky != 0;
            // else nothing failed: the session's end is all that is left
            reached = fake_cuda().fail_at_call == 0;
            fake_cuda().fail_at_call = 0;
            const auto again = session->run();
            if (!ran.ok() && ran.error().code == INGOT_DEVICE_LOST)
              CHECK(again.error().code == INGOT_WRONG_STATE);  // dead
            if (ran.ok() && !sticky) CHECK(again.ok());
          }
          faults++;
        }
        heal();
        CHECK(alive() == "");
      }
      CHECK(faults > 20);
    }
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "cuda: an arena larger than the free memory names both numbers, and takes nothing") {
  FileBytes bytes(chain_network(200'000'000));
  Model model = open_bytes_or_fail(bytes, scalar());
  const auto session = model.session(on("cuda"));
  REQUIRE(!session.ok());
  CHECK(session.error().code == INGOT_OUT_OF_MEMORY);
  ingot_requirements need = {};
  need.size = sizeof need;
  const ingot_session_options options = on("cuda");
  REQUIRE(ingot_model_requirements(model.get(), &options, &need, nullptr) == INGOT_OK);
  CHECK(session.error().need == need.arena_bytes + need.weights_shared);
  CHECK(session.error().need > 12'000'000'000);
  CHECK(session.error().have <= session.error().need);
  if (!is_integrated()) CHECK(session.error().have == uint64_t{4096} << 20);
  CHECK(session.error().hint[0] != 0);
}

TEST_CASE(
    "cuda: free memory of a GPU that shares the CPU's is what the system can make free, unless the "
    "driver has refused "
    "less") {
  fake_cuda();
  std::ifstream file("/proc/meminfo");
  uint64_t available = 0;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("MemAvailable:", 0) == 0) available = std::stoull(line.substr(13)) * 1024;
  REQUIRE(available > 0);
  for (const uint64_t bytes : {available * 2, uint64_t{5} << 30}) {  // the fake driver gives 4 GiB
    FileBytes chain(chain_network(int64_t(bytes / 64)));
    Model model = open_bytes_or_fail(chain, scalar());
    const auto session = model.session(on("cuda"));
    REQUIRE(!session.ok());
    CHECK(session.error().code == INGOT_OUT_OF_MEMORY);
    CHECK(session.error().have < session.error().need);
    const bool is_systems =
        is_integrated() && available > uint64_t{4} << 30 && available < session.error().need;
    if (is_systems)  // it moves while we look
      CHECK(session.error().have > available / 2);
    else if (!is_integrated())
      CHECK(session.error().have == uint64_t{4096} << 20);
  }
}

TEST_CASE("cuda: names of devices that are not there") {
  fake_cuda();
  FileBytes bytes(chain_network(4));
  Model model = open_bytes_or_fail(bytes, scalar());
  for (const char* name : {"cuda:1", "cuda:99999999999", "cuda:", "cuda:x", "cudas"}) {
    CAPTURE(name);
    const auto session = model.session(on(name));
    REQUIRE(!session.ok());
    CHECK(session.error().code == INGOT_NO_SUCH_DEVICE);
    CHECK(std::string(session.error().name) == name);
    CHECK(session.error().hint[0] != 0);
  }
}

TEST_CASE(
    "cuda: memory of the device is read and written where it is; other memory is refused by name") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(4));
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    Session cpu = make(model, on("cpu")), gpu = make(model, on("cuda")),
            other = make(model, on("cuda"));
    const std::vector<float> expected = answer(cpu);
    // Another session's port is pinned memory of the host; its arena is not to be had. The driver's
    // own entry points give device memory.
    const auto push = entry<int(void*)>("cuCtxPushCurrent_v2");
    const auto pop = entry<int(void**)>("cuCtxPopCurrent_v2");
    const auto allocate = entry<int(unsigned long long*, size_t)>("cuMemAlloc_v2");
    const auto release = entry<int(unsigned long long)>("cuMemFree_v2");
    const auto retain = entry<int(void**, int)>("cuDevicePrimaryCtxRetain");
    const auto drop = entry<int(int)>("cuDevicePrimaryCtxRelease_v2");
    void *context = nullptr, *popped = nullptr;
    unsigned long long in = 0, out = 0;
    REQUIRE(retain(&context, 0) == 0);
    push(context);
    REQUIRE(allocate(&in, 128) == 0);
    REQUIRE(allocate(&out, 128) == 0);
    pop(&context);
    const std::vector<float> values = ramp(32);
    std::memcpy(reinterpret_cast<void*>(uintptr_t(in)), values.data(), 128);
    ingot_tensor tensor = gpu.input(0).value();
    tensor.data = reinterpret_cast<void*>(uintptr_t(in));
    REQUIRE(gpu.bind_device_input(0, tensor).ok());
    tensor = gpu.output(0).value();
    tensor.data = reinterpret_cast<void*>(uintptr_t(out));
    REQUIRE(gpu.bind_device_output(0, tensor).ok());
    const uint64_t graphs = fake.execs;
    REQUIRE(gpu.run().ok());
    CHECK(fake.execs == graphs);
    CHECK(std::memcmp(reinterpret_cast<void*>(uintptr_t(out)), expected.data(), 128) == 0);

    alignas(64) static float host[32];
    const auto refused = [&](void* data, ingot_code code) {
      tensor.data = data;
      const auto bound = gpu.bind_device_input(0, tensor);
      REQUIRE(!bound.ok());
      CHECK(bound.error().code == code);
      CHECK(bound.error().field[0] != 0);
    };
    refused(host, INGOT_INVALID_ARGUMENT);
    refused(other.input(0)->data, INGOT_INVALID_ARGUMENT);
    refused(reinterpret_cast<void*>(uintptr_t(in) + 4), INGOT_MISALIGNED);
    refused(nullptr, INGOT_INVALID_ARGUMENT);
    refused(reinterpret_cast<void*>(uintptr_t(in) + 64),
            INGOT_INVALID_ARGUMENT);  // the allocation ends before the tensor
    tensor.bytes = UINT64_MAX;
    refused(reinterpret_cast<void*>(uintptr_t(in)), INGOT_INVALID_ARGUMENT);
    tensor.bytes = 64;
    refused(reinterpret_cast<void*>(uintptr_t(in)), INGOT_SHAPE_MISMATCH);
    tensor.bytes = 128;
    tensor.data = reinterpret_cast<void*>(uintptr_t(in));
    CHECK(cpu.bind_device_input(0, tensor).error().code == INGOT_WRONG_STATE);

    // Back to the arena: the port's own memory again.
    REQUIRE(ingot_session_bind_input(gpu.get(), 0, nullptr, nullptr) == INGOT_OK);
    REQUIRE(ingot_session_bind_output(gpu.get(), 0, nullptr, nullptr) == INGOT_OK);
    CHECK(answer(gpu) == expected);
    for (unsigned long long at : {in, out}) {
      push(context);
      release(at);
      pop(&popped);
    }
    drop(0);
  }
  CHECK(alive() == "");
}

TEST_CASE_FIXTURE(FakeDriverCase, "cuda: a stream of the caller's is used, and stays his") {
  const auto push = entry<int(void*)>("cuCtxPushCurrent_v2");
  const auto pop = entry<int(void**)>("cuCtxPopCurrent_v2");
  const auto retain = entry<int(void**, int)>("cuDevicePrimaryCtxRetain");
  const auto drop = entry<int(int)>("cuDevicePrimaryCtxRelease_v2");
  const auto create = entry<int(void**, unsigned)>("cuStreamCreate");
  const auto destroy = entry<int(void*)>("cuStreamDestroy_v2");
  void *context, *stream, *popped;
  REQUIRE(retain(&context, 0) == 0);
  push(context);
  REQUIRE(create(&stream, 0) == 0);
  pop(&popped);
  FileBytes bytes(chain_network(4));
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    ingot_session_options options = on("cuda");
    options.gpu_stream = stream;
    Session gpu = make(model, options), cpu = make(model, on("cpu"));
    CHECK(fake_cuda().streams == 1);
    CHECK(answer(gpu) == answer(cpu));
    options.device = "cpu";
    CHECK(model.session(options).error().code == INGOT_INVALID_ARGUMENT);
  }
  CHECK(fake_cuda().streams == 1);
  push(context);
  destroy(stream);
  pop(&popped);
  drop(0);
}

TEST_CASE("cuda: the child of a fork is told, and the parent goes on") {
  fake_cuda();
  FileBytes bytes(chain_network(4));
  Model model = open_bytes_or_fail(bytes, scalar());
  Session gpu = make(model, on("cuda"));
  const std::vector<float> expected = answer(gpu);
  const pid_t child = fork();
  if (child == 0) {
    const auto ran = gpu.run();
    const auto made = model.session(on("cuda"));
    const bool told = !ran.ok() && ran.error().code == INGOT_DEVICE_LOST && !made.ok() &&
                      made.error().code == INGOT_WRONG_STATE;
    auto on_cpu = model.session(on("auto"));  // what nobody asked for is passed over
    const bool went_on = on_cpu.ok() && answer(*on_cpu) == expected;
    _exit(told && went_on && std::string(on_cpu->share(0).device) == "cpu" ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(answer(gpu) == expected);
}

TEST_CASE(
    "cuda: a lost GPU stays lost while any session on it is left; afterwards a new one has a new "
    "context") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(4));
  Model model = open_bytes_or_fail(bytes, scalar());
  std::vector<float> expected;
  {
    Session first = make(model, on("cuda")), second = make(model, on("cuda"));
    expected = answer(first);
    fake.fail_code = 700;
    fake.fail_at_call = 2;  // the launch
    CHECK(first.run().error().code == INGOT_DEVICE_LOST);
    CHECK(second.run().error().code == INGOT_DEVICE_LOST);
    const auto again = model.session(on("cuda"));
    REQUIRE(!again.ok());
    CHECK(again.error().code >= INGOT_NO_SUCH_DEVICE);
    CHECK(std::string(again.error().field) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  }
  CHECK(fake.sticky == 0);
  Session again = make(model, on("cuda"));
  CHECK(answer(again) == expected);
}
