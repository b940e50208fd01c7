// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/job.h - one inference on its way through the server: what the client sent, what
// it wants, what came of it. Jobs are used again, and keep their memory.
// Threads  one at a time: the protocol's until submit(), the model's until `ended` is called.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/include/ingot/ingot.h"
#include "tools/serve/core/reused_list.h"
#include "tools/serve/core/sequences.h"
#include "tools/serve/core/serve_error.h"
#include "tools/serve/core/shared_regions.h"

namespace ingot::serve {

struct Extents {
  int32_t rank = 0;
  int64_t dims[INGOT_MAX_RANK] = {};
};

struct InputTensor {
  std::string name;
  ingot_dtype dtype = INGOT_INVALID_DTYPE;
  Extents shape;
  // its elements, row-major: in the request's body or in `converted`, or in shared memory
  const uint8_t* data = nullptr;
  uint64_t bytes = 0;
  std::shared_ptr<Region> region;
  uint64_t region_offset = 0;
  std::vector<uint8_t> converted;
  uint32_t port = 0;  // set by ServedModel::prepare()
};

struct OutputTensor {
  std::string name;
  bool is_binary = false;  // HTTP: behind the JSON, not in it
  std::shared_ptr<Region> region;
  uint64_t region_offset = 0, region_bytes = 0;
  uint32_t port = 0;
  // what came of it; elements are empty where they went into shared memory
  ingot_dtype dtype = INGOT_INVALID_DTYPE;
  Extents shape;
  std::vector<uint8_t> elements;
};

class ServedModel;
class JobPool;

struct Job {
  std::string model, version, id;  // as the client named them
  ReusedList<InputTensor> inputs;
  ReusedList<OutputTensor> outputs;  // empty: all
  bool outputs_are_binary = false;   // of those that are not named
  uint64_t timeout_ns = 0;           // 0: none
  std::string sequence_id;           // of a model with state; "": none
  bool starts_sequence = false, ends_sequence = false;
  std::vector<uint8_t> body;  // of the request, which `data` of inputs may point into

  // Of ServedModel.
  std::shared_ptr<ServedModel> served;
  std::shared_ptr<Sequence> sequence;
  std::vector<int64_t> symbols;  // extents that the inputs give; 0 of those that none gives
  int64_t rows = 1;              // of the batch's symbol
  uint64_t deadline_ns = 0;      // of ingot_clock_ns(); 0: none
  uint64_t queued_ns = 0, started_ns = 0, run_ns = 0, ran_ns = 0, ended_ns = 0;
  Job* next = nullptr;  // in the queue

  bool failed = false;
  Refusal why = Refusal::kInternal;
  std::string error;
  /// Called once when the job has ended, on a thread of the model's. It may not wait.
  void (*ended)(void* user, Job* job) = nullptr;
  /// Whether nobody waits for the answer any more. May be null. Asked by a thread of the model's
  /// until the job has ended. It may not wait.
  bool (*is_gone)(void* user) = nullptr;
  /// Called instead of `ended` where a run goes on beyond its deadline, in one instruction: the job
  /// is the model's from then on, which calls `discard` when the run has ended. Both may be null:
  /// then `ended` comes with the run's end. Inputs lie in the job itself.
  void (*abandoned)(void* user) = nullptr;
  void (*discard)(Job* job) = nullptr;
  JobPool* pool = nullptr;  // of `discard`
  void* user = nullptr;
  std::atomic<bool> gone{false};  // is_gone() said so
  bool is_abandoned = false;

  void fail(Refusal refusal, const std::string& text) {
    failed = true;
    why = refusal;
    error = text;
  }
  /// What it keeps for the next request.
  uint64_t kept_bytes() const {
    uint64_t bytes = body.capacity();
    for (const InputTensor& input : inputs) bytes += input.converted.capacity();
    for (const OutputTensor& output : outputs) bytes += output.elements.capacity();
    for (const std::string* text : {&model, &version, &id, &error, &sequence_id})
      bytes += text->capacity();
    for (const InputTensor& input : inputs) bytes += input.name.capacity();
    for (const OutputTensor& output : outputs) bytes += output.name.capacity();
    return bytes;
  }
  void clear() {
    model.clear(), version.clear(), id.clear(), error.clear(), sequence_id.clear();
    for (InputTensor& input : inputs) input.region.reset();
    for (OutputTensor& output : outputs) output.region.reset();
    inputs.clear(), outputs.clear();
    outputs_are_binary = failed = starts_sequence = ends_sequence = false;
    timeout_ns = deadline_ns = 0;
    served.reset(), sequence.reset();
    next = nullptr;
    gone = is_abandoned = false;
    is_gone = nullptr, abandoned = nullptr, discard = nullptr;
  }
};

}  // namespace ingot::serve
