// runtime/device/cuda/session_state.h - what a session has on a GPU beside its arena: a stream, graphs, a word for faults.
// Owns     all of it.   Threads  as the session's.
#pragma once
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/queue.h"

namespace ingot::cuda {

struct Timing;  // a graph with an event behind every instruction

/// Launches of consecutive steps as one graph. Another binding of the same steps is another graph; the newest are kept.
struct Piece {
  GraphExec exec = nullptr;
  uint64_t hash = 0;  // of everything in it
  uint32_t first_step = 0;
  uint32_t launches = 0;  // kernels
  uint64_t last_used = 0;
  Timing* timing = nullptr;  // of the first run that was watched
};
constexpr uint32_t kPieces = 16;

struct SessionState {
  Gpu gpu;
  Stream stream = nullptr;
  bool owns_stream = true;
  uint32_t* fault = nullptr;  // pinned: instruction + 1 whose index tensor was wrong
  uint64_t clock = 0;
  uint32_t references = 0;           // reservations
  std::atomic<bool> is_lost{false};  // whoever submits and whoever collects may find it out
  Piece pieces[kPieces];
};

/// Takes the GPU, a stream and the fault's word; all or nothing.
Status open_state(Device& device, ErrorDetail* detail);
void close_state(Device& device);
inline SessionState& state_of(const Device& device) { return *static_cast<SessionState*>(device.state); }

/// The graph of `program`'s steps, made or found; kOutOfMemory, kNoKernel, kDeviceLost.
Status build_piece(Device& device, const StepProgram& program, ErrorDetail* detail);
/// Launches it and waits; with control.watch the one that records events.
Status run_piece(Device& device, const StepProgram& program, const RunControl& control, ErrorDetail* detail);
/// A graph beside the newest ones, that its owner destroys.
Status make_piece(Device& device, const StepProgram& program, Piece* out, ErrorDetail* detail);
void drop_piece(Piece* piece);
/// The graph with a record of events[0] before the first instruction, of events[i + 1] behind instruction i, of the last one at the end.
Status make_timed_graph(Device& device, const StepProgram& program, const Event* events, GraphExec* out,
                        ErrorDetail* detail);

/// run_piece() of the graph that records events, made when it is first asked for; tells control.watch of each instruction.
Status run_timed(Device& device, const StepProgram& program, Piece* piece, const RunControl& control,
                 ErrorDetail* detail);
void drop_timing(Timing* timing);

/// kDeviceLost where nothing may be launched any more: after an error, and in the child of a fork.
Status check_usable(Device& device, ErrorDetail* detail);
/// Any error of a run is final: what a kernel did cannot be known.
Status lose(Device& device, ErrorDetail* detail, Result result);
/// What a run wrote into its word: kBadIndexValue.
Status read_fault(const uint32_t* fault, ErrorDetail* detail);

// Of kCudaQueue, for pipelines.
uint64_t queue_bytes();
Status open_queue(Device& device, Span<const QueueSlot> slots, DeviceQueue** out, ErrorDetail* detail);
void close_queue(DeviceQueue* queue);
Status submit_slot(DeviceQueue* queue, uint32_t slot, ErrorDetail* detail);
Status collect_slot(DeviceQueue* queue, uint32_t slot, uint64_t deadline_ns, ErrorDetail* detail);
extern const QueueInterface kCudaQueue;

}  // namespace ingot::cuda
