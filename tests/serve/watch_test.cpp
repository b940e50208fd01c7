// SPDX-License-Identifier: Apache-2.0
// Runs that do not end, and clients that do not wait: deadlines are kept while instances are busy,
// and nobody's run goes on for nobody.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/cli/command_line.h"
#include "tools/serve/core/served_model.h"

using namespace ingot::serve;

namespace {

/// The two models of make_endless.cpp.
struct EndlessModels {
  cli_test::Folder folder;
  std::string endless = folder / "endless/1/model.ingot",
              stubborn = folder / "stubborn/1/model.ingot";
  EndlessModels() { REQUIRE(std::system((INGOT_MAKE_ENDLESS " " + folder.path()).c_str()) == 0); }
};

ModelSettings settings_of(double run_seconds) {
  ModelSettings settings;
  settings.session.threads = 1;
  settings.session.max_run_ns = uint64_t(run_seconds * 1e9);
  return settings;
}

/// A request of zeros. @pre it has ended, or its model was destroyed, before it is
struct Asked {
  Job job;
  std::vector<uint8_t> zeros = std::vector<uint8_t>(16);
  std::atomic<bool> has_ended{false}, was_abandoned{false}, was_discarded{false}, has_left{false};

  Asked(ServedModel* model, std::vector<int64_t> dims, uint64_t timeout_ns = 0) {
    InputTensor& input = job.inputs.add();
    input.name = "x";
    input.dtype = INGOT_F32;
    input.shape.rank = int32_t(dims.size());
    std::copy(dims.begin(), dims.end(), input.shape.dims);
    REQUIRE(tensor_bytes(input.dtype, input.shape, &input.bytes));
    input.data = zeros.data();
    job.timeout_ns = timeout_ns;
    job.user = this;
    job.ended = [](void* user, Job*) { static_cast<Asked*>(user)->has_ended = true; };
    job.is_gone = [](void* user) { return static_cast<Asked*>(user)->has_left.load(); };
    job.abandoned = [](void* user) { static_cast<Asked*>(user)->was_abandoned = true; };
    job.discard = [](Job* ended) { static_cast<Asked*>(ended->user)->was_discarded = true; };
    model->submit(&job);
  }
};

bool within(double seconds, const std::atomic<bool>& flag) {
  for (int i = 0; i < seconds * 1000; i++) {
    if (flag) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return flag;
}

}  // namespace

TEST_CASE("watch: a run is stopped at its limit, and a timeout in the queue is kept meanwhile") {
  const EndlessModels models;
  ServedModel model("endless", "1", models.endless, settings_of(2));
  CHECK(!model.joins());  // the trial came to no end either
  Asked first(&model, {1, 4});
  Asked second(&model, {1, 4}, 100000000);
  CHECK(within(1.5, second.has_ended));
  CHECK(!first.has_ended);
  CHECK(second.job.why == Refusal::kDeadline);
  CHECK(second.job.error.find("while it waited") != std::string::npos);
  CHECK(within(10, first.has_ended));
  CHECK(first.job.why == Refusal::kDeadline);
  CHECK(first.job.error.find("--max-run-seconds") != std::string::npos);
  CHECK(model.statistics().late == 2);
}

TEST_CASE("watch: a run whose clients have gone ends, and is no failure") {
  const EndlessModels models;
  ServedModel model("endless", "1", models.endless, settings_of(60));
  Asked runs(&model, {1, 4}), waits(&model, {1, 4});
  while (!model.running()) std::this_thread::yield();
  waits.has_left = true;
  CHECK(within(5, waits.has_ended));
  CHECK(!runs.has_ended);
  runs.has_left = true;
  CHECK(within(5, runs.has_ended));
  CHECK(runs.job.why == Refusal::kCancelled);
  CHECK(waits.job.why == Refusal::kCancelled);
  CHECK(model.statistics().cancelled == 2);
  CHECK(model.statistics().failure.count == 0);
}

TEST_CASE("watch: a run in one instruction is given up, and its model refuses from then on") {
  const EndlessModels models;
  // Left as they are, whatever fails: its thread goes on for hours. The limit is more than the
  // instructions before the long one take on a busy machine, or the run ends behind them.
  auto* const model = new ServedModel("stubborn", "1", models.stubborn, settings_of(2));
  auto* const asked = new Asked(model, {1, 1, 1});
  REQUIRE(within(10, asked->was_abandoned));
  CHECK(!asked->has_ended);
  CHECK(model->is_stuck());
  try {
    new Asked(model, {1, 1, 1});
    FAIL("it was taken");
  } catch (const ServeError& error) {
    CHECK(error.why() == Refusal::kUnavailable);
  }
}

TEST_CASE("watch: models with more instructions than --max-run-steps are not loaded") {
  const EndlessModels models;
  ModelSettings settings = settings_of(2);
  settings.session.max_steps = 1000000;
  try {
    ServedModel model("endless", "1", models.endless, settings);
    FAIL("it was loaded");
  } catch (const ServeError& error) {
    CHECK(error.why() == Refusal::kUnsupported);
    CHECK(error.text().find("1099511627778 instructions, --max-run-steps allows 1000000") !=
          std::string::npos);
  }
}
