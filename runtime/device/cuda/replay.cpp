// runtime/device/cuda/replay.cpp - a program's graphs, made when shapes are bound, and a run that launches them: one where there is no
// control flow, else as many as the data say, the host deciding between them what comes next (decision D56).
#include <new>

#include "runtime/base/os/file.h"
#include "runtime/base/os/memory.h"
#include "runtime/device/control_flow.h"
#include "runtime/device/cuda/session_state.h"

namespace ingot::cuda {
namespace {

bool moves_ports(const StepProgram& program) { return program.ports.size != 0; }

uint32_t count_stretches(const StepProgram& program) {
  uint32_t count = 0;
  StretchScan scan(program, moves_ports(program));
  for (Stretch s; scan.next(&s);) count++;
  return count;
}

Part* find_part(const SessionState& s, const StepProgram& program) {
  Part* part = s.parts;
  while (part && part->first_step != program.first_step) part = part->next;
  return part;
}

Status add_part(Device& device, const StepProgram& program, Part** out, ErrorDetail* detail) {
  const uint64_t bytes = part_bytes(program);
  void* block = os::heap_allocate(size_t(bytes), alignof(Part));
  if (!block) return fail_on(device, detail, Code::kOutOfMemory, "device: a program's graphs", bytes);
  SessionState& s = state_of(device);
  Part* part = new (block) Part;
  part->first_step = program.first_step;
  part->stretches = reinterpret_cast<StretchPieces*>(part + 1);
  StretchScan scan(program, moves_ports(program));
  for (Stretch stretch; scan.next(&stretch);) (new (&part->stretches[part->count++]) StretchPieces)->stretch = stretch;
  part->next = s.parts;
  *out = s.parts = part;
  return {};
}

/// The stretch that begins at `step`; null: there is nothing to launch.
StretchPieces* find_stretch(const Part& part, uint32_t step) {
  uint32_t low = 0, high = part.count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (part.stretches[middle].stretch.first_step < step)
      low = middle + 1;
    else
      high = middle;
  }
  return low < part.count && part.stretches[low].stretch.first_step == step ? &part.stretches[low] : nullptr;
}

/// @pre the context is current: where another one is, or none, the driver takes the stream for a stranger's
Result launch_graph(const SessionState& s, GraphExec exec) { return driver().cuGraphLaunch(exec, s.stream); }

/// What decides, as the stretch before has told it.
class ToldOperands {
 public:
  ToldOperands(const StepProgram& program, const Told& told) : program_(program), told_(told.control) {}

  bool condition(uint32_t instruction, uint32_t operand) const {
    return operand == 0 && is_known(program_, instruction) ? program_.known[instruction] != 0 : told_.condition != 0;
  }
  int64_t count(uint32_t instruction) const {
    return is_known(program_, instruction) ? int64_t(program_.known[instruction]) : told_.count;
  }
  void show(uint32_t, int64_t) const {}  // the GPU counts for itself
  void enter(uint32_t subprogram) const {
    if (program_.entered) program_.entered[subprogram]++;
  }

 private:
  const StepProgram& program_;
  const volatile ControlTold& told_;
};

/// One run, from the launch of its first graph.
class Replay {
 public:
  Replay(Device& device, const StepProgram& program, const Part& part, const RunControl& control, ErrorDetail* detail)
      : device_(device),
        state_(state_of(device)),
        program_(program),
        part_(part),
        control_(control),
        detail_(detail),
        operands_(program, *state_.told),
        flow_(program, &operands_) {}

  Status run() {
    Status status = go();
    if (status.ok()) return control_.watch ? status : wait();  // who is watched has waited
    // What is queued reads and writes memory that belongs to the caller again.
    if (status.code() == Code::kDeviceLost) return status;
    if (const Result result = driver().cuStreamSynchronize(state_.stream)) return lose(device_, detail_, result);
    return status;
  }

 private:
  Status go() {
    const uint32_t end = uint32_t(program_.steps.size);
    for (uint32_t at = program_.first_step;;) {
      if (StretchPieces* stretch = find_stretch(part_, at)) {
        INGOT_TRY(launch(*stretch));
        const bool is_end = at == end;  // nothing but outputs, behind a branch
        at = stretch->stretch.end_step;
        if (is_end) return {};
        if (!stretch->stretch.ends_at_control) continue;
      }
      if (at >= end) return {};
      const StepDef& step = program_.steps[at++];
      if (step.kind == StepKind::kRun)
        return fail_on(device_, detail_, Code::kInternal, "device: steps without a graph");
      if (step.kind != StepKind::kJump) INGOT_TRY(poll(step.index));
      INGOT_TRY(flow_.next(step, &at, detail_));
    }
  }
  Status launch(StretchPieces& stretch) {
    if (control_.watch) return run_timed(device_, program_, &stretch, control_, detail_);
    const GraphExec exec = stretch.pieces[stretch.newest].exec;
    if (!exec) return fail_on(device_, detail_, Code::kInternal, "device: steps without a graph");
    if (const Result result = launch_graph(state_, exec)) return lose(device_, detail_, result);
    return stretch.stretch.needs.reads() ? wait() : Status();
  }
  Status wait() {
    const Result result = driver().cuStreamSynchronize(state_.stream);
    return result ? lose(device_, detail_, result) : read_fault(&state_.told->fault, detail_);
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
        status = fail(detail_, Code::kDeadlineExceeded, "run: deadline in ns", control_.deadline_ns, now);
    }
    if (!status.ok() && detail_) detail_->instruction = instruction;
    // What is not waited for may have told already that the rest is for nothing.
    return status.ok() ? read_fault(&state_.told->fault, detail_) : status;
  }

  Device& device_;
  SessionState& state_;
  const StepProgram& program_;
  const Part& part_;
  const RunControl& control_;
  ErrorDetail* detail_;
  ToldOperands operands_;
  ControlFlow<ToldOperands> flow_;
};

Status no_graph(const Device& device, ErrorDetail* detail) {
  return fail_on(device, detail, Code::kInternal, "device: steps without a graph");
}

/// @pre no control flow: one stretch
Status launch(Device& device, const StepProgram& program, void (*ended)(void*), void* user, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  INGOT_TRY(check_usable(device, detail));
  const Part* part = find_part(s, program);
  if (!part || part->count != 1) return no_graph(device, detail);
  const StretchPieces& only = part->stretches[0];
  static_cast<volatile Told*>(s.told)->fault = 0;
  const Current current(s.gpu.context);
  if (current.refused()) return lose(device, detail, current.refused());
  Result result = launch_graph(s, only.pieces[only.newest].exec);
  if (!result && ended) result = driver().cuLaunchHostFunc(s.stream, ended, user);
  return result ? lose(device, detail, result) : Status();
}

Status finish(Device& device, const StepProgram&, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  INGOT_TRY(check_usable(device, detail));
  const Current current(s.gpu.context);
  Result result = current.refused();
  if (!result) result = driver().cuStreamSynchronize(s.stream);
  return result ? lose(device, detail, result) : read_fault(&s.told->fault, detail);
}

/// An error ends a run as well; finish() names it.
bool is_ended(Device& device) {
  if (is_forked()) return true;
  const Current current(state_of(device).gpu.context);
  return current.refused() || driver().cuStreamQuery(state_of(device).stream) != kNotReady;
}

bool stages(const Device& device) { return !gpu_facts(device.ordinal).is_integrated; }

}  // namespace

uint64_t part_bytes(const StepProgram& program) {
  return sizeof(Part) + uint64_t(count_stretches(program)) * sizeof(StretchPieces);
}

Status build_part(Device& device, const StepProgram& program, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  Part* part = find_part(s, program);
  if (!part) INGOT_TRY(add_part(device, program, &part, detail));
  const Current current(s.gpu.context);
  if (current.refused()) return fail_with(device, detail, current.refused(), Code::kDeviceLost);
  for (uint32_t i = 0; i < part->count; i++) INGOT_TRY(build_piece(device, program, &part->stretches[i], detail));
  return {};
}

Status run_part(Device& device, const StepProgram& program, const RunControl& control, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  INGOT_TRY(check_usable(device, detail));
  const Part* part = find_part(s, program);
  if (!part) return no_graph(device, detail);
  static_cast<volatile Told*>(s.told)->fault = 0;
  const Current current(s.gpu.context);
  if (current.refused()) return lose(device, detail, current.refused());
  return Replay(device, program, *part, control, detail).run();
}

void drop_parts(SessionState* s) {
  while (Part* part = s->parts) {
    for (uint32_t i = 0; i < part->count; i++)
      for (Piece& piece : part->stretches[i].pieces) drop_piece(&piece);
    s->parts = part->next;
    os::heap_release(part);
  }
}

Status check_usable(Device& device, ErrorDetail* detail) {
  if (is_forked()) return fail_on(device, detail, Code::kDeviceLost, kForked);
  if (state_of(device).is_lost) return fail_on(device, detail, Code::kDeviceLost, "device: lost in an earlier run");
  return {};
}

Status lose(Device& device, ErrorDetail* detail, Result result) {
  state_of(device).is_lost = true;
  return fail_with(device, detail, result, Code::kDeviceLost);
}

Status read_fault(const uint32_t* word, ErrorDetail* detail) {
  const uint32_t fault = *static_cast<const volatile uint32_t*>(word);
  if (!fault) return {};
  (void)fail(detail, Code::kBadIndexValue, "an index tensor holds an index outside its range");
  if (detail) detail->instruction = fault - 1;
  return Status(Code::kBadIndexValue, fault - 1);
}

const QueueInterface kCudaQueue = {launch,     finish,      is_ended,    stages,      queue_bytes,
                                   open_queue, close_queue, submit_slot, collect_slot};

}  // namespace ingot::cuda
