// SPDX-License-Identifier: Apache-2.0
// Assignments at their edges: metadata that contradict the program, allocations that fail, several
// threads, parking.
#include <doctest/doctest.h>

#include <set>
#include <thread>

#include "runtime/device/fake/fake_device.h"
#include "tests/session/counting_allocator.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// chain_network() with what metadata say about its weights.
convert::FileSpec recorded(const std::vector<convert::SourceWeightSpec>& records) {
  convert::FileSpec file = chain_network();
  file.metadata.weights = records;
  return file;
}

convert::SourceWeightSpec record(const std::string& name, int32_t value, std::vector<int64_t> dims,
                                 const std::string& device) {
  convert::SourceWeightSpec spec;
  spec.path = {name};
  spec.dtype = "float32";
  spec.device = device;
  spec.dims = std::move(dims);
  spec.value = value;
  return spec;
}

constexpr int32_t kInput = 0, kBias = 1, kActivation = 2;  // of chain_network()

std::vector<std::string> asked(const Model& model) {
  std::vector<std::string> names;
  const auto assignment = model.assign("cpu", [&](const ingot_weight& w) -> const char* {
    std::string dims;
    for (int32_t d = 0; d < w.rank; d++) dims += " " + std::to_string(w.dims[d]);
    names.push_back(std::string(w.name) + dims + (*w.trained_on ? " on " : "") + w.trained_on);
    return nullptr;
  });
  REQUIRE(assignment.ok());
  return names;
}

}  // namespace

TEST_CASE("assignment: metadata that contradict the program name nothing that is not there") {
  using Names = std::vector<std::string>;
  const auto names = [](const std::vector<convert::SourceWeightSpec>& records) {
    FileBytes bytes(recorded(records));
    Model model = open_bytes_or_fail(bytes);
    return asked(model);
  };
  CHECK(names({}) == Names{"bias 8"});
  CHECK(names({record("b", kBias, {2, 4}, "cuda:0")}) == Names{"b 2 4 on cuda:0"});
  for (const int32_t value : {9999, INT32_MAX, kInput, kActivation})
    CHECK(names({record("b", value, {8}, "cuda:0")}) == Names{"bias 8"});
  // Dims that nothing can have: those of the constant.
  CHECK(names({record("b", kBias, {1, 1, 1, 1, 1, 1, 1, 1, 8}, "")}) == Names{"b 8"});
  CHECK(names({record("b", kBias, {-8}, "")}) == Names{"b 8"});
  CHECK(names({record("b", kBias, {INT64_MAX, INT64_MAX}, "")}).size() == 1);
  // One constant, said to be two weights.
  CHECK(names({record("q", kBias, {4}, "cpu"), record("k", kBias, {4}, "mps")}) ==
        Names{"q 4 on cpu", "k 4 on mps"});
  // Changed weights of the same name, behind wrappers or not; never in the middle of a word.
  CHECK(names({record("module.bias", -1, {8}, "cuda:3")}) == Names{"bias 8 on cuda:3"});
  CHECK(names({record("other_bias", -1, {8}, "cuda:3")}) == Names{"bias 8"});
  // More places than are kept apart, and one longer than is kept.
  std::vector<convert::SourceWeightSpec> many;
  for (int i = 0; i < 70; i++)
    many.push_back(record("w" + std::to_string(i), kBias, {8}, "cuda:" + std::to_string(i)));
  CHECK(names(many)[69] == "w69 8 on (one of many)");
  CHECK(names({record("b", kBias, {8}, std::string(100, 'x'))}) ==
        Names{"b 8 on " + std::string(31, 'x')});
}

TEST_CASE("assignment: a failed allocation is an error and leaves nothing") {
  FileBytes bytes(recorded({record("b", kBias, {8}, "cuda:0")}));
  CountingAllocator counting;
  ingot_reader reader = bytes.reader();
  ingot_open_options open = open_options(oracle_table());
  open.allocator = &counting.allocator;
  ingot_model* raw = nullptr;
  REQUIRE(ingot_model_open_reader(&reader, &open, &raw, nullptr) == INGOT_OK);
  const Model model(raw);
  const size_t held = counting.alive.size();
  int failures = 0;
  for (;; failures++) {
    counting.fail_at = counting.calls + failures + 1;
    const auto assignment = model.assign("fake:0", [](const ingot_weight&) { return "fake:1"; });
    if (assignment) break;
    CHECK(assignment.error().code == INGOT_OUT_OF_MEMORY);
    CHECK(counting.alive.size() == held);
  }
  CHECK(failures == 2);  // the metadata while it is read, and what stays
  counting.fail_at = 0;
  const auto refused = model.assign("fake:9", [](const ingot_weight&) { return nullptr; });
  CHECK(refused.error().code == INGOT_NO_SUCH_DEVICE);
  CHECK(counting.alive.size() == held);
}

TEST_CASE("assignment: sessions of one, made and run by several threads, parked and run again") {
  FileBytes bytes(chain_network(300));
  Model model = open_bytes_or_fail(bytes);
  const auto assignment = model.assign("fake:0", [](const ingot_weight&) { return "fake:1"; });
  REQUIRE(assignment.ok());
  std::vector<float> expected;
  {
    auto alone = model.session();
    write(alone->input(0), ramp(2400));
    REQUIRE(alone->run().ok());
    expected = read<float>(alone->output(0));
  }
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; i++) {
        ingot_session_options options = session_options();
        options.assignment = assignment.value().get();
        auto session = model.session(options);
        if (!session) {
          wrong[t]++;
          continue;
        }
        for (int run = 0; run < 2; run++) {
          write(session->input(0), ramp(2400));
          wrong[t] += !session->run().ok() || read<float>(session->output(0)) != expected;
          wrong[t] += !session->park().ok();
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) CHECK(count == 0);
  CHECK(fake_gpu(0).reservations + fake_gpu(1).reservations == 0);
}
