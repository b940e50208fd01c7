// runtime/device/host/step_loop.cpp - control flow on the leader, kernels on the team.
#include "runtime/device/host/step_loop.h"

#include "runtime/base/os/file.h"
#include "runtime/device/host/crew.h"

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

}  // namespace

Status run_steps(const StepProgram& program, const RunControl& control, Crew* crew, ErrorDetail* detail) {
  Share share{&program, nullptr, {}};
  for (uint32_t i = 0; i < program.steps.size;) {
    const StepDef& step = program.steps[i++];
    if (step.kind == StepKind::kJump) {
      i = step.target;
      continue;
    }
    INGOT_TRY(poll(control, step.index, detail));
    const Call& call = program.calls[step.index];
    if (step.kind == StepKind::kIf) {
      if (!*call.arguments.inputs[0].as<const uint8_t>()) i = step.target;
      continue;
    }
    share.call = &call;
    const uint64_t begin = control.watch ? os::monotonic_ns() : 0;
    int team = 1;
    if (crew)
      team = crew->step(run_share, &share);
    else
      run_share(&share, Team{});
    if (control.watch) control.watch(control.watch_user, {step.index, begin, os::monotonic_ns(), team});
    if (const uint32_t code = share.failed.load(std::memory_order_relaxed))
      return kernel_failed(detail, code, step.index);
  }
  return {};
}

}  // namespace ingot
