// SPDX-License-Identifier: Apache-2.0
// tests/cuda/auto_test.cpp - "auto" where a GPU is there but a session cannot be made on it: the
// CPU, with the reason in the placement; asked for by name it is an error (session_test.cpp).
#include <doctest/doctest.h>

#include <string>

#include "tests/cuda/session_answers.h"
#include "tests/support/log_lines.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// Of 80 million elements: more than the 4 GiB of the fake GPU.
constexpr int64_t kTooMany = 80'000'000;

bool is_of_cpu(const ingot_share& share) {
  return std::string(share.device) == "cpu" &&
         std::string(share.reason).rfind("auto: the GPU ", 0) == 0;
}

/// Every call of the driver that making something makes fails in turn, with each of these codes.
template <class Make>
void fail_each_call(const Model& model, Make make) {
  // What finds the GPU is asked once in a process, and not meant here.
  { const Session found = ingot::test::make(model, on("cuda")); }
  for (const int code : {2, 1, 719}) {
    int by_cpu = 0;
    for (uint64_t n = 1;; n++) {
      CAPTURE(code);
      CAPTURE(n);
      fake_cuda().fail_code = code;
      fake_cuda().fail_at_call = n;
      const bool reached = make(&by_cpu);
      fake_cuda().fail_at_call = 0;
      heal();
      CHECK(alive() == "");
      if (!reached) break;
    }
    CHECK(by_cpu > 10);
  }
}

}  // namespace

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "auto: a GPU without enough free memory is passed over, and the placement says so") {
  if (is_integrated()) return;  // has the memory of this machine
  FileBytes bytes(chain_network(kTooMany));
  Model model = open_bytes_or_fail(bytes, scalar());
  CHECK(model.session(on("cuda")).error().code == INGOT_OUT_OF_MEMORY);
  for (const uint32_t flags : {0u, uint32_t(INGOT_STRICT)}) {
    auto session = model.session(on("auto", flags));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    CHECK(is_of_cpu(session->share(0)));
    CHECK(std::string(session->share(0).reason).find("memory") != std::string::npos);
    CHECK(session->requirements().device_bytes == 0);
  }
  ingot_session_options limited = on("auto");
  limited.arena_bytes = 4096;
  // a limit is not the GPU's fault
  CHECK(model.session(limited).error().code == INGOT_ARENA_TOO_SMALL);
}

TEST_CASE(
    "auto: whatever call of the driver fails while a session is made, there is one, and its "
    "numbers are right") {
  fake_cuda();
  for (const bool split : {false, true}) {
    CAPTURE(split);
    FileBytes bytes(split ? split_network() : chain_network(10));
    Model model = open_bytes_or_fail(bytes, scalar());
    std::vector<float> expected;
    {
      Session cpu = make(model, on("cpu"));
      expected = answer(cpu);
    }
    fail_each_call(model, [&](int* by_cpu) {
      auto session = model.session(on("auto"));
      const bool reached = fake_cuda().fail_at_call == 0;
      fake_cuda().fail_at_call = 0;
      REQUIRE_MESSAGE(session.ok(), session.error().text());
      if (is_of_cpu(session->share(0))) {
        CHECK(reached);
        ++*by_cpu;
      } else if (reached) {
        return true;  // what failed was of no account, or is the next run's to tell
      }
      CHECK(answer(*session) == expected);
      return reached;
    });
  }
}

TEST_CASE("auto: a pipeline that cannot be made on the GPU is the CPU's, slots and all") {
  fake_cuda();
  FileBytes bytes(chain_network(8));
  Model model = open_bytes_or_fail(bytes, scalar());
  fail_each_call(model, [&](int* by_cpu) {
    const ingot_session_options options = on("auto");
    auto pipeline = Pipeline::create(model, with(options, 2));
    const bool reached = fake_cuda().fail_at_call == 0;
    fake_cuda().fail_at_call = 0;
    REQUIRE_MESSAGE(pipeline.ok(), pipeline.error().text());
    if (alive() != "") return reached;  // on the GPU after all
    ++*by_cpu;
    CHECK(wrong_items(*pipeline, 5) == 0);
    return reached;
  });
}

TEST_CASE("log: a GPU that was given up for the CPU, with the error that it gave") {
  fake_cuda();
  if (is_integrated()) return;  // has the memory of this machine
  LogLines log;
  FileBytes bytes(chain_network(kTooMany));
  Model model = log.open(bytes, scalar());
  const ingot::Error error = model.session(on("cuda")).error();
  CHECK(log.lines.empty());  // errors are returned
  REQUIRE(model.session(on("auto")).ok());
  REQUIRE(log.warnings().size() == 1);
  CHECK(log.warnings()[0] == "session on cpu in place of a GPU: " + error.text());
  CHECK(log.has_info("session on cpu: auto: the GPU has not enough memory free"));
  log.lines.clear();
  CHECK(model.session(on("auto", INGOT_STRICT)).ok());
  auto pipeline = Pipeline::create(model, with(on("auto"), 2));
  REQUIRE(pipeline.ok());
  CHECK(log.warnings().size() == 2);
}

TEST_CASE("log: the GPU, its driver, what limits it, and instructions that the CPU runs") {
  fake_cuda();
  LogLines log;
  FileBytes bytes(split_network());
  Model model = log.open(bytes, scalar());
  REQUIRE(model.session(on("cuda")).ok());
  CHECK(log.has_info("session on cpu, cuda:0: "));
  CHECK(log.has_info("cuda:0: "));
  CHECK(log.has_info(INGOT_FAKE_CUDA));
  CHECK(log.has_info(" for CUDA "));
  const std::vector<std::string> warnings = log.warnings();
  REQUIRE(warnings.size() == (has_graphs() ? 1 : 2));
  CHECK(warnings.back() ==
        "2 of 4 instructions run on the CPU; instruction 2 elementwise 'e': the device has no "
        "kernel for this operator with these types");
  if (!has_graphs())
    CHECK(warnings[0] ==
          "cuda:0: INGOT_CUDA_GRAPHS or INGOT_CUDA_SERIAL limits its graphs to 'none'");
}
