// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/step_loop.cpp - control flow on the leader, kernels on the team.
#include "runtime/device/host/step_loop.h"

#include "runtime/base/os/file.h"
#include "runtime/device/control_flow.h"
#include "runtime/device/host/thread_team.h"
#include "runtime/op/custom.h"

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
  const StepProgram& program = *share.program;
  Team own = team;
  if (program.scratch_places) {
    const ScratchPlace& place = program.scratch_places[share.call - program.calls.data];
    uint8_t* const at = program.scratch + place.at * kScratchBlock;
    own.scratch = at + uint64_t(team.id) * place.stride * kScratchBlock;
    own.shared = at + uint64_t(program.threads) * place.stride * kScratchBlock;
  } else {
    own.scratch = program.scratch + uint64_t(team.id) * program.scratch_stride;
    own.shared = program.shared_scratch;
  }
  const Status status = share.call->run(share.call->arguments, own);
  if (!status.ok()) share.failed.store(uint32_t(status.code()), std::memory_order_relaxed);
}

Status stopped(ErrorDetail* detail, Code code, const char* field, uint32_t instruction) {
  (void)fail(detail, code, field);
  if (detail) detail->instruction = instruction;
  return Status(code, instruction);
}

Status kernel_failed(const StepProgram& program, ErrorDetail* detail, uint32_t code,
                     uint32_t instruction) {
  const bool is_index = code == uint32_t(Code::kBadIndexValue);
  const bool is_custom = program.instructions[instruction].op == OpCode::kCustom;
  const Status status = stopped(detail, Code(code),
                                is_index    ? "an index tensor holds an index outside its range"
                                : is_custom ? "its run() returned an error"
                                            : "kernel",
                                instruction);
  if (is_custom && detail)
    program.instructions[instruction].contract->custom->name(
        program.calls[instruction].arguments.as<CustomAttributes>(), detail);
  return status;
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
  const Status status =
      stopped(detail, Code::kDeadlineExceeded, "run: deadline in ns", instruction);
  if (detail) {
    detail->need = control.deadline_ns;
    detail->have = now;
  }
  return status;
}

/// What decides lies where the kernels left it.
class HostOperands {
 public:
  explicit HostOperands(const StepProgram& program) : program_(program) {}

  bool condition(uint32_t instruction, uint32_t operand) const {
    return *arguments(instruction).inputs[operand].as<const uint8_t>() != 0;
  }
  int64_t count(uint32_t instruction) const {
    return *arguments(instruction).inputs[0].as<const int64_t>();
  }
  void show(uint32_t instruction, int64_t iteration) const {
    const OpArguments& loop = arguments(instruction);
    if (loop.output_count == 1 && loop.outputs[0].present())
      *loop.outputs[0].as<int64_t>() = iteration;
  }
  void enter(uint32_t) const {}

 private:
  const OpArguments& arguments(uint32_t instruction) const {
    return program_.calls[instruction].arguments;
  }

  const StepProgram& program_;
};

}  // namespace

Status run_steps(const StepProgram& program, const RunControl& control, ThreadTeam* thread_team,
                 ErrorDetail* detail) {
  Share share{&program, nullptr, {}};
  HostOperands operands(program);
  ControlFlow<HostOperands> flow(program, &operands);
  for (uint32_t i = program.first_step; i < program.steps.size;) {
    const StepDef& step = program.steps[i++];
    if (step.kind != StepKind::kJump) INGOT_TRY(poll(control, step.index, detail));
    const InstructionDef& instruction = program.instructions[step.index];
    const bool has_types = step.kind == StepKind::kRun || step.kind == StepKind::kLoop;
    if (has_types && program.resolve.before &&
        (instruction.resolves || instruction.is_data_dependent))
      INGOT_TRY(program.resolve.before(program.resolve.user, step.index, detail));
    if (step.kind != StepKind::kRun) {
      INGOT_TRY(flow.next(step, &i, detail));
      continue;
    }
    share.call = &program.calls[step.index];
    const uint64_t begin = control.watch ? os::monotonic_ns() : 0;
    int team = 1;
    if (thread_team)
      team = thread_team->step(run_share, &share);
    else
      run_share(&share, Team{});
    if (control.watch)
      control.watch(control.watch_user, {step.index, begin, os::monotonic_ns(), team});
    if (const uint32_t code = share.failed.load(std::memory_order_relaxed))
      return kernel_failed(program, detail, code, step.index);
    if (program.resolve.after && instruction.resolves)
      INGOT_TRY(program.resolve.after(program.resolve.user, step.index, detail));
  }
  return {};
}

}  // namespace ingot
