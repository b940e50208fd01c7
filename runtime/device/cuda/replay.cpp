// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/replay.cpp - a run launches the program's graphs: one where the host decides
// nothing, else as many as the data say, the host deciding between them what comes next (decision
// D56).
#include "runtime/base/os/file.h"
#include "runtime/device/control_flow.h"
#include "runtime/device/cuda/session_state.h"

namespace ingot::cuda {
namespace {

/// The segment that begins at `step`; null: there is nothing to launch.
SegmentPieces* find_segment(const Part& part, uint32_t step) {
  uint32_t low = 0, high = part.count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (part.segments[middle].segment.first_step < step)
      low = middle + 1;
    else
      high = middle;
  }
  return low < part.count && part.segments[low].segment.first_step == step ? &part.segments[low]
                                                                           : nullptr;
}

/// @pre the context is current: where another one is, or none, the driver takes the stream for a
/// stranger's
Status launch_segment(Device& device, const StepProgram& program, const SegmentPieces& segment,
                      ErrorDetail* detail) {
  if (driver().graphs == GraphUse::kNone)
    return launch_kernels(device, program, segment.segment, nullptr, detail);
  const GraphExec exec = segment.pieces[segment.newest].exec;
  if (!exec) return fail_on(device, detail, Code::kInternal, "device: steps without a graph");
  const Result result = driver().cuGraphLaunch(exec, state_of(device).stream);
  return result ? lose(device, detail, result) : Status();
}

/// What decides, as the segment before has told it.
class MailboxOperands {
 public:
  MailboxOperands(const StepProgram& program, const HostMailbox& mailbox)
      : program_(program), mailbox_(mailbox.control) {}

  bool condition(uint32_t instruction, uint32_t operand) const {
    return operand == 0 && is_known(program_, instruction) ? program_.known[instruction] != 0
                                                           : mailbox_.condition != 0;
  }
  int64_t count(uint32_t instruction) const {
    return is_known(program_, instruction) ? int64_t(program_.known[instruction]) : mailbox_.count;
  }
  void show(uint32_t, int64_t) const {}  // the GPU counts for itself
  void enter(uint32_t subprogram) const {
    if (program_.entered) program_.entered[subprogram]++;
  }

 private:
  const StepProgram& program_;
  const volatile ControlMailbox& mailbox_;
};

/// What the GPU decides in the run that begins, and what it decided in the one that has ended.
void clear_counts(const Part& part) {
  for (uint32_t i = 0; i < part.subprograms; i++) part.taken[i] = 0;
}
void add_counts(const Part& part, const StepProgram& program) {
  for (uint32_t i = 0; i < part.subprograms && program.entered; i++)
    program.entered[i] += part.taken[i];
}

/// One run, from the launch of its first graph.
class Replay {
 public:
  Replay(Device& device, const StepProgram& program, const Part& part, const RunControl& control,
         ErrorDetail* detail)
      : device_(device),
        state_(state_of(device)),
        program_(program),
        part_(part),
        control_(control),
        detail_(detail),
        operands_(program, *state_.mailbox),
        flow_(program, &operands_) {}

  Status run() {
    clear_counts(part_);
    const Status status = end(go());
    if (status.code() != Code::kDeviceLost) add_counts(part_, program_);
    return status;
  }

 private:
  Status end(Status status) {
    if (status.ok()) return control_.watch ? status : wait();  // who is watched has waited
    // What is queued reads and writes memory that belongs to the caller again.
    if (status.code() == Code::kDeviceLost) return status;
    if (const Result result = wait_for_stream(state_)) return lose(device_, detail_, result);
    return status;
  }
  Status go() {
    const uint32_t end = uint32_t(program_.steps.size);
    for (uint32_t at = program_.first_step;;) {
      if (SegmentPieces* segment = find_segment(part_, at)) {
        INGOT_TRY(launch(*segment));
        const bool is_end = at == end;  // nothing but outputs, behind a branch
        at = segment->segment.end_step;
        if (is_end) return {};
        if (!segment->segment.ends_at_control) continue;
      }
      if (at >= end) return {};
      const StepDef& step = program_.steps[at++];
      if (step.kind == StepKind::kRun)
        return fail_on(device_, detail_, Code::kInternal, "device: steps without a graph");
      if (step.kind != StepKind::kJump) INGOT_TRY(poll(step.index));
      INGOT_TRY(flow_.next(step, &at, detail_));
    }
  }
  Status launch(SegmentPieces& segment) {
    if (control_.watch) return run_timed(device_, program_, &segment, control_, detail_);
    INGOT_TRY(launch_segment(device_, program_, segment, detail_));
    return segment.segment.needs.reads() ? wait() : Status();
  }
  Status wait() {
    const Result result = wait_for_stream(state_);
    return result ? lose(device_, detail_, result) : read_fault(device_, program_, detail_);
  }
  /// Between launches, as the CPU does between instructions.
  Status poll(uint32_t instruction) {
    Status status;
    if (control_.cancel && control_.cancel->load(std::memory_order_relaxed)) {
      control_.cancel->store(0, std::memory_order_relaxed);
      status = fail(detail_, Code::kCancelled, "run: cancelled");
    } else if (control_.deadline_ns) {
      const uint64_t now = os::monotonic_ns();
      if (now >= control_.deadline_ns)
        status = fail(detail_, Code::kDeadlineExceeded, "run: deadline in ns", control_.deadline_ns,
                      now);
    }
    if (!status.ok() && detail_) detail_->instruction = instruction;
    // What is not waited for may have told already that the rest is for nothing.
    return status.ok() ? read_fault(device_, program_, detail_) : status;
  }

  Device& device_;
  SessionState& state_;
  const StepProgram& program_;
  const Part& part_;
  const RunControl& control_;
  ErrorDetail* detail_;
  MailboxOperands operands_;
  ControlFlow<MailboxOperands> flow_;
};

Status no_graph(const Device& device, ErrorDetail* detail) {
  return fail_on(device, detail, Code::kInternal, "device: steps without a graph");
}

/// @pre one segment
Status launch(Device& device, const StepProgram& program, void (*ended)(void*), void* user,
              ErrorDetail* detail) {
  SessionState& s = state_of(device);
  INGOT_TRY(check_usable(device, detail));
  const Part* part = find_part(s, program);
  if (!part || part->count != 1) return no_graph(device, detail);
  clear_counts(*part);
  static_cast<volatile HostMailbox*>(s.mailbox)->fault = 0;
  const Current current(s.gpu.context);
  if (current.refused()) return lose(device, detail, current.refused());
  INGOT_TRY(launch_segment(device, program, part->segments[0], detail));
  const Result result = ended ? driver().cuLaunchHostFunc(s.stream, ended, user) : 0;
  return result ? lose(device, detail, result) : Status();
}

Status finish(Device& device, const StepProgram& program, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  INGOT_TRY(check_usable(device, detail));
  const Current current(s.gpu.context);
  Result result = current.refused();
  if (!result) result = wait_for_stream(s);
  if (result) return lose(device, detail, result);
  if (const Part* part = find_part(s, program)) add_counts(*part, program);
  return read_fault(device, program, detail);
}

/// An error ends a run as well; finish() names it.
bool is_ended(Device& device) {
  if (is_forked()) return true;
  const Current current(state_of(device).gpu.context);
  return current.refused() || driver().cuStreamQuery(state_of(device).stream) != kNotReady;
}

bool stages(const Device& device) { return !gpu_facts(device.ordinal).is_integrated; }

}  // namespace

Status run_part(Device& device, const StepProgram& program, const RunControl& control,
                ErrorDetail* detail) {
  SessionState& s = state_of(device);
  INGOT_TRY(check_usable(device, detail));
  const Part* part = find_part(s, program);
  if (!part) return no_graph(device, detail);
  static_cast<volatile HostMailbox*>(s.mailbox)->fault = 0;
  const Current current(s.gpu.context);
  if (current.refused()) return lose(device, detail, current.refused());
  if (!control.watch || !part->subprograms)
    return Replay(device, program, *part, control, detail).run();
  StepProgram watched = program;
  watched.host_decides = "the run is watched";
  INGOT_TRY(build_part(device, watched, detail));
  return Replay(device, watched, *find_part(s, watched), control, detail).run();
}

Status check_usable(Device& device, ErrorDetail* detail) {
  if (is_forked()) return fail_on(device, detail, Code::kDeviceLost, kForked);
  if (state_of(device).is_lost)
    return fail_on(device, detail, Code::kDeviceLost, "device: lost in an earlier run");
  return {};
}

Status lose(Device& device, ErrorDetail* detail, Result result) {
  state_of(device).is_lost = true;
  return fail_with(device, detail, result, Code::kDeviceLost);
}

Status read_fault(const Device& device, const StepProgram& program, ErrorDetail* detail) {
  const HostMailbox& mailbox = *state_of(device).mailbox;
  const uint32_t fault =
      *static_cast<const volatile uint32_t*>(program.fault ? program.fault : &mailbox.fault);
  if (!fault) return {};
  const Call& call = program.calls[fault - 1];
  const OpCode op = program.instructions[fault - 1].op;
  Code code = Code::kControlRefused;
  if (op == OpCode::kIf) {
    (void)fail(detail, code, kNoBranch);
  } else if (op == OpCode::kLoop) {
    (void)fail(detail, code, kTooManyIterations, uint64_t(call.arguments.as<LoopAttributes>().most),
               uint64_t(static_cast<const volatile ControlMailbox&>(mailbox.control).count));
  } else {
    (void)fail(detail, code = Code::kBadIndexValue,
               "an index tensor holds an index outside its range");
  }
  if (detail) detail->instruction = fault - 1;
  return Status(code, fault - 1);
}

const QueueInterface kCudaQueue = {launch,     finish,      is_ended,    stages,      queue_bytes,
                                   open_queue, close_queue, submit_slot, collect_slot};

}  // namespace ingot::cuda
