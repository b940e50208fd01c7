// runtime/device/cuda/session_state.h - what a session has on a GPU beside its arena: a stream, graphs, a word for faults.
// Owns     all of it.   Threads  as the session's.
#pragma once
#include "runtime/device/cuda/gpu.h"

namespace ingot::cuda {

/// Launches of consecutive steps as one graph. Another binding of the same steps is another graph; the newest are kept.
struct Piece {
  GraphExec exec = nullptr;
  uint64_t hash = 0;       // of everything in it
  uint32_t first_step = 0;
  uint32_t launches = 0;   // kernels
  uint64_t last_used = 0;
};
constexpr uint32_t kPieces = 16;

struct SessionState {
  Gpu gpu;
  Stream stream = nullptr;
  bool owns_stream = true;
  uint32_t* fault = nullptr;  // pinned: instruction + 1 whose index tensor was wrong
  uint64_t clock = 0;
  uint32_t references = 0;    // reservations
  bool is_lost = false;
  Piece pieces[kPieces];
};

/// Takes the GPU, a stream and the fault's word; all or nothing.
Status open_state(Device& device, ErrorDetail* detail);
void close_state(Device& device);
inline SessionState& state_of(const Device& device) { return *static_cast<SessionState*>(device.state); }

/// The graph of `program`'s steps, made or found; kOutOfMemory, kNoKernel, kDeviceLost.
Status build_piece(Device& device, const StepProgram& program, ErrorDetail* detail);
/// Launches it and waits.
Status run_piece(Device& device, const StepProgram& program, ErrorDetail* detail);

}  // namespace ingot::cuda
