// SPDX-License-Identifier: Apache-2.0
// runtime/session/pipeline.h - items that flow through a session: while one is computed the next is
// filled and the last one read.
//
//   producer   acquire -> fill the slot's inputs -> push          (or a loader on a thread of the
//              pipeline's)
//   run        of the slots in order: on a GPU by itself, elsewhere on a thread of the pipeline's
//   consumer   pop -> read the slot's outputs -> release
//
// A slot has memory of its own for every port, which the program reads and writes where it is (on a
// GPU: which is copied beside the run before).
// Owns     its session, the slots' memory, up to two threads.
// Threads  one producer and one consumer, the same or two (PipelineRequest::two_threads); cancel:
//          any. create, destroy: one.
// Errors   create: those of create_session(), kInvalidArgument kOutOfMemory kThreadFailed; acquire,
//          push, pop, release: kWrongState kCancelled kThreadFailed; pop: kNotFound at the end, and
//          those of run_session().
// Allocates  create: one block, and what the device takes. Nothing else does.
#pragma once
#include "runtime/device/queue.h"
#include "runtime/session/session.h"

struct ingot_pipeline;  // a RunPipeline, as the caller sees it

namespace ingot {

struct RunPipeline;

/// Fills the inputs of the slot that is acquired. 0: filled; 1: there is nothing more; anything
/// else: it failed.
using PipelineLoader = int32_t (*)(void* user, ingot_pipeline* pipeline, uint64_t item);

struct PipelineRequest {
  SessionRequest session;
  uint32_t depth = 2;  // slots, 1 to kMaxSlots
  bool two_threads = false;
  PipelineLoader loader = nullptr;
  void* loader_user = nullptr;
};

/// Bytes beside the session's, exact.
struct PipelineNeeds {
  Requirements session;
  // of the host: the pipeline itself and, where the host computes, the slots' ports
  uint64_t block = 0;
  uint64_t pinned = 0;  // of the host, taken from the device's driver
  uint64_t device = 0;  // staging
  uint64_t queue = 0;   // of the heap: what the device keeps for it
  uint64_t stacks = 0;  // address space of its threads
};
Status pipeline_requirements(const OpenModel& model, const PipelineRequest& request,
                             PipelineNeeds* out, ErrorDetail* detail);
Status create_pipeline(const OpenModel& model, const PipelineRequest& request, RunPipeline** out,
                       ErrorDetail* detail);
/// The same, but what "auto" chose is not given up for the CPU where it fails (auto_device.h).
Status make_pipeline(const OpenModel& model, const PipelineRequest& request, RunPipeline** out,
                     ErrorDetail* detail);
/// Ends the item that runs, drops the others. @pre nobody is inside another call
void destroy_pipeline(RunPipeline* pipeline);

/// The next free slot is the producer's. Without two threads kWrongState where none is free, since
/// it would never be.
Status acquire_slot(RunPipeline* pipeline, ErrorDetail* detail);
/// Hands it over, to be run.
Status push_slot(RunPipeline* pipeline, ErrorDetail* detail);
/// No more will be pushed.
void finish_pipeline(RunPipeline* pipeline);
/// Waits for the oldest item that was pushed; its number into *item. An error is that item's, which
/// is then released already. kNotFound: the end. kWrongState, without two threads: nothing is
/// pushed. kDeadlineExceeded: at deadline_ns of monotonic_ns() (0: no deadline) it was not computed
/// yet; it stays the oldest.
Status pop_slot(RunPipeline* pipeline, uint64_t deadline_ns, uint64_t* item, ErrorDetail* detail);
Status release_slot(RunPipeline* pipeline, ErrorDetail* detail);
/// Ends everything; calls that wait come back with kCancelled, and so do all that follow.
void cancel_pipeline(RunPipeline* pipeline);

/// A port of the slot that is acquired (inputs) or popped (outputs); null: no such port, or no such
/// slot now.
const TensorView* pipeline_input(const RunPipeline& pipeline, uint32_t index);
const TensorView* pipeline_output(const RunPipeline& pipeline, uint32_t index);
/// Slots that acquire gives without waiting.
uint32_t free_slots(const RunPipeline& pipeline);
const RunSession& session_of(const RunPipeline& pipeline);
bool has_loader(const RunPipeline& pipeline);
const OpenModel& model_of(const RunPipeline& pipeline);

constexpr uint64_t kNoItem = UINT64_MAX;

}  // namespace ingot
