// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/timing.cpp - what each instruction of a graph takes: a second graph of the
// same launches with an event recorded between instructions. It is made for the first run that
// somebody watches, and kept; runs that nobody watches never pay for it.
#include <new>

#include "runtime/base/os/file.h"
#include "runtime/base/os/memory.h"
#include "runtime/device/cuda/session_state.h"

namespace ingot::cuda {

struct Timing {
  GraphExec exec;
  uint32_t count;  // of events
  Event* events() { return reinterpret_cast<Event*>(this + 1); }
};

namespace {

/// One before the first instruction, one behind each, one behind the copies of outputs.
uint64_t events_of(const GraphSegment& segment) {
  return segment.end_step - segment.first_step + 2;
}

Status make(Device& device, const StepProgram& program, const GraphSegment& segment, Timing** out,
            ErrorDetail* detail) {
  // an event is a pointer
  const uint64_t count = events_of(segment), bytes = sizeof(Timing) + count * sizeof(void*);
  void* block = os::heap_allocate(bytes, alignof(Timing));
  if (!block)
    return fail_on(device, detail, Code::kOutOfMemory, "device: events of a profile", bytes);
  Timing* timing = new (block) Timing{nullptr, 0};
  Status status;
  for (; timing->count < count && status.ok(); timing->count++) {
    Event& event = timing->events()[timing->count];
    if (const Result result = driver().cuEventCreate(&event, kEventWithTiming)) {
      status = fail_with(device, detail, result, Code::kDeviceLost);
      break;
    }
  }
  if (status.ok() && driver().graphs != GraphUse::kNone)
    status = make_timed_graph(device, program, segment, timing->events(), &timing->exec, detail);
  if (status.ok())
    *out = timing;
  else
    drop_timing(timing);
  return status;
}

/// Nanoseconds between two events of one run.
Result elapsed(Event begin, Event end, uint64_t* out) {
  float milliseconds = 0;
  const Result result = driver().cuEventElapsedTime(&milliseconds, begin, end);
  *out = milliseconds > 0 ? uint64_t(double(milliseconds) * 1e6) : 0;
  return result;
}

/// On the CPU's clock, on which the last event was at `end_ns`.
Result tell(const StepProgram& program, const GraphSegment& segment, Timing* timing,
            uint64_t end_ns, const RunControl& control) {
  const Event* events = timing->events();
  uint64_t whole, from = 0, to;
  if (const Result result = elapsed(events[0], events[timing->count - 1], &whole)) return result;
  const uint64_t begin_ns = end_ns - whole;
  for (uint32_t i = 0; i + 2 < timing->count; i++, from = to) {
    if (const Result result = elapsed(events[0], events[i + 1], &to)) return result;
    control.watch(control.watch_user,
                  {program.steps[segment.first_step + i].index, begin_ns + from, begin_ns + to, 1});
  }
  return 0;
}

}  // namespace

Status run_timed(Device& device, const StepProgram& program, SegmentPieces* segment,
                 const RunControl& control, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  Piece& piece = segment->pieces[segment->newest];
  if (!piece.timing) INGOT_TRY(make(device, program, segment->segment, &piece.timing, detail));
  Result result = 0;
  if (piece.timing->exec)
    result = driver().cuGraphLaunch(piece.timing->exec, s.stream);
  else
    INGOT_TRY(launch_kernels(device, program, segment->segment, piece.timing->events(), detail));
  if (!result) result = wait_for_stream(s);
  if (!result) result = tell(program, segment->segment, piece.timing, os::monotonic_ns(), control);
  return result ? lose(device, detail, result) : read_fault(device, program, detail);
}

void drop_timing(Timing* timing) {
  if (timing->exec) driver().cuGraphExecDestroy(timing->exec);
  for (uint32_t i = 0; i < timing->count; i++) driver().cuEventDestroy_v2(timing->events()[i]);
  os::heap_release(timing);
}

}  // namespace ingot::cuda
