// SPDX-License-Identifier: Apache-2.0
// runtime/session/pipeline_slots.h - what a pipeline is made of.
#pragma once
#include "runtime/base/bump_allocator.h"
#include "runtime/device/gpu/service_kernels.h"
#include "runtime/session/pipeline.h"

namespace ingot {

struct Slot {
  TensorView* inputs = nullptr;   // in memory of the host
  TensorView* outputs = nullptr;  // with the extents of its last run
  Status status;                  // of its last run, where that was not queued on the device
  ErrorDetail detail;
  bool is_queued = false;
};

/// Where the parts of a pipeline lie; one code path measures and cuts.
struct PipelineParts {
  RunPipeline* pipeline = nullptr;
  Slot* slots = nullptr;
  TensorView* views = nullptr;
  uint8_t* ports = nullptr;  // of the host, unless pinned
};

/// The bytes of one slot.
struct SlotShape {
  uint64_t input_bytes = 0, output_bytes = 0;  // each port 64-byte (pinned: 256-byte) aligned
  uint64_t head_bytes = 0;                     // pinned: descriptors and the fault word before them
  bool is_queued = false;                      // by the device
  bool is_staged = false;
};

/// Counters count items for ever; a slot is an item modulo the depth. released <= popped <= ran <=
/// pushed <= released + depth.
struct RunPipeline {
  RunSession* session = nullptr;
  const OpenModel* model = nullptr;
  Allocator allocator;
  uint64_t block_bytes = 0, device_bytes = 0;
  uint8_t *pinned = nullptr, *staging = nullptr;
  DeviceQueue* queue = nullptr;
  uint32_t depth = 0;
  bool two_threads = false, is_acquired = false, is_popped = false;
  PipelineLoader loader = nullptr;
  void* loader_user = nullptr;
  int32_t loader_answer = 0;  // written before has_finished
  bool loader_was_told = false;
  Slot* slots = nullptr;
  Background runner;  // unless the device queues
  uint64_t ran = 0;   // the runner's
  os::Thread loading;
  uint32_t forks = 0;
  std::atomic<uint64_t> pushed{0}, popped{0}, released{0};
  std::atomic<uint32_t> has_finished{0}, is_cancelled{0};
  std::atomic<uint32_t> changes{0};  // whoever waits for one of the above sleeps on it

  Slot& slot_of(uint64_t item) { return slots[item % depth]; }
  const Slot& slot_of(uint64_t item) const { return slots[item % depth]; }
};

/// Runs the oldest item that has not run; the runner's job.
void run_next(void* pipeline);
/// The loader's thread.
void load_all(void* pipeline);
/// Says that a counter or flag has changed.
void note_change(RunPipeline* pipeline);

}  // namespace ingot
