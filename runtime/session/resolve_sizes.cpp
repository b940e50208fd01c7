// SPDX-License-Identifier: Apache-2.0
// runtime/session/resolve_sizes.cpp - see resolve_sizes.h.
#include "runtime/session/resolve_sizes.h"

#include <cstring>

#include "runtime/session/split.h"

namespace ingot {
namespace {

BoundProgram now(const RunSession& s) {
  BoundProgram bound;
  bound.dim_values = s.tables.resolved.dim_values;
  return bound;
}

Status stop(ErrorDetail* detail, Code code, const char* field, uint32_t instruction, uint64_t need,
            uint64_t have) {
  (void)fail(detail, code, field, need, have);
  if (detail) detail->instruction = instruction;
  return Status(code, instruction);
}

Status evaluate(const RunSession& s, ErrorDetail* detail) {
  const ResolvedSizes& m = s.tables.resolved;
  return evaluate_dims(s.model->program, {}, m.sizes, m.dim_values, detail);
}

/// Bytes of its storage that were written in this run, of a value with data-dependent extents: such
/// values lie at its start.
uint64_t& written(const RunSession& s, int32_t value) {
  return s.tables.resolved.written[storage_root(s.model->program, value, s.rules)];
}

/// The type now of a value with data-dependent extents; false where it is larger than what was
/// planned or than what was written.
bool type_written(const RunSession& s, int32_t value, uint64_t* bytes, uint64_t* have,
                  TensorType* type) {
  const BoundProgram bound = now(s);
  const uint64_t planned = s.tables.resolved.capacities[value], filled = written(s, value);
  *have = planned < filled ? planned : filled;
  if (!value_storage(s.model->program, bound, value, bytes) || *bytes > *have) return false;
  *type = value_type(s.model->program, bound, value);
  return true;
}

Status refuse_growth(const RunSession& s, Code code, int32_t value, uint32_t instruction,
                     uint64_t need, uint64_t have, ErrorDetail* detail) {
  const Status status =
      stop(detail, code, "run: more elements than were written; their extent grew since",
           instruction, need, have);
  name_error(detail, s.model->program.values[size_t(value)].name);
  return status;
}

/// The types of an instruction's operands; no value may be larger than it was planned for, nor one
/// that is read larger than what was written.
Status retype(const RunSession& s, uint32_t index, TensorView* operands, ErrorDetail* detail) {
  const ProgramDef& program = s.model->program;
  const InstructionDef& instruction = program.instructions[index];
  const BoundProgram bound = now(s);
  const uint32_t count = uint32_t{instruction.input_count} + instruction.output_count;
  for (uint32_t k = 0; k < count; k++) {
    const int32_t v = k < instruction.input_count
                          ? instruction.inputs[k]
                          : instruction.outputs[k - instruction.input_count];
    if (v < 0 || program.values[size_t(v)].kind == ValueKind::kConstant) continue;
    uint64_t bytes = 0;
    const bool sound = value_storage(program, bound, v, &bytes);
    if (!sound || bytes > s.tables.resolved.capacities[v]) {
      const Status status = stop(detail, Code::kDimensionOutOfBounds,
                                 "run: data-dependent extents need more than was planned", index,
                                 s.tables.resolved.capacities[v], bytes);
      name_error(detail, program.values[size_t(v)].name);
      return status;
    }
    if (program.values[size_t(v)].is_data_dependent) {
      uint64_t& filled = written(s, v);
      if (k >= instruction.input_count)
        filled = bytes;
      else if (bytes > filled)
        return refuse_growth(s, Code::kDimensionOutOfBounds, v, index, bytes, filled, detail);
    }
    static_cast<TensorType&>(operands[k]) = value_type(program, bound, v);
  }
  return {};
}

/// What bind_program() validated of the bounds, for the extents that were found.
Status validate_call(const RunSession& s, uint32_t index, const OpArguments& arguments,
                     ErrorDetail* detail) {
  const ProgramDef& program = s.model->program;
  const InstructionDef& instruction = program.instructions[index];
  Violation violation;
  if (!instruction.contract->check(arguments, &violation)) {
    const Status status = stop(detail, Code::kDimensionOutOfBounds, violation.rule, index,
                               uint64_t(violation.expected), uint64_t(violation.found));
    if (detail) detail->hint = "extents that the data decided contradict each other";
    return status;
  }
  const int32_t y = instruction.output_count ? instruction.outputs[0] : -1;
  if (y < 0 || program.values[size_t(y)].alias != AliasKind::kInPlace) return {};
  const uint32_t allowed =
      instruction.contract->in_place ? instruction.contract->in_place(arguments) : 0;
  for (uint32_t k = 0; k < instruction.input_count && k < 32; k++)
    if (instruction.inputs[k] == program.values[size_t(y)].alias_of && !((allowed >> k) & 1))
      return stop(detail, Code::kDimensionOutOfBounds,
                  "run: data-dependent extents differ where one value replaces another", index,
                  allowed, k);
  return {};
}

Status choose_kernel(RunSession* s, uint32_t index, ErrorDetail* detail) {
  Call& call = s->tables.calls[index];
  call.kernel =
      find_kernel(*s->model->kernels, s->model->program.instructions[index].op, call.arguments);
  if (!call.kernel)
    return stop(detail, Code::kNoKernel, "kernel table: no row for these types", index, 0, 0);
  call.run = call.kernel->run;
  const auto scratch = s->model->program.instructions[index].contract->scratch;
  if (!scratch) return {};
  const ScratchNeed need = scratch(call.arguments, s->threads);
  const uint64_t shared =
      s->layout.scratch_bytes - s->program.scratch_stride * uint64_t(s->threads);
  if (need.per_thread_bytes > s->program.scratch_stride)
    return stop(detail, Code::kArenaTooSmall, "run: scratch of a thread", index,
                need.per_thread_bytes, s->program.scratch_stride);
  if (need.shared_bytes > shared)
    return stop(detail, Code::kArenaTooSmall, "run: shared scratch", index, need.shared_bytes,
                shared);
  return {};
}

Status before(void* user, uint32_t index, ErrorDetail* detail) {
  RunSession* s = static_cast<RunSession*>(user);
  const ProgramDef& program = s->model->program;
  const InstructionDef& instruction = program.instructions[index];
  if (instruction.resolves) {  // again, in a loop: until it has run its sizes are at their bounds
    for (size_t i = program.free_symbols; i < program.symbols.size; i++)
      for (uint32_t k = 0; k < instruction.output_count; k++)
        if (program.symbols[i].resolved_by == instruction.outputs[k])
          s->tables.resolved.sizes[i - program.free_symbols] = -1;
    INGOT_TRY(evaluate(*s, detail));
  }
  if (!instruction.is_data_dependent) return {};
  Call& call = s->tables.calls[index];
  INGOT_TRY(retype(*s, index, const_cast<TensorView*>(call.arguments.inputs), detail));
  if (instruction.symbolic_slot >= 0) {
    int64_t wrong = 0;
    if (!resolve_attributes(instruction, now(*s), const_cast<void*>(call.arguments.attributes),
                            &wrong))
      return stop(detail, Code::kDimensionOutOfBounds, "run: a data-dependent start or pad", index,
                  0, uint64_t(wrong));
  }
  INGOT_TRY(validate_call(*s, index, call.arguments, detail));
  return choose_kernel(s, index, detail);
}

/// Where the CPU finds the number that output k of an instruction is.
int64_t found_by(const RunSession& s, uint32_t index, uint32_t k, size_t symbol) {
  if (s.tables.found) return *static_cast<const volatile int64_t*>(&s.tables.found[symbol]);
  void* at = s.tables.calls[index].arguments.outputs[k].data;
  if (s.split)
    at = s.split->assignment->code->home(s, index, s.model->program.instructions[index].outputs[k],
                                         at);
  return *static_cast<const int64_t*>(at);
}

Status after(void* user, uint32_t index, ErrorDetail* detail) {
  RunSession* s = static_cast<RunSession*>(user);
  const ProgramDef& program = s->model->program;
  const InstructionDef& instruction = program.instructions[index];
  const ResolvedSizes& m = s->tables.resolved;
  for (size_t i = program.free_symbols; i < program.symbols.size; i++) {
    const SymbolDef& symbol = program.symbols[i];
    for (uint32_t k = 0; k < instruction.output_count; k++) {
      if (symbol.resolved_by != instruction.outputs[k]) continue;
      const int64_t found = found_by(*s, index, k, i - program.free_symbols);
      const int64_t most = symbol.bound >= 0 ? symbol.bound : m.dim_values[-1 - symbol.bound];
      if (found < 0 || found > most) {
        const char* what = found < 0 ? "run: the shapes that the data ask for do not fit"
                                     : "run: a data-dependent size is beyond its bound";
        const Status status =
            stop(detail, Code::kDimensionOutOfBounds, what, index, uint64_t(most), uint64_t(found));
        name_error(detail, symbol.name);
        return status;
      }
      m.sizes[i - program.free_symbols] = found;
    }
  }
  INGOT_TRY(evaluate(*s, detail));
  const BoundProgram bound = now(*s);
  for (uint32_t k = 0; k < instruction.output_count; k++) {  // as many as were found
    const int32_t v = instruction.outputs[k];
    uint64_t bytes = 0;
    if (v < 0 || !program.values[size_t(v)].is_data_dependent) continue;
    written(*s, v) = value_storage(program, bound, v, &bytes) ? bytes : 0;
  }
  return {};
}

}  // namespace

ResolveHook resolve_hook(RunSession* session) {
  if (!session->tables.resolved.sizes) return {};
  return {session, before, after};
}

void begin_resolving(RunSession* s) {
  if (!s->tables.resolved.sizes) return;
  const ProgramDef& program = s->model->program;
  for (size_t i = program.free_symbols; i < program.symbols.size; i++)
    s->tables.resolved.sizes[i - program.free_symbols] = -1;
  std::memset(s->tables.resolved.written, 0, program.values.size * sizeof(uint64_t));
  (void)evaluate(*s, nullptr);  // as when it was bound
}

Status read_resolved(RunSession* s, ErrorDetail* detail) {
  if (!s->tables.found) return {};
  const Span<const InstructionDef> instructions = s->model->program.instructions;
  for (uint32_t i = 0; i < instructions.size; i++)
    if (instructions[i].resolves) INGOT_TRY(after(s, i, detail));
  return {};
}

Status show_resolved(RunSession* s, ErrorDetail* detail) {
  if (!s->tables.resolved.sizes) return {};
  for (size_t i = 0; i < s->model->program.outputs.size; i++) {
    Port& port = s->tables.outputs[i];
    if (!s->model->program.values[size_t(port.value)].is_data_dependent) continue;
    uint64_t bytes, have;
    TensorType type;
    if (!type_written(*s, port.value, &bytes, &have, &type))
      return refuse_growth(*s, Code::kDimensionOutOfBounds, port.value, kNoInstruction, bytes, have,
                           detail);
    // A device's memory has the rows as the program left them: see bind_port_on_device().
    const bool keeps_stride = port.is_bound && !port.is_direct && !port.on_device;
    const int64_t stride = keeps_stride ? port.view.row_stride : type.row_stride;
    static_cast<TensorType&>(port.view) = type;
    port.view.row_stride = stride;
    port.home_stride = type.row_stride;
  }
  return {};
}

Status type_resolved(const RunSession& s, int32_t value, TensorType* type, ErrorDetail* detail) {
  if (!s.model->program.values[size_t(value)].is_data_dependent) return {};
  uint64_t bytes, have;
  if (type_written(s, value, &bytes, &have, type)) return {};
  return refuse_growth(s, Code::kWrongState, value, kNoInstruction, bytes, have, detail);
}

}  // namespace ingot
