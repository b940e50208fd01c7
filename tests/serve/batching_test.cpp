// SPDX-License-Identifier: Apache-2.0
// Requests that are joined: the same bits as alone, no memory taken on the way, and only the one at
// fault fails.
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "tests/cli/command_line.h"
#include "tools/serve/core/served_model.h"

namespace {
std::atomic<bool> counts{false};
std::atomic<size_t> allocations{0};
}  // namespace

// Not in line: GCC 12 takes the pair for a mismatch.
__attribute__((noinline)) void* operator new(size_t bytes) {
  if (counts) allocations++;
  if (void* memory = malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { free(memory); }

using namespace ingot::serve;

namespace {

/// Waits for as many jobs as were submitted.
class Ended {
 public:
  static void call(void* user, Job*) {
    Ended& self = *static_cast<Ended*>(user);
    const std::lock_guard<std::mutex> lock(self.mutex_);
    self.count_++;
    self.changed_.notify_all();
  }
  void wait(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
    count_ -= count;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t count_ = 0;
};

/// Rows of four floats, the input of tests/cli/data/batch.onnx.
void fill(Job* job, const std::vector<float>& rows, Ended* ended) {
  job->clear();
  InputTensor& input = job->inputs.add();
  input.name = "x";
  input.dtype = INGOT_F32;
  input.shape.rank = 2;
  input.shape.dims[0] = int64_t(rows.size() / 4);
  input.shape.dims[1] = 4;
  input.data = reinterpret_cast<const uint8_t*>(rows.data());
  input.bytes = rows.size() * 4;
  job->ended = Ended::call;
  job->user = ended;
}

std::vector<float> rows_of(size_t count, float first) {
  std::vector<float> rows(count * 4);
  for (size_t i = 0; i < rows.size(); i++) rows[i] = first + float(i) * 0.37f;
  return rows;
}

}  // namespace

TEST_CASE("batching: requests of several rows in one run, the bits that each has alone") {
  const cli_test::Folder folder;
  ModelSettings settings;
  settings.session.threads = 1;
  settings.delay_ns = 200000000;
  ServedModel joined("batch", "1", cli_test::converted(folder, "batch"), settings);
  settings.joins = false;
  settings.delay_ns = 0;
  ServedModel alone("batch", "1", folder / "batch.ingot", settings);
  CHECK(joined.joins());
  CHECK(!alone.joins());
  Ended ended;
  const size_t rows[] = {1, 3, 2, 2};  // eight
  Job together[4], single[4];
  std::vector<float> inputs[4];
  for (size_t i = 0; i < 4; i++) {
    inputs[i] = rows_of(rows[i], float(i) - 1.5f);
    fill(&together[i], inputs[i], &ended), fill(&single[i], inputs[i], &ended);
    joined.submit(&together[i]), alone.submit(&single[i]);
  }
  ended.wait(8);
  for (size_t i = 0; i < 4; i++) {
    CHECK(!together[i].failed);
    CHECK(together[i].outputs[0].shape.dims[0] == int64_t(rows[i]));
    CHECK(together[i].outputs[0].elements.size() == rows[i] * 3 * 4);
    CHECK(together[i].outputs[0].elements == single[i].outputs[0].elements);
  }
  const Statistics statistics = joined.statistics();
  CHECK(statistics.executions == 1);
  CHECK(statistics.inferences == 8);
  CHECK(alone.statistics().executions == 4);
}

TEST_CASE("batching: from submit to the result nothing is allocated") {
  const cli_test::Folder folder;
  ModelSettings settings;
  settings.session.threads = 1;
  ServedModel model("batch", "1", cli_test::converted(folder, "batch"), settings);
  Ended ended;
  Job jobs[4];
  const std::vector<float> rows = rows_of(2, 0.5f);
  const auto turn = [&](size_t count) {
    for (size_t i = 0; i < count; i++) fill(&jobs[i], rows, &ended), model.submit(&jobs[i]);
    ended.wait(count);
  };
  for (int i = 0; i < 200; i++) turn(size_t(i % 4) + 1);
  counts = true;
  for (int i = 0; i < 200; i++) turn(size_t(i % 4) + 1);
  counts = false;
  CHECK(allocations == 0);
  for (const Job& job : jobs) CHECK(!job.failed);
}

TEST_CASE("batching: of joined requests only the one whose shared memory is gone fails") {
  const cli_test::Folder folder;
  ModelSettings settings;
  settings.session.threads = 1;
  settings.delay_ns = 100000000;
  ServedModel model("batch", "1", cli_test::converted(folder, "batch"), settings);
  Ended ended;
  Job good, bad;
  const std::vector<float> rows = rows_of(1, 2);
  fill(&good, rows, &ended), fill(&bad, rows, &ended);
  FILE* const empty = tmpfile();
  bad.inputs[0].region = std::make_shared<Region>("r", "/r", dup(fileno(empty)), 0, 16);
  fclose(empty);
  model.submit(&good), model.submit(&bad);
  ended.wait(2);
  CHECK(!good.failed);
  CHECK(bad.failed);
  CHECK(bad.why == Refusal::kInvalid);
  CHECK(bad.error.find("became shorter") != std::string::npos);
}
