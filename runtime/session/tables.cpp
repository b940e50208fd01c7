// SPDX-License-Identifier: Apache-2.0
// runtime/session/tables.cpp - resolves a program: addresses, kernels, ports.
#include "runtime/session/tables.h"

#include <cstring>
#include <new>

#include "runtime/device/gpu/service_kernels.h"
#include "runtime/op/control.h"
#include "runtime/op/pad.h"
#include "runtime/op/slice.h"
#include "runtime/session/backend_services.h"
#include "runtime/session/session.h"

namespace ingot {
namespace {

constexpr uint64_t kAttributeAlignment = 16;

/// Attributes that bind_program() resolved lie in the workspace, which the next binding overwrites:
/// the session keeps a copy.
uint64_t resolved_bytes(const OpenModel& model, const BoundProgram& bound, uint32_t index) {
  const InstructionDef& instruction = model.program.instructions[index];
  if (instruction.symbolic_slot < 0 || (model.is_static && !instruction.is_data_dependent))
    return 0;
  if (!bound.attributes || bound.attributes[index] == instruction.attributes) return 0;
  if (instruction.op == OpCode::kSlice) return sizeof(SliceAttributes);
  if (instruction.op == OpCode::kPad) return sizeof(PadAttributes);
  if (instruction.op == OpCode::kLoop) return sizeof(LoopAttributes);
  return 0;
}

uint64_t rounded_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) & ~(to - 1); }

/// Of a value at any binding.
uint64_t most_bytes(const Preparation& p, int32_t value) {
  return p.planned.capacities.empty() ? p.planned.bound.value_bytes[value]
                                      : p.planned.capacities[size_t(value)];
}

uint64_t port_bytes(const Preparation& p, Span<const PortDef> ports) {
  uint64_t total = 0;
  for (const PortDef& port : ports) total += rounded_up(most_bytes(p, port.value), 64);
  return total;
}

Rebinding carve_rebinding(const OpenModel& model, const Preparation& p, BumpAllocator* bump) {
  Rebinding r;
  if (p.planned.capacities.empty()) return r;
  const size_t symbols = model.program.free_symbols, values = model.program.values.size;
  r.symbol_values = bump->take<int64_t>(symbols);
  r.candidates = bump->take<int64_t>(symbols);
  r.symbol_highs = bump->take<int64_t>(symbols);
  r.binding_bytes = model.workspace.binding_bytes;
  r.binding = bump->take<uint8_t>(r.binding_bytes, 16);
  r.capacities = bump->take<uint64_t>(values);
  r.lifetimes = bump->take<Lifetime>(values);
  r.offsets = bump->take<uint64_t>(values);
  r.part_offsets = bump->take<uint64_t>(model.file.weight_part_count);
  r.operands = bump->take<TensorView>(model.program.max_operands);
  if (p.planned.chooses_f16) r.f16_storage = bump->take<uint64_t>(values);
  return r;
}

/// Addresses of values for the kernels.
class Addresses {
 public:
  Addresses(const OpenModel& model, const Preparation& p, const LifetimeRules& rules, uint8_t* base)
      : model_(model), p_(p), rules_(rules), base_(base) {}

  int32_t root(int32_t value) const { return storage_root(model_.program, value, rules_); }
  /// Where the storage lies with the caller: the offset from its start.
  uint8_t* of(int32_t value) const {
    const int32_t storage = root(value);
    const ValueDef& root_def = model_.program.values[size_t(storage)];
    const uint64_t offset = offset_in_root(value);
    if (root_def.kind == ValueKind::kConstant)
      return const_cast<uint8_t*>(constant_address(model_, p_.layout, base_, root_def)) + offset;
    uint8_t* activations = base_ + p_.layout.activations;
    const uint64_t at = p_.planned.offsets[size_t(storage)];
    if (at != kNoOffset && p_.planned.lifetimes[size_t(storage)].bytes)
      return activations + at + offset;
    // An empty tensor has no bytes, and needs an address no less.
    if (p_.planned.bound.value_bytes[size_t(storage)] == 0) return activations;
    // moved to the caller's memory when that is bound
    return reinterpret_cast<uint8_t*>(uintptr_t(offset));
  }
  /// The same for one instruction, wherever it runs.
  void* of(int32_t value, uint32_t instruction) const {
    uint8_t* at = of(value);
    if (!p_.split) return at;
    return p_.split->assignment->code->away(*p_.split, p_, instruction, root(value),
                                            offset_in_root(value), at);
  }
  bool has_home(int32_t value) const {
    const size_t storage = size_t(root(value));
    return model_.program.values[storage].kind == ValueKind::kConstant ||
           p_.planned.lifetimes[storage].bytes || p_.planned.bound.value_bytes[storage] == 0;
  }
  uint64_t offset_in_root(int32_t value) const {
    const BoundProgram& bound = p_.planned.bound;
    return bound.root_offset[size_t(value)] - bound.root_offset[size_t(root(value))];
  }

 private:
  const OpenModel& model_;
  const Preparation& p_;
  const LifetimeRules& rules_;
  uint8_t* base_;
};

void fill_port(const OpenModel& model, const Preparation& p, const LifetimeRules& rules,
               const Addresses& addresses, Port* port, uint8_t** host_copies) {
  const BoundProgram& bound = p.planned.bound;
  const bool on_host = p.device.interface->host_memory;
  port->root = addresses.root(port->value);
  static_cast<TensorType&>(port->view) = value_type(model.program, bound, port->value);
  port->most = port->view;
  port->home_stride = port->view.row_stride;
  port->offset_in_root = addresses.offset_in_root(port->value);
  port->base = uintptr_t(addresses.of(port->value)) - port->offset_in_root;
  if (addresses.has_home(port->value)) port->home = addresses.of(port->value);
  port->is_direct = on_host && !p.split && is_direct_port(model.program, bound, rules, port->value);
  port->view.data = port->home;
  if (on_host) return;
  port->host_copy = *host_copies;
  port->view.data = port->host_copy;
  *host_copies += rounded_up(most_bytes(p, port->value), 64);
}

size_t data_dependent_count(const ProgramDef& program) {
  return program.symbols.size - program.free_symbols;
}
/// Inputs, outputs, sizes that the data decides.
size_t route_count(const ProgramDef& program) {
  return program.inputs.size + program.outputs.size + data_dependent_count(program);
}

/// The port among `others` whose storage `port` lies in.
const Port* find_owner(const ProgramDef& program, const LifetimeRules& rules, Span<Port> others,
                       const Port& port) {
  for (const Port& other : others)
    if (&other != &port && other.is_direct && lies_in(program, rules, other, port.value))
      return &other;
  return nullptr;
}

void fill_ports(const OpenModel& model, const Preparation& p, const LifetimeRules& rules,
                const Addresses& addresses, const Tables& t) {
  const ProgramDef& program = model.program;
  uint8_t* host_copies = t.host_copies;
  for (size_t i = 0; i < program.inputs.size; i++) {
    Port* port = new (&t.inputs[i]) Port;
    port->value = program.inputs[i].value;
    fill_port(model, p, rules, addresses, port, &host_copies);
  }
  for (size_t i = 0; i < program.outputs.size; i++) {
    Port* port = new (&t.outputs[i]) Port;
    port->value = program.outputs[i].value;
    fill_port(model, p, rules, addresses, port, &host_copies);
    // Of several outputs with one storage the first stands for it; the others are copied from
    // there.
    port->owner = find_owner(program, rules, {t.outputs, i}, *port);
    if (!port->owner)
      port->owner = find_owner(program, rules, {t.inputs, program.inputs.size}, *port);
    if (port->owner) port->is_direct = false;
  }
}

/// The variant of each port between the arena and its copy on the host, and of each size that the
/// data decides.
void fill_routes(const OpenModel& model, const Addresses& addresses, const Tables& t) {
  const size_t inputs = model.program.inputs.size, ports = inputs + model.program.outputs.size;
  for (size_t i = 0; i < ports; i++) {
    const Port& port = i < inputs ? t.inputs[i] : t.outputs[i - inputs];
    const uint64_t element = uint64_t(dtype_bytes(port.view.dtype));
    PortRoute* route = new (&t.routes[i]) PortRoute;
    route->home = port.home;
    route->home_stride = uint64_t(port.home_stride) * element;
    route->row_bytes = uint64_t(port.view.row_length()) * element;
    route->rows = uint64_t(port.view.rows());
    route->is_input = i < inputs;
    t.descriptors[i] = {uint64_t(reinterpret_cast<uintptr_t>(port.host_copy)), route->home_stride};
  }
  const ProgramDef& program = model.program;
  for (size_t m = 0; m < data_dependent_count(program); m++) {
    const int32_t value = program.symbols[program.free_symbols + m].resolved_by;
    PortRoute* route = new (&t.routes[ports + m]) PortRoute;
    route->home = addresses.of(value);
    route->home_stride = route->row_bytes = sizeof(int64_t);
    route->rows = 1;
    for (uint32_t i = 0; i < program.instructions.size; i++)
      for (uint32_t k = 0; k < program.instructions[i].output_count; k++)
        if (program.instructions[i].outputs[k] == value) route->after = i;
    t.descriptors[ports + m] = {uint64_t(reinterpret_cast<uintptr_t>(&t.found[m])),
                                sizeof(int64_t)};
  }
}

void fill_calls(const OpenModel& model, const Preparation& p, const Addresses& addresses,
                const Tables& t) {
  const ProgramDef& program = model.program;
  TensorView* operands = t.operands;  // where the next instruction's begin
  uint8_t* attributes = t.attributes;
  for (uint32_t i = 0; i < program.instructions.size; i++) {
    const InstructionDef& instruction = program.instructions[i];
    Call* call = new (&t.calls[i]) Call;
    if (continues_operands(program, i, p.split != nullptr)) operands--;
    call->arguments = operand_types(program, p.planned.bound, i, operands);
    for (uint32_t k = 0; k < instruction.input_count; k++)
      if (instruction.inputs[k] >= 0) operands[k].data = addresses.of(instruction.inputs[k], i);
    for (uint32_t k = 0; k < instruction.output_count; k++)
      if (instruction.outputs[k] >= 0)
        operands[instruction.input_count + k].data = addresses.of(instruction.outputs[k], i);
    TensorView* const inputs = operands;
    operands += size_t{instruction.input_count} + instruction.output_count;
    if (const uint64_t bytes = resolved_bytes(model, p.planned.bound, i)) {
      std::memcpy(attributes, call->arguments.attributes, size_t(bytes));
      call->arguments.attributes = attributes;
      attributes += rounded_up(bytes, kAttributeAlignment);
    }
    if (is_control(instruction.op)) continue;
    call->kernel = find_kernel(*model.kernels, instruction.op, call->arguments);
    call->run = call->kernel->run;
    const Device& device =
        p.split ? p.split->devices[p.split->assignment->of_instruction[i]] : p.device;
    mark_f16_weights(model, device, instruction, inputs);  // behind the CPU's table: f32 there
  }
}

void fill_resolved(const ProgramDef& program, const BoundProgram& bound, const ResolvedSizes& to) {
  for (size_t i = program.free_symbols; i < program.symbols.size; i++)
    to.sizes[i - program.free_symbols] = -1;
  std::memcpy(to.dim_values, bound.dim_values, program.dim_exprs.size * sizeof(int64_t));
  std::memcpy(to.capacities, bound.value_bytes, program.values.size * sizeof(uint64_t));
  std::memset(to.written, 0, program.values.size * sizeof(uint64_t));
}

}  // namespace

bool continues_operands(const ProgramDef& program, uint32_t i, bool is_split) {
  if (i == 0 || is_split) return false;
  const InstructionDef &now = program.instructions[i], &before = program.instructions[i - 1];
  return now.input_count && before.output_count && now.inputs[0] >= 0 &&
         now.inputs[0] == before.outputs[before.output_count - 1];
}

bool lies_in(const ProgramDef& program, const LifetimeRules& rules, const Port& port,
             int32_t value) {
  return value >= 0 && storage_root(program, value, rules) == port.root;
}

const uint8_t* constant_address(const OpenModel& model, const Layout& layout, const uint8_t* base,
                                const ValueDef& value) {
  if (layout.shared) base = layout.shared;
  if (value.inline_data) {
    const uint8_t* at = static_cast<const uint8_t*>(value.inline_data);
    return layout.inline_first ? base + layout.tables + (at - layout.inline_first) : at;
  }
  if (os::kHasOtherDevices && layout.f16_weights)
    return base + layout.constants +
           kWidenedBlock *
               model.f16_weights.places[size_t(&value - model.program.values.data)].block;
  if (is_widened_in(layout, value))
    return base + layout.widened + kWidenedBlock * value.widened_block;
  if (layout.weights != WeightsForm::kInPlace)
    return base + layout.part_offsets[value.segment] + value.segment_offset;
  return model.source.memory + weight_part(model.file, value.segment).offset + value.segment_offset;
}

Tables carve_tables(const OpenModel& model, const Preparation& p, BumpAllocator* bump) {
  const ProgramDef& program = model.program;
  uint64_t operands = 0, attributes = 0;
  for (uint32_t i = 0; i < program.instructions.size; i++) {
    operands +=
        uint64_t{program.instructions[i].input_count} + program.instructions[i].output_count;
    operands -= continues_operands(program, i, p.split != nullptr);
    attributes += rounded_up(resolved_bytes(model, p.planned.bound, i), kAttributeAlignment);
  }
  Tables t;
  t.session = bump->take<RunSession>(1);
  t.calls = bump->take<Call>(program.instructions.size);
  t.operands = bump->take<TensorView>(operands);
  t.inputs = bump->take<Port>(program.inputs.size);
  t.outputs = bump->take<Port>(program.outputs.size);
  t.states = bump->take<StateSlot>(program.states.size);
  t.attributes = bump->take<uint8_t>(attributes, kAttributeAlignment);
  if (!p.scratch.places.empty()) t.scratch_places = bump->take<ScratchPlace>(p.scratch.places.size);
  t.rebinding = carve_rebinding(model, p, bump);
  if (const size_t count = data_dependent_count(program)) {
    t.resolved.sizes = bump->take<int64_t>(count);
    t.resolved.dim_values = bump->take<int64_t>(program.dim_exprs.size);
    t.resolved.capacities = bump->take<uint64_t>(program.values.size);
    t.resolved.written = bump->take<uint64_t>(program.values.size);
  }
  if (p.starts_threads)
    t.pool = bump->take<ThreadPool>(1);
  else if (p.threads > 1)
    t.thread_team = bump->take<ThreadTeam>(1);
  if (os::kHasThreads) t.queued = bump->take<QueuedRun>(1);
  if (p.starts_background) t.background = bump->take<Background>(1);
  if (p.has_branches) t.known = bump->take<uint64_t>(program.instructions.size);
  if (p.has_branches) t.entered = bump->take<uint64_t>(program.subprograms.size);
  if (p.split) t.split = bump->take<uint8_t>(p.split->assignment->code->block_bytes(model, p), 16);
  if (p.device.interface->reserve_host)
    t.routes = bump->take<PortRoute>(route_count(program));
  else if (!p.device.interface->host_memory)
    t.host_copies =
        bump->take<uint8_t>(port_bytes(p, program.inputs) + port_bytes(p, program.outputs), 64);
  return t;
}

uint64_t pinned_bytes(const OpenModel& model, const Preparation& p) {
  if (!p.device.interface->reserve_host) return 0;
  const ProgramDef& program = model.program;
  const uint64_t bytes = rounded_up(route_count(program) * sizeof(PortDescriptor), 64) +
                         rounded_up(data_dependent_count(program) * sizeof(int64_t), 64) +
                         port_bytes(p, program.inputs) + port_bytes(p, program.outputs);
  return bytes ? bytes : 64;
}

void use_pinned(const OpenModel& model, uint8_t* pinned, Tables* t) {
  t->descriptors = reinterpret_cast<PortDescriptor*>(pinned);
  t->host_copies = pinned + rounded_up(route_count(model.program) * sizeof(PortDescriptor), 64);
  const size_t count = data_dependent_count(model.program);
  if (count) t->found = reinterpret_cast<int64_t*>(t->host_copies);
  t->host_copies += rounded_up(count * sizeof(int64_t), 64);
}

Status read_known(const OpenModel& model, const Tables& t, ErrorDetail* detail) {
  for (uint32_t i = 0; t.known && i < model.program.instructions.size; i++) {
    t.known[i] = 0;
    const InstructionDef& instruction = model.program.instructions[i];
    if (!is_control(instruction.op) || instruction.inputs[0] < 0) continue;
    const ValueDef& value = model.program.values[size_t(instruction.inputs[0])];
    if (value.kind != ValueKind::kConstant || value.root != instruction.inputs[0]) continue;
    const size_t bytes = size_t(value.constant_bytes);  // a bool or an i64, by the contract
    if (bytes > sizeof *t.known)
      return fail(detail, Code::kInternal, "a constant that decides", sizeof *t.known, bytes);
    if (value.inline_data) {
      std::memcpy(&t.known[i], value.inline_data, bytes);
      continue;
    }
    const uint64_t offset = weight_part(model.file, value.segment).offset + value.segment_offset;
    INGOT_TRY(read_source(model.source, offset, &t.known[i], bytes, detail));
  }
  return {};
}

void fill_rebinding(const OpenModel& model, const Preparation& p, const Rebinding& to) {
  const auto copy = [](auto* into, const auto* from, size_t count) {
    if (count) std::memcpy(into, from, count * sizeof *into);
  };
  const size_t values = model.program.values.size;
  copy(to.symbol_values, p.planned.symbol_highs.data, model.program.free_symbols);
  copy(to.symbol_highs, p.planned.symbol_highs.data, model.program.free_symbols);
  copy(to.capacities, p.planned.capacities.data, values);
  copy(to.lifetimes, p.planned.lifetimes.data, values);
  copy(to.offsets, p.planned.offsets.data, values);
  if (p.layout.part_offsets)
    copy(to.part_offsets, p.layout.part_offsets, model.file.weight_part_count);
}

void fill_tables(const OpenModel& model, const Preparation& p, const LifetimeRules& rules,
                 uint8_t* base, const Tables& t) {
  const Addresses addresses(model, p, rules, base);
  fill_calls(model, p, addresses, t);
  if (os::kHasOtherDevices && !p.planned.f16_storage.empty())
    backend_services()->f16->mark_calls(model, p, rules, base, t);
  if (t.resolved.sizes) fill_resolved(model.program, p.planned.bound, t.resolved);
  fill_ports(model, p, rules, addresses, t);
  if (t.routes) fill_routes(model, addresses, t);
  if (t.scratch_places)
    std::memcpy(t.scratch_places, p.scratch.places.data,
                p.scratch.places.size * sizeof *t.scratch_places);
  if (t.entered) std::memset(t.entered, 0, model.program.subprograms.size * sizeof *t.entered);
  for (size_t i = 0; i < model.program.states.size; i++) {
    const StateDef& def = model.program.states[i];
    StateSlot* slot = new (&t.states[i]) StateSlot;
    slot->home = addresses.of(def.value);
    slot->bytes = p.planned.bound.value_bytes[def.value];
    if (def.init >= 0) slot->init = addresses.of(def.init);
    static_cast<TensorType&>(slot->view) = value_type(model.program, p.planned.bound, def.value);
    if (p.device.interface->host_memory) slot->view.data = slot->home;
  }
}

}  // namespace ingot
