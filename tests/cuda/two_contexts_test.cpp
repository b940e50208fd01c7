// SPDX-License-Identifier: Apache-2.0
// Sessions on two GPUs, and in two contexts of one: each works by itself, and what belongs to the
// other is refused by name.
#include <doctest/doctest.h>

#include <ingot/pipeline.hpp>
#include <thread>

#include "tests/cuda/session_answers.h"

using namespace ingot;
using namespace ingot::test;

namespace {

FakeCuda& two_gpus() {
  setenv("FAKE_CUDA_DEVICES", "2", 1);
  setenv("FAKE_CUDA_MIB", "64,16", 1);
  return fake_cuda();
}

bool has(const char* text, const char* part) {
  return std::string(text).find(part) != std::string::npos;
}

/// A context of the application's own, beside the primary one: a stream and memory in it.
struct Other {
  void *context = nullptr, *stream = nullptr;
  unsigned long long memory = 0;

  explicit Other(int gpu) {
    // current from here on
    REQUIRE(entry<int(void**, unsigned, int)>("cuCtxCreate_v2")(&context, 0, gpu) == 0);
    REQUIRE(entry<int(void**, unsigned)>("cuStreamCreate")(&stream, 0) == 0);
    REQUIRE(entry<int(unsigned long long*, size_t)>("cuMemAlloc_v2")(&memory, 4096) == 0);
    void* popped;
    REQUIRE(entry<int(void**)>("cuCtxPopCurrent_v2")(&popped) == 0);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  ~Other() {
    void* popped;
    entry<int(void*)>("cuCtxPushCurrent_v2")(context);
    entry<int(void*)>("cuStreamDestroy_v2")(stream);
    entry<int(void**)>("cuCtxPopCurrent_v2")(&popped);
    entry<int(void*)>("cuCtxDestroy_v2")(context);
  }
  void* at() const { return reinterpret_cast<void*>(uintptr_t(memory)); }
};

}  // namespace

TEST_CASE(
    "cuda: two GPUs: each session has its own context, modules and weights; the free memory is "
    "that of its GPU") {
  two_gpus();
  FileBytes bytes(chain_network(1000));
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    Session cpu = make(model, on("cpu")), first = make(model, on("cuda:0"));
    const uint64_t modules = fake_cuda().modules;
    Session second = make(model, on("cuda:1"));
    CHECK(fake_cuda().contexts == 2);
    CHECK(fake_cuda().modules == 2 * modules);
    CHECK(answer(first) == answer(cpu));
    CHECK(answer(second) == answer(cpu));
    CHECK(std::string(second.share(0).device) == "cuda:1");
    FileBytes large(chain_network(500'000));  // 32 MB and more
    Model wide = open_bytes_or_fail(large, scalar());
    const auto too_small = wide.session(on("cuda:1"));
    REQUIRE(!too_small.ok());
    CHECK(too_small.error().code == INGOT_OUT_OF_MEMORY);
    CHECK(std::string(too_small.error().name) == "cuda:1");
    CHECK(too_small.error().have < 16 << 20);
    CHECK(wide.session(on("cuda:0")).ok());
  }
  CHECK(alive() == "");
}

TEST_CASE("cuda: a stream of another GPU, or of nobody, is refused by name; nothing is taken") {
  two_gpus();
  FileBytes bytes(chain_network(4));
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    const Other other(1);
    const std::string before = alive();
    ingot_session_options options = on("cuda:0");
    options.gpu_stream = other.stream;
    for (const char* name : {"cuda:0", "cuda"}) {
      options.device = name;
      const auto session = model.session(options);
      REQUIRE(!session.ok());
      CHECK(session.error().code == INGOT_INVALID_ARGUMENT);
      CHECK(has(session.error().field, "of a context on another GPU"));
      CHECK(session.error().need == 0);
      CHECK(session.error().have == 1);
      CHECK(alive() == before);
    }
    options.device = "auto";  // which GPU that is, the caller of a stream knows
    CHECK(has(model.session(options).error().field, "asked for by name"));
    options.device = "cuda";
    int nothing = 0;
    options.gpu_stream = &nothing;
    const auto session = model.session(options);
    REQUIRE(!session.ok());
    CHECK(session.error().code == INGOT_INVALID_ARGUMENT);
    CHECK(has(session.error().field, "CUDA_ERROR_INVALID_HANDLE"));
    CHECK(alive() == before);
    options.gpu_stream = reinterpret_cast<void*>(uintptr_t{2});
    CHECK(has(model.session(options).error().field, "CU_STREAM_PER_THREAD"));
    CHECK(alive() == before);
    options.device = "cuda:1";
    options.gpu_stream = other.stream;
    Session right = make(model, options);
    CHECK(answer(right) == answer(right));
  }
  CHECK(alive() == "");
}

TEST_CASE(
    "cuda: two contexts of one GPU: sessions beside each other, memory of the other one is refused "
    "by name") {
  two_gpus();
  FileBytes bytes(chain_network(4));
  {
    Model model = open_bytes_or_fail(bytes, scalar());
    const Other own(0), far(1);
    ingot_session_options options = on("cuda");
    options.gpu_stream = own.stream;
    Session cpu = make(model, on("cpu"));
    const std::vector<float> expected = answer(cpu);
    {
      Session primary = make(model, on("cuda")), inside = make(model, options),
              again = make(model, options);
      CHECK(fake_cuda().contexts == 3);  // with the one on the other GPU
      CHECK(answer(primary) == expected);
      CHECK(answer(inside) == expected);
      CHECK(answer(again) == expected);
      const auto bind = [](Session& session, const Other& memory) {
        ingot_tensor tensor = session.input(0).value();
        tensor.data = memory.at();
        return session.bind_device_input(0, tensor);
      };
      const auto foreign = bind(primary, own), far_off = bind(primary, far);
      REQUIRE(!foreign.ok());
      CHECK(foreign.error().code == INGOT_INVALID_ARGUMENT);
      CHECK(has(foreign.error().field, "of another CUDA context than the session's"));
      CHECK(has(foreign.error().hint, "options.gpu_stream"));
      REQUIRE(!far_off.ok());
      CHECK(has(far_off.error().field, "of another CUDA context than the session's"));
      CHECK(answer(primary) == expected);  // as it was
      CHECK(bind(inside, own).ok());
      const std::vector<float> values = ramp(inside.input(0)->bytes / 4);
      std::memcpy(own.at(), values.data(), values.size() * 4);
      REQUIRE(inside.run().ok());
      CHECK(read<float>(inside.output(0)) == expected);
    }
  }
  CHECK(alive() == "");
}

TEST_CASE("cuda: a context that the caller has current is current after every call") {
  two_gpus();
  FileBytes bytes(chain_network(4));
  {
    const Other other(1);
    const auto push = entry<int(void*)>("cuCtxPushCurrent_v2");
    const auto pop = entry<int(void**)>("cuCtxPopCurrent_v2");
    const auto current = [] {
      void* context = nullptr;
      entry<int(void**)>("cuCtxGetCurrent")(&context);
      return context;
    };
    REQUIRE(push(other.context) == 0);
    {
      Model model = open_bytes_or_fail(bytes, scalar());
      Session gpu = make(model, on("cuda:0"));
      CHECK(current() == other.context);
      CHECK(answer(gpu) == answer(gpu));
      CHECK(current() == other.context);
      ingot_tensor tensor = gpu.input(0).value();
      tensor.data = other.at();
      CHECK(!gpu.bind_device_input(0, tensor).ok());
      CHECK(current() == other.context);
    }
    CHECK(current() == other.context);
    void* popped;
    pop(&popped);
    CHECK(popped == other.context);
    CHECK(current() == nullptr);
  }
  CHECK(alive() == "");
}

TEST_CASE(
    "cuda: with another context current, runs, started runs and pipelines are in the session's, on "
    "any thread") {
  two_gpus();
  FileBytes bytes(chain_network(4));
  {
    const Other other(1);
    Model model = open_bytes_or_fail(bytes, scalar());
    Session cpu = make(model, on("cpu"));
    const std::vector<float> expected = answer(cpu);
    Session gpu = make(model, on("cuda:0", INGOT_ASYNC));
    const ingot_session_options session = on("cuda:0");
    ingot_pipeline_options options = pipeline_options();
    options.session = &session;
    options.depth = 2;
    auto pipeline = Pipeline::create(model, options);
    REQUIRE(pipeline.ok());
    const uint64_t misuses = fake_cuda().misuses;
    const auto work = [&] {
      CHECK(answer(gpu) == expected);
      CHECK(gpu.start().ok());
      while (!gpu.has_ended()) {
      }
      CHECK(gpu.wait().ok());
      CHECK(read<float>(gpu.output(0)) == expected);
      CHECK(pipeline->push([&](Pipeline& p) { write(p.input(0), ramp(p.input(0)->bytes / 4)); })
                .ok());
      CHECK(pipeline->pop().ok());
      CHECK(read<float>(pipeline->output(0)) == expected);
      pipeline->release().value();
    };
    work();
    void* popped;
    REQUIRE(entry<int(void*)>("cuCtxPushCurrent_v2")(other.context) == 0);
    work();
    REQUIRE(entry<int(void**)>("cuCtxPopCurrent_v2")(&popped) == 0);
    CHECK(popped == other.context);
    std::thread(work).join();
    CHECK(fake_cuda().misuses == misuses);
  }
  CHECK(alive() == "");
}

TEST_CASE(
    "cuda: with another context current, whatever call fails: nothing is made in that context, and "
    "it stays current") {
  two_gpus();
  FileBytes bytes(chain_network(10));
  {
    const Other other(1);
    Model model = open_bytes_or_fail(bytes, scalar());
    void* popped;
    REQUIRE(entry<int(void*)>("cuCtxPushCurrent_v2")(other.context) == 0);
    const std::string before = alive();
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
      CAPTURE(n);
      {
        fake_cuda().fail_code = 201;
        fake_cuda().fail_at_call = n;
        auto session = model.session(on("cuda:0"));
        if (session) (void)session->run();
        reached = fake_cuda().fail_at_call == 0;
      }
      heal();
      CHECK(alive() == before);
    }
    entry<int(void**)>("cuCtxPopCurrent_v2")(&popped);
    CHECK(popped == other.context);
  }
  CHECK(alive() == "");
}
