// runtime/device/host/step_loop.cpp - control flow on the leader, kernels on the team.
#include "runtime/device/host/step_loop.h"

#include "runtime/base/os/file.h"
#include "runtime/device/host/crew.h"
#include "runtime/op/control.h"

namespace ingot {
namespace {

/// What the members of a team share in one step.
struct Share {
  const StepProgram* program;
  const Call* call;
  std::atomic<uint32_t> failed{0};  // code of the member that failed last; any will do
};

void run_share(void* argument, const Team& team) {
  Share& share = *static_cast<Share*>(argument);
  Team own = team;
  own.scratch = share.program->scratch + uint64_t(team.id) * share.program->scratch_stride;
  own.shared = share.program->shared_scratch;
  const Status status = share.call->run(share.call->arguments, own);
  if (!status.ok()) share.failed.store(uint32_t(status.code()), std::memory_order_relaxed);
}

Status stopped(ErrorDetail* detail, Code code, const char* field, uint32_t instruction) {
  (void)fail(detail, code, field);
  if (detail) detail->instruction = instruction;
  return Status(code, instruction);
}

Status kernel_failed(ErrorDetail* detail, uint32_t code, uint32_t instruction) {
  const bool is_index = code == uint32_t(Code::kBadIndexValue);
  return stopped(detail, Code(code), is_index ? "an index tensor holds an index outside its range" : "kernel",
                 instruction);
}

/// False when the run is to stop before `instruction`.
Status poll(const RunControl& control, uint32_t instruction, ErrorDetail* detail) {
  if (control.cancel && control.cancel->load(std::memory_order_relaxed)) {
    control.cancel->store(0, std::memory_order_relaxed);
    return stopped(detail, Code::kCancelled, "run: cancelled", instruction);
  }
  if (!control.deadline_ns) return {};
  const uint64_t now = os::monotonic_ns();
  if (now < control.deadline_ns) return {};
  const Status status = stopped(detail, Code::kDeadlineExceeded, "run: deadline in ns", instruction);
  if (detail) {
    detail->need = control.deadline_ns;
    detail->have = now;
  }
  return status;
}

/// Where the steps go on after one that computes nothing. Trip counts are the run's own: no tensor can lengthen a loop
/// that has begun.
class ControlFlow {
 public:
  explicit ControlFlow(const StepProgram& program) : program_(program) {}

  Status next(const StepDef& step, uint32_t* at, ErrorDetail* detail) {
    const Call& call = program_.calls[step.index];
    switch (step.kind) {
      case StepKind::kRun: break;
      case StepKind::kJump: *at = step.target; break;
      case StepKind::kIf:
        if (!*call.arguments.inputs[0].as<const uint8_t>()) *at = step.target;
        break;
      case StepKind::kRefuse:
        return stopped(detail, Code::kControlRefused, "the file was not cast for this branch", step.index);
      case StepKind::kLoop: return begin(step, call.arguments, at, detail);
      case StepKind::kRepeat: {
        const int64_t iteration = ++trips_[step.loop].iteration;
        show(call.arguments, iteration);
        if (iteration < trips_[step.loop].count && goes_on(call.arguments)) *at = step.target;
        break;
      }
    }
    return {};
  }

 private:
  struct Trip {
    int64_t iteration, count;
  };

  Status begin(const StepDef& step, const OpArguments& loop, uint32_t* at, ErrorDetail* detail) {
    const int64_t most = loop.as<LoopAttributes>().most;
    const int64_t count = loop.inputs[0].present() ? *loop.inputs[0].as<const int64_t>() : most;
    if (count > most) {
      const Status status =
          stopped(detail, Code::kControlRefused, "a loop's count is above what the file was cast for", step.index);
      if (detail) detail->need = uint64_t(most), detail->have = uint64_t(count);
      return status;
    }
    trips_[step.loop] = {0, count};
    show(loop, 0);
    if (count < 1 || !goes_on(loop)) *at = step.target;
    return {};
  }
  static bool goes_on(const OpArguments& loop) {
    return !loop.inputs[1].present() || *loop.inputs[1].as<const uint8_t>();
  }
  static void show(const OpArguments& loop, int64_t iteration) {
    if (loop.output_count == 1 && loop.outputs[0].present()) *loop.outputs[0].as<int64_t>() = iteration;
  }

  const StepProgram& program_;
  Trip trips_[kMaxSubprogramDepth] = {};  // of the loops that are open
};

}  // namespace

Status run_steps(const StepProgram& program, const RunControl& control, Crew* crew, ErrorDetail* detail) {
  Share share{&program, nullptr, {}};
  ControlFlow flow(program);
  for (uint32_t i = program.first_step; i < program.steps.size;) {
    const StepDef& step = program.steps[i++];
    if (step.kind != StepKind::kJump) INGOT_TRY(poll(control, step.index, detail));
    const InstructionDef& instruction = program.instructions[step.index];
    const bool has_types = step.kind == StepKind::kRun || step.kind == StepKind::kLoop;
    if (has_types && program.measure.before && (instruction.measures || instruction.is_measured))
      INGOT_TRY(program.measure.before(program.measure.user, step.index, detail));
    if (step.kind != StepKind::kRun) {
      INGOT_TRY(flow.next(step, &i, detail));
      continue;
    }
    share.call = &program.calls[step.index];
    const uint64_t begin = control.watch ? os::monotonic_ns() : 0;
    int team = 1;
    if (crew)
      team = crew->step(run_share, &share);
    else
      run_share(&share, Team{});
    if (control.watch) control.watch(control.watch_user, {step.index, begin, os::monotonic_ns(), team});
    if (const uint32_t code = share.failed.load(std::memory_order_relaxed))
      return kernel_failed(detail, code, step.index);
    if (program.measure.after && instruction.measures)
      INGOT_TRY(program.measure.after(program.measure.user, step.index, detail));
  }
  return {};
}

}  // namespace ingot
