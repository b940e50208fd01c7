// SPDX-License-Identifier: Apache-2.0
// A model with state: each sequence goes on from its own last request, whatever others do between
// and beside them, on several sessions.
#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include "tests/cli/command_line.h"
#include "tools/serve/core/served_model.h"

using namespace ingot::serve;

namespace {

std::string model_with_state(const cli_test::Folder& folder) {
  const std::string model = folder / "kept.ingot";
  const cli_test::Ran ran =
      cli_test::run({"convert", cli_test::data("stream.onnx"), "--state", "s=sn", "-o", model});
  CAPTURE(ran.err);
  REQUIRE(ran.exit == 0);
  return model;
}

/// A request to a model, with elements that its number gives, and what came of it.
class Request {
 public:
  Request(ServedModel* model, std::string sequence, int number, bool starts, bool ends = false) {
    for (const ingot_value_type& type : model->ports().inputs()) {
      InputTensor& input = job_.inputs.add();
      input.name = type.name;
      input.dtype = type.dtype;
      input.shape.rank = type.rank;
      for (int32_t d = 0; d < type.rank; d++)
        input.shape.dims[d] = std::max<int64_t>(type.dims[d], 1);
      REQUIRE(tensor_bytes(type.dtype, input.shape, &input.bytes));
      REQUIRE(type.dtype == INGOT_F32);
      input.converted.resize(input.bytes);
      for (size_t i = 0; i < input.bytes / 4; i++) {
        const float element = float((number * 31 + int(i) * 7) % 23) / 11 - 1;
        memcpy(input.converted.data() + i * 4, &element, 4);
      }
      input.data = input.converted.data();
    }
    job_.sequence_id = std::move(sequence);
    job_.starts_sequence = starts;
    job_.ends_sequence = ends;
    job_.user = this;
    job_.ended = [](void* user, Job*) {
      Request& self = *static_cast<Request*>(user);
      const std::lock_guard<std::mutex> lock(self.mutex_);
      self.has_ended_ = true;
      self.changed_.notify_all();
    };
    model->submit(&job_);
  }
  const std::vector<uint8_t>& answer() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return has_ended_; });
    CAPTURE(job_.error);
    REQUIRE(!job_.failed);
    return job_.outputs[0].elements;
  }

 private:
  Job job_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_ended_ = false;
};

Refusal refusal(ServedModel* model, const std::string& sequence, bool starts) {
  try {
    Request request(model, sequence, 0, starts);
    request.answer();
  } catch (const ServeError& error) {
    return error.why();
  }
  return Refusal::kInternal;
}

}  // namespace

TEST_CASE("sequences: interleaved on two sessions, each as by itself") {
  const cli_test::Folder folder;
  ModelSettings settings;
  settings.session.threads = 1;
  ServedModel alone("kept", "1", model_with_state(folder), settings);
  settings.instances = 2;
  ServedModel model("kept", "1", folder / "kept.ingot", settings);
  const int kSequences = 5, kSteps = 6;
  std::vector<std::vector<std::vector<uint8_t>>> expected(kSequences);
  for (int s = 0; s < kSequences; s++)
    for (int i = 0; i < kSteps; i++)
      expected[size_t(s)].push_back(
          Request(&alone, "only", s * 100 + i, i == 0, i + 1 == kSteps).answer());
  CHECK(expected[0][1] != Request(&alone, "only", 1, true).answer());  // the state matters
  std::vector<std::unique_ptr<Request>> requests;                      // all at once
  for (int i = 0; i < kSteps; i++)
    for (int s = 0; s < kSequences; s++)
      requests.push_back(std::make_unique<Request>(&model, "s" + std::to_string(s), s * 100 + i,
                                                   i == 0, i + 1 == kSteps));
  for (int i = 0; i < kSteps; i++)
    for (int s = 0; s < kSequences; s++) {
      CAPTURE(i);
      CAPTURE(s);
      CHECK(requests[size_t(i * kSequences + s)]->answer() == expected[size_t(s)][size_t(i)]);
    }
  CHECK(refusal(&model, "s0", false) == Refusal::kInvalid);  // it has ended
}

TEST_CASE("sequences: not begun, forgotten, begun again, too many, none") {
  const cli_test::Folder folder;
  ModelSettings settings;
  settings.session.threads = 1;
  settings.max_sequences = 2;
  settings.sequence_idle_ns = 50000000;
  ServedModel model("kept", "1", model_with_state(folder), settings);
  CHECK(refusal(&model, "", false) == Refusal::kInvalid);
  CHECK(refusal(&model, "a", false) == Refusal::kInvalid);
  const std::vector<uint8_t> first = Request(&model, "a", 1, true).answer();
  CHECK(Request(&model, "a", 1, false).answer() != first);
  CHECK(Request(&model, "a", 1, true).answer() == first);
  Request(&model, "b", 1, true).answer();
  CHECK(refusal(&model, "c", true) == Refusal::kBusy);
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  CHECK(refusal(&model, "a", false) == Refusal::kInvalid);
  CHECK(Request(&model, "c", 1, true).answer() == first);
}
