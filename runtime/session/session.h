// SPDX-License-Identifier: Apache-2.0
// runtime/session/session.h - a program ready to run: calls with addresses, in an arena, on a
// device.
// Owns     its arena and, unless a pool was handed in, its threads; lies in the arena itself
//          (beside it, for a device).
// Threads  one at a time, except cancel_session(): any.
// Errors   create: those of prepare(), kArenaTooSmall kMisaligned kOutOfMemory kMapFailed
//          kThreadFailed kLockFailed
// kFileRead;
//          state: kBadStateValue kStateMismatch and those of open_state_file();
//          run: kWrongState kCancelled kDeadlineExceeded kBadIndexValue kDeviceLost kDeviceFault.
// Allocates  create: one arena; threads' stacks. Nothing else does.
#pragma once
#include "runtime/memory/arena.h"
#include "runtime/session/layout.h"
#include "runtime/session/tables.h"

namespace ingot {

constexpr uint8_t kPoison = 0xa5;

struct Split;

/// A run that was started and is not waited for yet.
struct QueuedRun {
  Status status;
  ErrorDetail detail;
  void (*ended)(void* user) = nullptr;
  void* user = nullptr;
  uint32_t job = 0;  // of the session's thread
  enum class Where : uint8_t { kNowhere, kDone, kThread, kDevice } where = Where::kNowhere;
};

struct RunSession {
  const OpenModel* model = nullptr;
  Device device;
  const QueueInterface* queue = nullptr;  // the device's, where runs may be queued
  Split* split = nullptr;                 // where several devices are used
  Arena arena;
  uint8_t* device_memory = nullptr;  // a device without host memory; `arena` is then the host block
  // of a device that moves ports: descriptors and copies of ports
  uint8_t* pinned = nullptr;
  DeviceAssignment* fallback =
      nullptr;  // its own: the device has no kernel for some instructions, which run on the CPU
  Layout layout;
  Requirements requirements;
  Tables tables;
  StepProgram program;
  LifetimeRules rules;
  bool gave_up_gpu = false;  // "auto": the CPU in place of a GPU that failed
  bool is_poisoned = false;
  bool is_dead = false;
  bool is_running = false;
  bool in_profile = false;  // the caller's function is at work, or an exception has left it
  bool is_locked = false;
  bool are_ports_checked = true;  // for overlaps, since one was bound
  const char* threads_reason = "";
  int threads = 1;
  uint32_t join_spins = 0;
  ThreadPool* pool = nullptr;  // its own or a shared one; null: alone, or the caller's executor
  Executor executor;
  uint32_t unbound_ports = 0;  // without memory; run() refuses while there are any
  std::atomic<uint32_t> cancel{0};
  RunControl control;
  uint64_t parked_activations = 0, parked_scratch = 0;  // bytes given back since the last run
  uint64_t runs = 0, wakes = 0, waits = 0, alone_runs = 0;
  // the caller's function and argument, cast by the layer that knows its type
  void (*profile)() = nullptr;
  void* profile_user = nullptr;
};

/// Nothing is allocated: what create would take.
Status session_requirements(const OpenModel& model, const SessionRequest& request,
                            Requirements* out, ErrorDetail* detail);
/// `detail` is wanted where "auto" may have to give up its GPU (auto_device.h).
Status create_session(const OpenModel& model, const SessionRequest& request, RunSession** out,
                      ErrorDetail* detail);
/// The same, but what "auto" chose is not given up for the CPU where it fails.
Status make_session(const OpenModel& model, const SessionRequest& request, RunSession** out,
                    ErrorDetail* detail);
void destroy_session(RunSession* session);

Status run_session(RunSession* session, uint64_t deadline_ns, ErrorDetail* detail);
/// The halves of it that surround the device: begin checks and brings inputs, end fetches outputs
/// unless `status` is an error.
Status begin_run(RunSession* session, uint64_t deadline_ns, ErrorDetail* detail);
Status run_on_device(RunSession* session, ErrorDetail* detail);
Status end_run(RunSession* session, Status status, ErrorDetail* detail);

/// Begins a run and returns; wait_session() ends it. `ended` may be null.
/// Errors   those of begin_run(); kDeviceLost.
Status start_session(RunSession* session, uint64_t deadline_ns, void (*ended)(void*), void* user,
                     ErrorDetail* detail);
/// What run_session() would give. kWrongState: nothing was started.
Status wait_session(RunSession* session, ErrorDetail* detail);
Status poll_session(RunSession* session, bool* is_ended, ErrorDetail* detail);
/// The session's thread. @pre tables.background
Status start_background(RunSession* session, ErrorDetail* detail);
/// Before it is destroyed: ends what was started, and that thread.
void abandon_started(RunSession* session);
inline void cancel_session(RunSession* session) {
  session->cancel.store(1, std::memory_order_relaxed);
}
/// Initial values.
/// `is_zero`: their memory is new pages, of which nothing is touched that would only become zero.
Status reset_state(RunSession* session, ErrorDetail* detail, bool is_zero = false);
/// Ports that have no memory.
uint32_t count_unbound(const RunSession& session);

/// Other values for the symbols named, within the bounds that the session was made for; the others
/// keep theirs. Nothing but the session's own memory is used. On failure the session is as before,
/// otherwise ports have new extents, those that were bound are back in the arena, and state of
/// another size starts anew.
/// Errors   kWrongState kNotFound kInvalidArgument kDimensionOutOfBounds kArenaTooSmall, and those
///          of bind_program().
Status rebind_session(RunSession* session, Span<const DimBinding> bindings, ErrorDetail* detail);
/// Of every variable one of `count` equal parts of its first dimension, which `count` divides.
struct StatePart {
  int64_t index = 0, count = 1;
};
/// A file of runtime/format/state_file.h. capacity 0: only its size.
Status save_state(RunSession* session, uint8_t* out, uint64_t capacity, uint64_t* out_bytes,
                  ErrorDetail* detail, StatePart part = {});
/// All or nothing, unless the device fails.
Status restore_state(RunSession* session, const uint8_t* bytes, uint64_t size, ErrorDetail* detail,
                     StatePart part = {});
/// A variable "snapshots.NAME" [.., rows, n]: what a language model needs to go on behind p tokens
/// is in row p % rows.
bool has_snapshots(const StateDef& state);
/// A variable "windows.NAME" [.., rows, n]: a ring of the newest tokens, token p in row p % rows.
bool has_window(const StateDef& state);
/// Of every variable [slots, rows, ...]: rows [begin, end) of slot `from` become those of slot `to`
/// too; of snapshots the one of `end`, of rings all. False, and nothing is copied, where the
/// device's memory is not the host's.
bool copy_state_rows(RunSession* session, int64_t from, int64_t to, int64_t begin, int64_t end);
/// kBadStateValue: an element is not a number.
Status check_state(RunSession* session, ErrorDetail* detail);
/// Gives back pages of activations and scratch; kWrongState where there are none to give.
Status park_session(RunSession* session, ErrorDetail* detail);

/// Memory of the caller's for a port: `view` has type, row stride (0: dense) and address. Null:
/// back to the arena.
Status bind_port(RunSession* session, bool is_input, uint32_t index, const TensorView* view,
                 uint64_t bytes, ErrorDetail* detail);
/// The same for memory of the session's device, read or written there while the program runs.
/// kWrongState where ports lie with the CPU: on the CPU and on several devices.
Status bind_port_on_device(RunSession* session, bool is_input, uint32_t index,
                           const TensorView& view, uint64_t bytes, ErrorDetail* detail);

/// Address and type of a value after a run. kNotFound: no instruction and no port has it.
/// kWrongState: its bytes may have been overwritten since (an intermediate without keep_values).
Status find_value(const RunSession& session, int32_t value, TensorView* out, ErrorDetail* detail);

/// Bytes from the start of each part to one past the highest that lost the pattern. @pre
/// is_poisoned
struct Touched {
  uint64_t arena = 0, activations = 0, scratch = 0, tables = 0;
};
Touched find_touched(const RunSession& session);

}  // namespace ingot
