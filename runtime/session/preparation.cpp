// runtime/session/preparation.cpp - binding, planning, kernels, threads.
#include "runtime/session/preparation.h"

#include <cstring>

#include "runtime/base/checked_math.h"
#include "runtime/base/os/memory.h"
#include "runtime/plan/greedy_planner.h"
#include "runtime/plan/verify_plan.h"
#include "runtime/session/layout.h"

namespace ingot {
namespace {

Status refuse_binding(ErrorDetail* detail, Code code, const DimBinding& binding, uint64_t need) {
  const Status status = fail(detail, code, "options.bindings", need, uint64_t(binding.value));
  name_error(detail, binding.name);
  return status;
}

Status bind(const OpenModel& model, Span<const DimBinding> bindings, BoundProgram* out, ErrorDetail* detail) {
  const ProgramDef& program = model.program;
  const Workspace& w = model.workspace;
  for (size_t i = 0; i < program.symbols.size; i++) w.symbol_values[i] = -1;
  for (const DimBinding& binding : bindings) {
    if (!binding.name) return fail(detail, Code::kInvalidArgument, "options.bindings[].name is null");
    size_t i = 0;
    while (i < program.symbols.size && std::strcmp(program.symbols[i].name, binding.name) != 0) i++;
    if (i == program.symbols.size) return refuse_binding(detail, Code::kNotFound, binding, 0);
    if (binding.value < 0)
      return refuse_binding(detail, Code::kDimensionOutOfBounds, binding, uint64_t(program.symbols[i].low));
    if (w.symbol_values[i] >= 0 && w.symbol_values[i] != binding.value)
      return refuse_binding(detail, Code::kInvalidArgument, binding, uint64_t(w.symbol_values[i]));
    w.symbol_values[i] = binding.value;
  }
  if (model.is_static) {
    *out = model.bound;
    return {};
  }
  return bind_program(program, {w.symbol_values, program.symbols.size}, {w.binding, size_t(w.binding_bytes)}, out,
                      detail);
}

Status place(const OpenModel& model, const LifetimeRules& rules, PlannedProgram* planned, ErrorDetail* detail) {
  const ProgramDef& program = model.program;
  const Workspace& w = model.workspace;
  const Span<uint8_t> planner(w.planner, size_t(w.planner_bytes));
  const uint32_t steps = uint32_t(program.steps.size ? program.steps.size : 1);
  planned->lower_bound = live_peak(planned->lifetimes, program.alignment,
                                   {reinterpret_cast<uint64_t*>(w.planner), size_t(steps) + 1}, &planned->peak_step);
  const bool as_cast = !rules.ports_outside && !rules.keep_values && model.is_static;
  if (as_cast && !program.plan_offsets.empty()) {
    planned->offsets = program.plan_offsets;
    return {};
  }
  if (!os::kHasPages)
    return fail(detail, Code::kUnsupportedFeature, "plan: firmware runs the plan in the file, as it is");
  PlanSummary summary;
  const Span<uint64_t> offsets(w.offsets, program.values.size);
  INGOT_TRY(plan_greedy(planned->lifetimes, steps, program.alignment, planner, offsets, &summary, detail));
  planned->offsets = {w.offsets, program.values.size};
  return {};
}

/// What the plan takes is where its highest tensor ends.
Status measure_plan(const ProgramDef& program, PlannedProgram* planned, ErrorDetail* detail) {
  for (size_t i = 0; i < planned->lifetimes.size; i++) {
    const uint64_t bytes = planned->lifetimes[i].bytes;
    uint64_t end;
    if (!bytes || planned->offsets[i] == kNoOffset) continue;
    if (!checked_add(planned->offsets[i], bytes, &end) || !checked_align(end, program.alignment, &end))
      return fail(detail, Code::kPlanInvalid, "plan: a tensor leaves the region", ~uint64_t{0}, planned->offsets[i]);
    if (end > planned->bytes) planned->bytes = end;
    if (program.values[i].kind == ValueKind::kState)
      planned->state_bytes += (bytes + program.alignment - 1) & ~uint64_t(program.alignment - 1);
  }
  return {};
}

Status no_kernel(const OpenModel& model, uint32_t index, ErrorDetail* detail) {
  const InstructionDef& instruction = model.program.instructions[index];
  (void)fail(detail, Code::kNoKernel, "kernel table: no row for these types");
  if (detail) {
    detail->instruction = index;
    detail->hint = op_name(instruction.op);
    if (instruction.output_count && instruction.outputs[0] >= 0)
      name_error(detail, model.program.values[size_t(instruction.outputs[0])].name);
  }
  return Status(Code::kNoKernel, index);
}

// A core moves some 20 bytes in a nanosecond and pauses for some 20: waiting costs a sixteenth of the run, 150 us at
// most.
constexpr uint64_t kTrafficPerSpin = 6400;
constexpr uint64_t kMaxJoinSpins = 8192;
// Some 25 us; waking a helper takes as long.
constexpr uint64_t kWorthSharing = 512 * 1024;

/// Recurrence reads its weights once a step, which the traffic does not tell.
bool has_loop(const ProgramDef& program) {
  for (const InstructionDef& instruction : program.instructions)
    if (instruction.op == OpCode::kRecurrent) return true;
  return false;
}

Status choose_threads(const OpenModel& model, const SessionRequest& request, Preparation* p, ErrorDetail* detail) {
  const uint64_t traffic = traffic_bytes(model, p->planned.bound);
  const int most = request.pool ? request.pool->threads() : kMaxTeam;
  if (request.threads < 0 || request.threads > most)
    return fail(detail, Code::kInvalidArgument,
                request.pool ? "options.threads: more than the pool has" : "options.threads", uint64_t(most),
                uint64_t(request.threads));
  if (!p->device.interface->host_memory) {
    p->threads = 1;
    p->threads_reason = "the device computes by itself";
    return {};
  }
  if (request.threads) {
    p->threads = request.threads;
    p->threads_reason = "asked for";
  } else if (request.pool) {
    p->threads = most;
    p->threads_reason = "all of the pool";
  } else if (traffic < kWorthSharing && !has_loop(model.program)) {
    p->threads_reason = "the program is too short to share; ask for a number to have it";
  } else {
    const int processors = os::kHasThreads ? os::processor_count() : 1;
    p->threads = processors < kMaxTeam ? processors : kMaxTeam;
    p->threads_reason = "one for each processor";
  }
  p->join_spins = uint32_t(traffic / kTrafficPerSpin < kMaxJoinSpins ? traffic / kTrafficPerSpin : kMaxJoinSpins);
  p->starts_threads = p->threads > 1 && !request.pool && !request.executor.parallel;
  if (p->starts_threads && !os::kHasThreads)
    return fail(detail, Code::kThreadFailed, "options.threads: this system has no threads", 1, uint64_t(p->threads));
  return {};
}

}  // namespace

Status plan_program(const OpenModel& model, Span<const DimBinding> bindings, const LifetimeRules& rules,
                    PlannedProgram* out, ErrorDetail* detail) {
  const ProgramDef& program = model.program;
  const Workspace& w = model.workspace;
  PlannedProgram planned;
  INGOT_TRY(bind(model, bindings, &planned.bound, detail));
  find_lifetimes(program, planned.bound, rules, {w.lifetimes, program.values.size});
  planned.lifetimes = {w.lifetimes, program.values.size};
  INGOT_TRY(place(model, rules, &planned, detail));
  INGOT_TRY(measure_plan(program, &planned, detail));
  Status status = verify_plan(planned.lifetimes, planned.offsets, planned.bytes, program.alignment,
                              {w.planner, size_t(w.planner_bytes)}, detail);
  if (status.ok() && planned.offsets.data == program.plan_offsets.data && planned.bytes > program.plan_bytes)
    status = fail(detail, Code::kPlanInvalid, "plan.bytes", planned.bytes, program.plan_bytes);
  if (!status.ok()) {
    if (detail && detail->operand >= 0) name_error(detail, program.values[size_t(detail->operand)].name);
    return status;
  }
  *out = planned;
  return {};
}

OpArguments operand_types(const ProgramDef& program, const BoundProgram& bound, uint32_t index, TensorView* operands) {
  const InstructionDef& instruction = program.instructions[index];
  OpArguments arguments;
  arguments.attributes = bound.attributes ? bound.attributes[index] : instruction.attributes;
  arguments.inputs = operands;
  arguments.outputs = operands + instruction.input_count;
  arguments.input_count = instruction.input_count;
  arguments.output_count = instruction.output_count;
  for (uint32_t i = 0; i < instruction.input_count; i++) {
    operands[i] = {};
    static_cast<TensorType&>(operands[i]) = value_type(program, bound, instruction.inputs[i]);
  }
  for (uint32_t i = 0; i < instruction.output_count; i++) {
    TensorView& view = operands[instruction.input_count + i];
    view = {};
    static_cast<TensorType&>(view) = value_type(program, bound, instruction.outputs[i]);
  }
  return arguments;
}

uint64_t traffic_bytes(const OpenModel& model, const BoundProgram& bound) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  uint64_t total = 0;
  const auto add = [&](int32_t value) {
    if (value >= 0) total += bound.value_bytes[value];
    if (total > kMost) total = kMost;
  };
  for (const InstructionDef& instruction : model.program.instructions) {
    for (uint32_t i = 0; i < instruction.input_count; i++) add(instruction.inputs[i]);
    for (uint32_t i = 0; i < instruction.output_count; i++) add(instruction.outputs[i]);
  }
  return total;
}

Status find_kernels(const OpenModel& model, const BoundProgram& bound, int threads, ScratchTotals* out,
                    ErrorDetail* detail) {
  *out = {};
  for (uint32_t i = 0; i < model.program.instructions.size; i++) {
    const InstructionDef& instruction = model.program.instructions[i];
    if (instruction.op == OpCode::kIf) continue;
    const OpArguments arguments = operand_types(model.program, bound, i, model.workspace.operands);
    const KernelEntry* kernel = find_kernel(*model.kernels, instruction.op, arguments);
    if (!kernel) return no_kernel(model, i, detail);
    if (!instruction.contract->scratch) continue;
    const ScratchNeed need = instruction.contract->scratch(arguments, threads);
    uint64_t per_thread, shared;
    if (!checked_align(need.per_thread_bytes, 64, &per_thread) || !checked_align(need.shared_bytes, 64, &shared))
      return Status(fail(detail, Code::kLimitExceeded, "scratch bytes", ~uint64_t{0}, need.per_thread_bytes).code(), i);
    if (per_thread > out->per_thread) out->per_thread = per_thread;
    if (shared > out->shared) out->shared = shared;
  }
  return {};
}

Status prepare(const OpenModel& model, const SessionRequest& request, Preparation* out, ErrorDetail* detail) {
  Preparation p;
  constexpr size_t kMaxPorts = 4096;  // ports are compared pairwise
  if (model.program.inputs.size > kMaxPorts || model.program.outputs.size > kMaxPorts)
    return fail(detail, Code::kLimitExceeded, "inputs or outputs", kMaxPorts, model.program.inputs.size);
  INGOT_TRY(find_device(request.device, &p.device, detail));
  INGOT_TRY(plan_program(model, request.bindings, request.rules, &p.planned, detail));
  INGOT_TRY(choose_threads(model, request, &p, detail));
  INGOT_TRY(find_kernels(model, p.planned.bound, p.threads, &p.scratch, detail));
  INGOT_TRY(lay_out(model, request, p, &p.layout, detail));
  *out = p;
  return {};
}

}  // namespace ingot
