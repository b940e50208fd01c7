// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/session_state.h - what a session has on a GPU beside its arena: a stream,
// graphs, words that kernels tell the host.
// Owns     all of it.
// Threads  as the session's.
#pragma once
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/gpu/service_kernels.h"
#include "runtime/device/queue.h"
#include "runtime/device/segments.h"

namespace ingot::cuda {

struct Timing;  // a graph with an event behind every instruction

/// A segment of the program as one graph.
struct Piece {
  GraphExec exec = nullptr;
  uint64_t hash = 0;  // of everything in it
  uint64_t last_used = 0;
  Timing* timing = nullptr;  // of the first run that was watched
};
/// Another binding of the same segment is another graph; the newest are kept.
constexpr uint32_t kPieces = 16;
struct SegmentPieces {
  GraphSegment segment;
  uint32_t newest = 0;  // of the binding that holds now
  Piece pieces[kPieces];
};
/// What is resolved and run as one: a program, or the segment of one that a split leaves to this
/// device.
struct Part {
  Part* next = nullptr;
  bool host_decides = false;  // all of it
  // pinned, by subprogram: how often the GPU began it; null: it decides nothing
  uint64_t* taken = nullptr;
  uint32_t subprograms = 0;  // in it
  uint32_t first_step = 0, count = 0;
  SegmentPieces* segments = nullptr;  // behind it, in the order of their steps
};
/// Of the heap, and pinned.
uint64_t part_bytes(const StepProgram& program);

/// Pinned: what kernels tell the host.
struct HostMailbox {
  uint32_t fault;  // instruction + 1 whose index tensor was wrong
  ControlMailbox control;
};

static_assert(sizeof(LoopWords::trips) == kMaxSubprogramDepth * sizeof(LoopTrip), "");
/// Behind the scratch of a program: counters of launches, where products are not exact.
uint64_t zeroed_bytes(uint32_t precision);
/// Behind them of one that has a loop: LoopWords, then a count for each subprogram.
inline LoopWords* loop_words(const StepProgram& program) {
  return reinterpret_cast<LoopWords*>(program.shared_scratch + zeroed_bytes(program.precision));
}
inline uint64_t* loop_counts(const StepProgram& program) {
  return reinterpret_cast<uint64_t*>(loop_words(program) + 1);
}
uint64_t loop_counter_bytes(uint32_t subprograms);

constexpr uint64_t kMailboxBytes = 512;
static_assert(sizeof(HostMailbox) <= kMailboxBytes, "");

struct SessionState {
  Gpu gpu;
  Stream stream = nullptr;
  bool owns_stream = true;
  Event ended = nullptr;  // where who waits sleeps: recorded behind the work, and waited for
  HostMailbox* mailbox = nullptr;
  uint64_t clock = 0;
  uint32_t references = 0;           // reservations
  std::atomic<bool> is_lost{false};  // whoever submits and whoever collects may find it out
  Part* parts = nullptr;
};

/// Takes the GPU, a stream and those words; all or nothing.
Status open_state(Device& device, ErrorDetail* detail);
void close_state(Device& device);
inline SessionState& state_of(const Device& device) {
  return *static_cast<SessionState*>(device.state);
}

/// The graphs of `program`'s segments, made or found; kOutOfMemory, kNoKernel, kDeviceLost.
Status build_part(Device& device, const StepProgram& program, ErrorDetail* detail);
/// Launches them as control flow goes, and waits. With control.watch those that record events, and
/// the host decides all: no event can be recorded inside a conditional node. Beside errors of the
/// device: kBadIndexValue kControlRefused kCancelled kDeadlineExceeded.
Status run_part(Device& device, const StepProgram& program, const RunControl& control,
                ErrorDetail* detail);
/// Gives back every graph. @pre the context is current
void drop_parts(SessionState* state);

/// The graph of one segment, found among `segment->pieces` or made instead of the oldest. @pre the
/// context is current
Status build_piece(Device& device, const StepProgram& program, SegmentPieces* segment,
                   ErrorDetail* detail);
/// A graph of all of a program whose host decides nothing beside the newest ones, that its owner
/// destroys. @pre as build_piece()
Status make_piece(Device& device, const StepProgram& program, Piece* out, ErrorDetail* detail);
/// What make_piece() made. @pre the context is current
Status launch_piece(Device& device, const StepProgram& program, const Piece& piece,
                    ErrorDetail* detail);
/// GraphUse::kNone: the kernels of a segment one by one, planned as they are launched; `events`, or
/// null, as make_timed_graph() has them. @pre the context is current
Status launch_kernels(Device& device, const StepProgram& program, const GraphSegment& segment,
                      const Event* events, ErrorDetail* detail);
/// Of the part that build_part() made; null.
Part* find_part(const SessionState& state, const StepProgram& program);
void drop_piece(Piece* piece);
/// The graph with a record of events[0] before the first instruction, of events[i + 1] behind
/// instruction i, of the last one at the end.
Status make_timed_graph(Device& device, const StepProgram& program, const GraphSegment& segment,
                        const Event* events, GraphExec* out, ErrorDetail* detail);

/// Launches the graph of a segment that records events, made when it is first asked for, waits, and
/// tells control.watch of each instruction. @pre the context is current
Status run_timed(Device& device, const StepProgram& program, SegmentPieces* segment,
                 const RunControl& control, ErrorDetail* detail);
void drop_timing(Timing* timing);

/// Until everything on the session's stream is done: spins, or sleeps where Device::blocking_wait
/// asked for it. @pre the context is current
Result wait_for_stream(const SessionState& state);
/// Flags of an event that is waited for.
inline unsigned event_flags(const Device& device) {
  return kEventDisableTiming | (device.blocking_wait ? kEventBlockingSync : 0u);
}
/// kDeviceLost where nothing may be launched any more: after an error, and in the child of a fork.
Status check_usable(Device& device, ErrorDetail* detail);
/// Any error of a run is final: what a kernel did cannot be known.
Status lose(Device& device, ErrorDetail* detail, Result result);
/// What a run wrote into its word: kBadIndexValue kControlRefused.
Status read_fault(const Device& device, const StepProgram& program, ErrorDetail* detail);

// Of kCudaQueue, for pipelines.
uint64_t queue_bytes();
Status open_queue(Device& device, Span<const QueueSlot> slots, DeviceQueue** out,
                  ErrorDetail* detail);
void close_queue(DeviceQueue* queue);
Status submit_slot(DeviceQueue* queue, uint32_t slot, ErrorDetail* detail);
Status collect_slot(DeviceQueue* queue, uint32_t slot, uint64_t deadline_ns, ErrorDetail* detail);
extern const QueueInterface kCudaQueue;

}  // namespace ingot::cuda
