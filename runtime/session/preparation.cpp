// SPDX-License-Identifier: Apache-2.0
// runtime/session/preparation.cpp - binding, planning, kernels, threads.
#include "runtime/session/preparation.h"

#include <cstring>

#include "runtime/base/checked_math.h"
#include "runtime/base/os/memory.h"
#include "runtime/op/tree_ensemble.h"
#include "runtime/plan/greedy_planner.h"
#include "runtime/plan/verify_plan.h"
#include "runtime/session/assignment.h"
#include "runtime/session/backend_services.h"
#include "runtime/session/choose_threads.h"
#include "runtime/session/layout.h"
#include "runtime/session/packed_f16_weights.h"
#include "runtime/session/scratch_places.h"

namespace ingot {
namespace {

/// Of an ensemble: steps take a nanosecond and a fifth each, which 24 bytes do elsewhere, however
/// large its tables are.
uint64_t tree_traffic(const OpArguments& a) {
  constexpr uint64_t kStepBytes = 24;
  const TreeEnsembleAttributes& t = a.as<TreeEnsembleAttributes>();
  const uint64_t steps = uint64_t(t.trees) * (uint64_t(t.depth) + 1);  // below 2^46
  uint64_t all;
  return checked_mul(steps * kStepBytes, uint64_t(a.inputs[0].dims[0]), &all) ? all
                                                                              : uint64_t{1} << 62;
}

Status refuse_binding(ErrorDetail* detail, Code code, const char* field, const DimBinding& binding,
                      uint64_t need) {
  const Status status = fail(detail, code, field, need, uint64_t(binding.value));
  name_error(detail, binding.name);
  return status;
}

/// The upper bound of every symbol: as asked for, as in the file, or where neither says one, what
/// it is bound to.
Status find_highs(const ProgramDef& program, const SessionRequest& request, const Workspace& w,
                  ErrorDetail* detail) {
  for (size_t i = 0; i < program.free_symbols; i++) w.symbol_highs[i] = -1;
  INGOT_TRY(
      read_bindings(program, request.upper_bounds, "options.upper_bounds", w.symbol_highs, detail));
  for (size_t i = 0; i < program.free_symbols; i++) {
    const SymbolDef& symbol = program.symbols[i];
    if (w.symbol_highs[i] < 0) w.symbol_highs[i] = symbol.high ? symbol.high : w.symbol_values[i];
    Status status;
    if (w.symbol_highs[i] < 0)
      status = fail(detail, Code::kUnboundDimension,
                    "options.upper_bounds, which a rebindable session needs");
    else if (w.symbol_values[i] > w.symbol_highs[i])
      status = fail(detail, Code::kDimensionOutOfBounds,
                    "options.bindings: for these upper bounds at most", uint64_t(w.symbol_highs[i]),
                    uint64_t(w.symbol_values[i]));
    if (status.ok()) continue;
    name_error(detail, symbol.name);
    if (detail && status.code() == Code::kUnboundDimension)
      detail->hint = "or convert with --dim NAME=LOW..HIGH";
    return status;
  }
  return {};
}

/// Bytes of each value at the corners of the bounds: all of them for up to six symbols, else each
/// symbol low by itself, and all. What lies between is checked when it is bound.
void measure_corners(const ProgramDef& program, const Workspace& w) {
  constexpr size_t kMaxCrossed = 6;
  const size_t symbols = program.free_symbols;
  const size_t corners = symbols <= kMaxCrossed ? size_t{1} << symbols : symbols + 2;
  for (size_t i = 0; i < program.values.size; i++) w.capacities[i] = 0;
  for (size_t corner = 0; corner < corners; corner++) {
    for (size_t i = 0; i < symbols; i++) {
      const bool low =
          symbols <= kMaxCrossed ? (corner >> i) & 1 : corner == i + 1 || corner == symbols + 1;
      w.symbol_values[i] = low && program.symbols[i].low < w.symbol_highs[i]
                               ? program.symbols[i].low
                               : w.symbol_highs[i];
    }
    raise_value_bytes(program, {w.symbol_values, symbols}, {w.binding, size_t(w.binding_bytes)},
                      w.capacities);
  }
}

Status bind(const OpenModel& model, const SessionRequest& request, PlannedProgram* planned,
            ErrorDetail* detail) {
  const ProgramDef& program = model.program;
  const Workspace& w = model.workspace;
  for (size_t i = 0; i < program.free_symbols; i++) w.symbol_values[i] = -1;
  INGOT_TRY(read_bindings(program, request.bindings, "options.bindings", w.symbol_values, detail));
  if (model.is_static) {
    planned->bound = model.bound;
    return {};
  }
  const int64_t* values = w.symbol_values;
  if (request.rebindable) {
    INGOT_TRY(find_highs(program, request, w, detail));
    measure_corners(program, w);
    planned->capacities = {w.capacities, program.values.size};
    planned->symbol_highs = {w.symbol_highs, program.free_symbols};
    values = w.symbol_highs;
  }
  return bind_program(program, {values, program.free_symbols}, {w.binding, size_t(w.binding_bytes)},
                      &planned->bound, detail);
}

Status place(const OpenModel& model, const LifetimeRules& rules, PlannedProgram* planned,
             ErrorDetail* detail) {
  const ProgramDef& program = model.program;
  const Workspace& w = model.workspace;
  const Span<uint8_t> planner(w.planner, size_t(w.planner_bytes));
  const uint32_t steps = uint32_t(program.steps.size ? program.steps.size : 1);
  planned->lower_bound =
      live_peak(planned->lifetimes, program.alignment,
                {reinterpret_cast<uint64_t*>(w.planner), size_t(steps) + 1}, &planned->peak_step);
  const bool as_converted = !rules.ports_outside && !rules.keep_values && model.is_static;
  const Span<const uint64_t> file = as_converted ? program.plan_offsets : Span<const uint64_t>();
  if (os::kHasOtherDevices && !planned->f16_storage.empty())
    return backend_services()->f16->place(model, file, planned, detail);
  if (!file.empty()) {
    planned->offsets = file;
    return {};
  }
  if (!os::kHasPlanner)
    return fail(detail, Code::kUnsupportedFeature,
                "plan: firmware runs the plan in the file, as it is");
  PlanSummary summary;
  const Span<uint64_t> offsets(w.offsets, program.values.size);
  INGOT_TRY(plan_greedy(planned->lifetimes, steps, program.alignment, planner, offsets, &summary,
                        detail));
  planned->offsets = {w.offsets, program.values.size};
  return {};
}

/// What the plan takes is where its highest tensor ends.
Status measure_plan(const ProgramDef& program, PlannedProgram* planned, ErrorDetail* detail) {
  for (size_t i = 0; i < planned->lifetimes.size; i++) {
    const uint64_t bytes = planned->lifetimes[i].bytes;
    uint64_t end;
    if (!bytes || planned->offsets[i] == kNoOffset) continue;
    if (!checked_add(planned->offsets[i], bytes, &end) ||
        !checked_align(end, program.alignment, &end))
      return fail(detail, Code::kPlanInvalid, "plan: a tensor leaves the region", ~uint64_t{0},
                  planned->offsets[i]);
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

Status choose_device(const OpenModel& model, const SessionRequest& request, Preparation* p,
                     ErrorDetail* detail) {
  const DeviceAssignment* a = request.assignment;
  if (!a) {
    const Status status = find_device(request.device, &p->device, detail);
    if (request.device_reason) p->device.reason = request.device_reason;
    p->device.stream = request.gpu_stream;
    p->device.host_branches = request.host_branches;
    p->device.blocking_wait = request.blocking_wait;
    return status;
  }
  if (a->model != &model)
    return fail(detail, Code::kInvalidArgument, "options.assignment: of another model");
  if (request.strict && a->lacking != kNoInstruction) {
    (void)no_kernel(model, a->lacking, detail);
    if (detail) detail->field = missing_kernel_text(a->lack, true);
    return Status(Code::kNoKernel, a->lacking);
  }
  p->device = a->used_count == 1 ? a->devices[a->only] : a->split;
  p->device.host_branches = request.host_branches;
  p->device.blocking_wait = request.blocking_wait;
  if (a->used_count == 1) return {};
  p->split = &a->plan;
  *p->split = SplitPlan();
  p->split->assignment = a;
  return {};
}

bool has_branches(const ProgramDef& program, const Preparation& p) {
  for (size_t i = 0; i < program.instructions.size; i++) {
    if (!is_control(program.instructions[i].op)) continue;
    const DeviceAssignment* a = p.split ? p.split->assignment : nullptr;
    const Device& device = a ? a->devices[a->of_instruction[i]] : p.device;
    if (device.interface->runs_segments) return true;
  }
  return false;
}

}  // namespace

Status read_bindings(const ProgramDef& program, Span<const DimBinding> bindings, const char* field,
                     int64_t* values, ErrorDetail* detail) {
  for (size_t k = 0; k < bindings.size; k++) {
    const DimBinding& binding = bindings[k];
    if (!binding.name) return fail(detail, Code::kInvalidArgument, "a binding's name is null");
    size_t i = 0;
    while (i < program.free_symbols && std::strcmp(program.symbols[i].name, binding.name) != 0) i++;
    if (i == program.free_symbols)
      return refuse_binding(detail, Code::kNotFound, field, binding, 0);
    if (binding.value < 0)
      return refuse_binding(detail, Code::kDimensionOutOfBounds, "options.bindings: at least",
                            binding, uint64_t(program.symbols[i].low));
    for (size_t earlier = 0; earlier < k; earlier++)
      if (bindings[earlier].value != binding.value &&
          std::strcmp(bindings[earlier].name, binding.name) == 0)
        return refuse_binding(detail, Code::kInvalidArgument, field, binding,
                              uint64_t(bindings[earlier].value));
    values[i] = binding.value;
  }
  return {};
}

Status plan_program(const OpenModel& model, const SessionRequest& request, const Device* device,
                    PlannedProgram* out, ErrorDetail* detail) {
  const ProgramDef& program = model.program;
  const Workspace& w = model.workspace;
  PlannedProgram planned;
  INGOT_TRY(bind(model, request, &planned, detail));
  find_lifetimes(program, planned.bound, request.rules, {w.lifetimes, program.values.size});
  for (size_t i = 0; i < planned.capacities.size; i++) {
    if (w.lifetimes[i].bytes)
      w.lifetimes[i].bytes = w.capacities[i];
    else if (planned.bound.value_bytes[i] == 0)
      w.capacities[i] = 0;  // empty at the upper bounds, hence without a place
  }
  planned.lifetimes = {w.lifetimes, program.values.size};
  if (os::kHasOtherDevices && device && device->interface->choose_f16)
    INGOT_TRY(backend_services()->f16->halve(model, request, *device, &planned, detail));
  INGOT_TRY(place(model, request.rules, &planned, detail));
  INGOT_TRY(measure_plan(program, &planned, detail));
  Status status = verify_plan(planned.lifetimes, planned.offsets, planned.bytes, program.alignment,
                              {w.planner, size_t(w.planner_bytes)}, detail);
  if (status.ok() && planned.offsets.data == program.plan_offsets.data &&
      planned.bytes > program.plan_bytes)
    status = fail(detail, Code::kPlanInvalid, "plan.bytes", planned.bytes, program.plan_bytes);
  if (!status.ok()) {
    if (detail && detail->operand >= 0)
      name_error(detail, program.values[size_t(detail->operand)].name);
    return status;
  }
  *out = planned;
  return {};
}

OpArguments operand_types(const ProgramDef& program, const BoundProgram& bound, uint32_t index,
                          TensorView* operands) {
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
  constexpr uint64_t kMax = uint64_t{1} << 62;
  uint64_t total = 0;
  const auto add = [&](uint64_t bytes) { total = bytes > kMax - total ? kMax : total + bytes; };
  for (uint32_t k = 0; k < model.program.instructions.size; k++) {
    const InstructionDef& instruction = model.program.instructions[k];
    const auto bytes = [&](int32_t value) { return value < 0 ? 0 : bound.value_bytes[value]; };
    uint64_t made = 0;
    for (uint32_t i = 0; i < instruction.output_count; i++) made += bytes(instruction.outputs[i]);
    add(made);
    const bool gathers = instruction.op == OpCode::kGather || instruction.op == OpCode::kGatherNd ||
                         instruction.op == OpCode::kBlockGather;
    const bool walks = instruction.op == OpCode::kTreeEnsemble;
    for (uint32_t i = 0; i < instruction.input_count; i++) {
      const uint64_t all = bytes(instruction.inputs[i]);
      if (!walks || i == 0) add(gathers && i == 0 && all > made ? made : all);
    }
    if (walks) add(tree_traffic(operand_types(model.program, bound, k, model.workspace.operands)));
  }
  return total;
}

Status find_kernels(const OpenModel& model, const BoundProgram& bound, int threads, bool for_all,
                    TensorView* operands, ScratchPlace* needs, ScratchTotals* out,
                    ErrorDetail* detail) {
  *out = {};
  const auto blocks = [](uint64_t bytes) {
    const uint64_t count = bytes / kScratchBlock;
    return count < UINT32_MAX ? uint32_t(count) : UINT32_MAX;
  };
  for (uint32_t i = 0; i < model.program.instructions.size; i++) {
    if (needs) needs[i] = {};
    const InstructionDef& instruction = model.program.instructions[i];
    if (is_control(instruction.op)) continue;
    const OpArguments arguments = operand_types(model.program, bound, i, operands);
    const KernelEntry* kernel = find_kernel(*model.kernels, instruction.op, arguments);
    if (!kernel) return no_kernel(model, i, detail);
    if (!instruction.contract->scratch) continue;
    const auto scratch = for_all && instruction.contract->scratch_bound
                             ? instruction.contract->scratch_bound
                             : instruction.contract->scratch;
    const ScratchNeed need = scratch(arguments, threads);
    uint64_t per_thread, shared;
    if (!checked_align(need.per_thread_bytes, 64, &per_thread) ||
        !checked_align(need.shared_bytes, 64, &shared)) {
      (void)fail(detail, Code::kLimitExceeded, "scratch bytes", ~0ull, need.per_thread_bytes);
      return Status(Code::kLimitExceeded, i);
    }
    if (per_thread > out->per_thread) out->per_thread = per_thread;
    if (shared > out->shared) out->shared = shared;
    if (needs) needs[i].stride = blocks(per_thread), needs[i].at = blocks(shared);
  }
  return {};
}

void mark_f16_weights(const OpenModel& model, const Device& device,
                      const InstructionDef& instruction, TensorView* inputs) {
  for (uint32_t k = 1; k < instruction.input_count; k++)
    if (has_f16_weights(model, device, instruction.inputs[k])) inputs[k].dtype = DType::kF16;
}

uint64_t find_word_bytes(const OpenModel& model, const Device& device,
                         const uint8_t* of_instruction, uint32_t index) {
  const DeviceInterface& d = *device.interface;
  const uint64_t counters = d.zeroed_bytes ? d.zeroed_bytes(model.program.precision) : 0;
  if (!d.loop_counter_bytes) return counters;
  for (uint32_t i = 0; i < model.program.instructions.size; i++)
    if (model.program.instructions[i].op == OpCode::kLoop &&
        (!of_instruction || of_instruction[i] == index))
      return counters + d.loop_counter_bytes(uint32_t(model.program.subprograms.size));
  return counters;
}

namespace {

bool takes_f16_weights(const OpenModel& model, const Device& device) {
  return device.interface->takes_f16_weights &&
         device.interface->takes_f16_weights(device, model.program.precision);
}

}  // namespace

bool holds_f16_weights(const OpenModel& model, const Device& device) {
  return model.f16_weights.bytes && takes_f16_weights(model, device);
}

Status place_f16_weights(const OpenModel& model, const Device& device, ErrorDetail* detail) {
  if (model.f16_weights.code || !model.program.precision || !takes_f16_weights(model, device))
    return {};
  return backend_services()->f16_weights->place(model, detail);
}

StepProgram outline_of(const ProgramDef& program, const Device& device) {
  StepProgram outline;
  outline.steps = program.steps;
  outline.instructions = program.instructions;
  outline.values = program.values;
  if (device.interface->reserve_host)
    outline.ports.size =
        program.inputs.size + program.outputs.size + program.symbols.size - program.free_symbols;
  if (os::kHasOtherDevices) outline.host_decides = why_host_decides(device);
  return outline;
}

bool ports_may_be_outside(const SessionRequest& request) {
  const DeviceAssignment* a = request.assignment;
  if (a) return a->used_count == 1 && a->devices[a->only].interface->host_memory;
  Device device;
  return !find_device(request.device, &device, nullptr).ok() || device.interface->host_memory;
}

Status prepare(const OpenModel& model, const SessionRequest& request, Preparation* out,
               ErrorDetail* detail) {
  Preparation p;
  constexpr size_t kMaxPorts = 4096;  // ports are compared pairwise
  if (model.program.inputs.size > kMaxPorts || model.program.outputs.size > kMaxPorts)
    return fail(detail, Code::kLimitExceeded, "inputs or outputs", kMaxPorts,
                model.program.inputs.size);
  INGOT_TRY(choose_device(model, request, &p, detail));
  INGOT_TRY(plan_program(model, request, p.split ? nullptr : &p.device, &p.planned, detail));
  // Contracts have f32 there, and are asked again where data decide extents.
  p.planned.bound.has_bf16_weights = os::kHasBf16Weights && model.kernels->takes_bf16_weights &&
                                     !p.split && p.device.interface->host_memory &&
                                     model.program.symbols.size == model.program.free_symbols;
  INGOT_TRY(choose_threads(model, request, &p, detail));
  p.ignores_tunings = request.ignore_tunings;
  if (os::kHasOtherDevices && p.device.interface->variant)
    INGOT_TRY(backend_services()->tunings(model, &p, detail));
  const bool for_all =
      request.rebindable || model.program.symbols.size > model.program.free_symbols;
  const Span<ScratchPlace> needs(model.workspace.scratch_needs, model.program.instructions.size);
  INGOT_TRY(find_kernels(model, p.planned.bound, p.threads, for_all, model.workspace.operands,
                         needs.data, &p.scratch, detail));
  if (os::kHasOtherDevices) INGOT_TRY(place_f16_weights(model, p.device, detail));
  if (os::kHasOtherDevices && p.device.interface->scratch) {
    p.scratch = {};
    INGOT_TRY(backend_services()->device_scratch(
        model, p.planned.bound, p.device, {p.planned.f16_storage, tunings_of(p)},
        model.workspace.operands, &p.scratch.per_thread, detail));
    p.scratch.shared = find_word_bytes(model, p.device, nullptr, 0);
  }
  p.has_branches = os::kHasOtherDevices && has_branches(model.program, p);
  const DeviceInterface& device = *p.device.interface;
  if (!p.split && (!p.has_branches || device.is_one_segment(outline_of(model.program, p.device))))
    p.queue = device.queue;
  p.starts_background = request.asynchronous && !p.queue;
  if (p.starts_background && !os::kHasThreads)
    return fail(detail, Code::kThreadFailed,
                "options.flags: INGOT_ASYNC, and this system has no threads");
  if (p.split) INGOT_TRY(request.assignment->code->plan(model, request.rules, &p, detail));
  place_scratch(model, request, needs, &p);
  INGOT_TRY(lay_out(model, request, p, &p.layout, detail));
  *out = p;
  return {};
}

}  // namespace ingot
