// SPDX-License-Identifier: Apache-2.0
// runtime/session/rebind.cpp - other extents for a session that has its memory: everything is
// validated first, then the tables are filled again. Values stay where the largest binding put
// them.
#include <cstring>

#include "runtime/base/float_state.h"
#include "runtime/base/os/platform.h"
#include "runtime/format/tunings.h"
#include "runtime/session/backend_services.h"
#include "runtime/session/session.h"
#include "runtime/session/split.h"

namespace ingot {
namespace {

/// Within the bounds of the file and those that the session was made for.
Status check_bounds(const ProgramDef& program, const Rebinding& r, ErrorDetail* detail) {
  for (size_t i = 0; i < program.free_symbols; i++) {
    const int64_t low =
        program.symbols[i].low < r.symbol_highs[i] ? program.symbols[i].low : r.symbol_highs[i];
    const int64_t value = r.candidates[i], high = r.symbol_highs[i];
    if (value >= low && value <= high) continue;
    const Status status =
        fail(detail, Code::kDimensionOutOfBounds,
             value < low ? "rebind: in this session at least" : "rebind: in this session at most",
             uint64_t(value < low ? low : high), uint64_t(value));
    name_error(detail, program.symbols[i].name);
    return status;
  }
  return {};
}

/// Of devices with kernels of their own: more parts of k than there is room for, tuned or chosen by
/// the cost model, are not taken.
Status check_device_scratch(const RunSession& s, const BoundProgram& bound, ErrorDetail* detail) {
  const auto check = [&](const Device& device, const uint8_t* of_instruction, uint32_t index,
                         uint64_t have) -> Status {
    if (!device.interface->scratch) return {};
    uint64_t need = 0;
    INGOT_TRY(backend_services()->device_scratch(*s.model, bound, device,
                                                 {{}, {}, of_instruction, index, true},
                                                 s.tables.rebinding.operands, &need, detail));
    return need <= have
               ? Status()
               : fail(detail, Code::kArenaTooSmall, "rebind: scratch of the device", need, have);
  };
  if (!s.split) return check(s.device, nullptr, 0, s.program.scratch_stride);
  const DeviceAssignment& a = *s.split->assignment;
  for (uint32_t d = 1; d < a.device_count; d++)
    if (s.split->shares[d].instructions)
      INGOT_TRY(
          check(s.split->devices[d], a.of_instruction.data, d, s.split->shares[d].scratch_bytes));
  return {};
}

/// What the arena was laid out for suffices.
Status check_capacities(const RunSession& s, const BoundProgram& bound, ErrorDetail* detail) {
  const OpenModel& model = *s.model;
  const Rebinding& r = s.tables.rebinding;
  for (size_t i = 0; i < model.program.values.size; i++) {
    if (bound.value_bytes[i] <= r.capacities[i] ||
        model.program.values[i].kind == ValueKind::kConstant)
      continue;
    const Status status =
        fail(detail, Code::kArenaTooSmall, "rebind: a value is larger than at the bounds",
             bound.value_bytes[i], r.capacities[i]);
    name_error(detail, model.program.values[i].name);
    return status;
  }
  ScratchTotals scratch;
  const bool resolves = s.tables.resolved.sizes != nullptr;
  INGOT_TRY(find_kernels(model, bound, s.threads, resolves, r.operands, nullptr, &scratch, detail));
  if (os::kHasOtherDevices) INGOT_TRY(check_device_scratch(s, bound, detail));
  if (s.device.interface->scratch) return {};  // no kernel of the CPU takes part
  const uint64_t shared = s.layout.scratch_bytes - s.program.scratch_stride * uint64_t(s.threads);
  if (scratch.per_thread > s.program.scratch_stride)
    return fail(detail, Code::kArenaTooSmall, "rebind: scratch of a thread", scratch.per_thread,
                s.program.scratch_stride);
  if (scratch.shared > shared)
    return fail(detail, Code::kArenaTooSmall, "rebind: shared scratch", scratch.shared, shared);
  return {};
}

Preparation preparation_of(const RunSession& s, const BoundProgram& bound) {
  const Rebinding& r = s.tables.rebinding;
  const size_t values = s.model->program.values.size;
  Preparation p;
  p.device = s.device;
  p.layout = s.layout;
  p.split = s.split;
  p.layout.part_offsets = r.part_offsets;
  p.planned.bound = bound;
  p.planned.lifetimes = {r.lifetimes, values};
  p.planned.offsets = {r.offsets, values};
  p.planned.capacities = {r.capacities, values};
  if (r.f16_storage) p.planned.f16_storage = {r.f16_storage, values};
  return p;
}

/// A direct port may lie outside the arena only while it is all of its storage.
Status check_ports(const RunSession& s, const BoundProgram& bound, ErrorDetail* detail) {
  if (!s.rules.ports_outside) return {};
  const auto check = [&](const PortDef& def, const Port& port) -> Status {
    if (port.home || is_direct_port(s.model->program, bound, s.rules, def.value)) return {};
    const Status status = fail(detail, Code::kDimensionOutOfBounds,
                               "rebind: a port has no storage of its own any more");
    name_error(detail, def.name);
    return status;
  };
  for (size_t i = 0; i < s.model->program.inputs.size; i++)
    INGOT_TRY(check(s.model->program.inputs[i], s.tables.inputs[i]));
  for (size_t i = 0; i < s.model->program.outputs.size; i++)
    INGOT_TRY(check(s.model->program.outputs[i], s.tables.outputs[i]));
  return {};
}

bool states_changed(const RunSession& s, const BoundProgram& bound) {
  for (size_t i = 0; i < s.model->program.states.size; i++)
    if (s.tables.states[i].bytes != bound.value_bytes[s.model->program.states[i].value])
      return true;
  return false;
}

}  // namespace

Status rebind_session(RunSession* s, Span<const DimBinding> bindings, ErrorDetail* detail) {
  const DefaultFloatState float_state;
  const OpenModel& model = *s->model;
  const ProgramDef& program = model.program;
  const Rebinding& r = s->tables.rebinding;
  if (!r.binding_bytes && program.free_symbols)
    return fail(detail, Code::kWrongState, "rebind: the session was not made rebindable");
  if (s->is_dead)
    return fail(detail, Code::kWrongState, "rebind: the session is dead since its device failed");
  if (s->is_running) return fail(detail, Code::kWrongState, "rebind: the session is running");
  for (size_t i = 0; i < program.free_symbols; i++) r.candidates[i] = r.symbol_values[i];
  INGOT_TRY(read_bindings(program, bindings, "bindings", r.candidates, detail));
  if (program.free_symbols == 0) return {};
  INGOT_TRY(check_bounds(program, r, detail));
  BoundProgram bound;
  INGOT_TRY(bind_program(program, {r.candidates, program.free_symbols},
                         {r.binding, size_t(r.binding_bytes)}, &bound, detail));
  if (os::kHasBf16Weights) bound.has_bf16_weights = s->layout.has_bf16_weights;
  INGOT_TRY(check_capacities(*s, bound, detail));
  INGOT_TRY(check_ports(*s, bound, detail));
  const bool restart = states_changed(*s, bound);
  if (os::kHasOtherDevices && r.f16_storage)
    backend_services()->f16->choose(model, s->device, bound, s->rules, r.operands, r.f16_storage);
  uint8_t* base = s->device_memory ? s->device_memory : s->arena.base;
  fill_tables(model, preparation_of(*s, bound), s->rules, base, s->tables);
  std::memcpy(r.symbol_values, r.candidates, program.free_symbols * sizeof(int64_t));
  if (s->program.tunings.part.size)
    s->program.tunings.dims = tuning_dims({r.symbol_values, program.free_symbols});
  s->unbound_ports = count_unbound(*s);
  if (restart) INGOT_TRY(reset_state(s, detail));
  const Status status = s->device.interface->resolve(s->device, s->program, detail);
  s->is_dead = !status.ok();
  return status;
}

}  // namespace ingot
