// SPDX-License-Identifier: Apache-2.0
// runtime/session/ports.cpp - the caller's memory in place of the arena's, and values looked at
// from outside.
#include "runtime/device/gpu/service_kernels.h"
#include "runtime/session/port_overlap.h"
#include "runtime/session/resolve_sizes.h"
#include "runtime/session/split.h"

namespace ingot {
namespace {

constexpr uint64_t kBoundAlignment = 64;

Status refuse(const PortDef& def, ErrorDetail* detail, Code code, const char* field, uint64_t need,
              uint64_t have) {
  const Status status = fail(detail, code, field, need, have);
  name_error(detail, def.name);
  return status;
}

/// Type, stride, alignment, size.
Status check_bound(const PortDef& def, const Port& port, const TensorView& view, uint64_t bytes,
                   ErrorDetail* detail) {
  if (!view.data) return refuse(def, detail, Code::kInvalidArgument, "tensor.data is null", 0, 0);
  if (view.dtype != port.view.dtype)
    return refuse(def, detail, Code::kDtypeMismatch, "tensor.dtype", uint64_t(port.view.dtype),
                  uint64_t(view.dtype));
  if (view.rank != port.most.rank)
    return refuse(def, detail, Code::kShapeMismatch, "tensor.rank", port.most.rank, view.rank);
  static const char* const kAxes[] = {"tensor.dims[0]", "tensor.dims[1]", "tensor.dims[2]",
                                      "tensor.dims[3]", "tensor.dims[4]", "tensor.dims[5]",
                                      "tensor.dims[6]", "tensor.dims[7]"};
  static_assert(sizeof kAxes / sizeof *kAxes == kMaxRank, "a name for each axis");
  for (int i = 0; i < view.rank; i++)
    if (view.dims[i] != port.most.dims[i])
      return refuse(def, detail, Code::kShapeMismatch, kAxes[i], uint64_t(port.most.dims[i]),
                    uint64_t(view.dims[i]));
  if (view.row_stride < view.row_length())
    return refuse(def, detail, Code::kShapeMismatch, "tensor.row_stride: at least",
                  uint64_t(view.row_length()), uint64_t(view.row_stride));
  if (port.is_direct && view.row_stride != port.most.row_stride && view.rows() > 1)
    return refuse(def, detail, Code::kShapeMismatch, "tensor.row_stride",
                  uint64_t(port.most.row_stride), uint64_t(view.row_stride));
  const uint64_t beside = uintptr_t(view.data) & (kBoundAlignment - 1);
  if (beside) return refuse(def, detail, Code::kMisaligned, "tensor.data", kBoundAlignment, beside);
  uint64_t need;
  if (!storage_bytes(view, &need))
    return refuse(def, detail, Code::kShapeMismatch, "tensor.row_stride overflows", 0, 0);
  if (bytes < need)
    return refuse(def, detail, Code::kShapeMismatch, "tensor.bytes: at least", need, bytes);
  return {};
}

/// Moves the operands in the port's storage to a new start.
void move_operands(RunSession* s, Port* port, uintptr_t base) {
  const uintptr_t shift = base - port->base;
  port->base = base;
  const ProgramDef& program = s->model->program;
  TensorView* operand = s->tables.operands;
  const auto move = [&](int32_t value) {
    if (lies_in(program, s->rules, *port, value))
      operand->data = reinterpret_cast<void*>(uintptr_t(operand->data) + shift);
    operand++;
  };
  for (uint32_t i = 0; i < program.instructions.size; i++) {
    const InstructionDef& instruction = program.instructions[i];
    const uint32_t first = continues_operands(program, i, s->split != nullptr);
    for (uint32_t k = first; k < instruction.input_count; k++) move(instruction.inputs[k]);
    for (uint32_t k = 0; k < instruction.output_count; k++) move(instruction.outputs[k]);
  }
}

/// Outputs that lie in another port's storage are seen where that is now.
void follow_owners(RunSession* s) {
  for (size_t i = 0; i < s->model->program.outputs.size; i++) {
    Port& port = s->tables.outputs[i];
    if (!port.owner || port.is_bound || !port.home) continue;
    port.view.data = reinterpret_cast<void*>(port.owner->base + port.offset_in_root);
  }
}

/// Where the run finds, or leaves, the bytes of a port that the device moves.
void aim_descriptor(RunSession* s, bool is_input, uint32_t index, const void* at,
                    int64_t row_stride) {
  const size_t i = is_input ? index : s->model->program.inputs.size + index;
  const Port& port = (is_input ? s->tables.inputs : s->tables.outputs)[index];
  s->tables.descriptors[i] = {uint64_t(reinterpret_cast<uintptr_t>(at)),
                              uint64_t(row_stride) * uint64_t(dtype_bytes(port.view.dtype))};
}

}  // namespace

Status bind_port(RunSession* s, bool is_input, uint32_t index, const TensorView* view,
                 uint64_t bytes, ErrorDetail* detail) {
  const Span<const PortDef> defs = is_input ? s->model->program.inputs : s->model->program.outputs;
  if (index >= defs.size)
    return fail(detail, Code::kNotFound, is_input ? "input index" : "output index", defs.size,
                index);
  if (s->is_running)
    return refuse(defs[index], detail, Code::kWrongState, "bind: the session is running", 0, 0);
  Port* port = &(is_input ? s->tables.inputs : s->tables.outputs)[index];
  const bool had_memory = port->view.data != nullptr;
  if (view) {
    INGOT_TRY(check_bound(defs[index], *port, *view, bytes, detail));
    uint64_t used = 0;
    if (!is_input && storage_bytes(*view, &used))
      INGOT_TRY(check_output_memory(*s, index, view->data, used, detail));
    if (port->is_direct) move_operands(s, port, uintptr_t(view->data) - port->offset_in_root);
    static_cast<TensorType&>(port->view) = port->most;
    port->view.data = view->data;
    port->view.row_stride = view->row_stride;
    port->is_bound = true;
  } else {
    if (!port->home && !port->host_copy)
      return refuse(defs[index], detail, Code::kWrongState,
                    "bind: the arena has no place for this port", 0, 0);
    if (port->is_direct) move_operands(s, port, uintptr_t(port->home) - port->offset_in_root);
    port->view.data = port->host_copy ? port->host_copy : port->home;
    static_cast<TensorType&>(port->view) = port->most;
    port->home_stride = port->most.row_stride;
    port->is_bound = false;
  }
  port->on_device = false;
  s->are_ports_checked = false;
  if (s->pinned) aim_descriptor(s, is_input, index, port->host_copy, port->most.row_stride);
  if (!had_memory) s->unbound_ports--;
  follow_owners(s);
  return {};
}

Status bind_port_on_device(RunSession* s, bool is_input, uint32_t index, const TensorView& view,
                           uint64_t bytes, ErrorDetail* detail) {
  const Span<const PortDef> defs = is_input ? s->model->program.inputs : s->model->program.outputs;
  if (index >= defs.size)
    return fail(detail, Code::kNotFound, is_input ? "input index" : "output index", defs.size,
                index);
  if (s->is_running)
    return refuse(defs[index], detail, Code::kWrongState, "bind: the session is running", 0, 0);
  if (!s->pinned || !s->device.interface->check_memory) {
    const Status status = refuse(defs[index], detail, Code::kWrongState,
                                 "bind: ports of this session lie with the CPU", 0, 0);
    if (detail)
      detail->hint = "sessions wholly on one GPU read and write device memory; see the placement";
    return status;
  }
  Port* port = &(is_input ? s->tables.inputs : s->tables.outputs)[index];
  INGOT_TRY(check_bound(defs[index], *port, view, bytes, detail));
  // Rows are as long as the data makes them, so those of another stride would not be where the
  // kernels put them.
  if (!is_input && s->tables.resolved.sizes && view.row_stride != port->most.row_stride &&
      view.rows() > 1)
    return refuse(defs[index], detail, Code::kShapeMismatch,
                  "tensor.row_stride, where extents depend on data",
                  uint64_t(port->most.row_stride), uint64_t(view.row_stride));
  const Status status = s->device.interface->check_memory(s->device, view.data, bytes, detail);
  if (!status.ok()) {
    name_error(detail, defs[index].name);
    return status;
  }
  static_cast<TensorType&>(port->view) = port->most;
  port->view.data = view.data;
  port->view.row_stride = view.row_stride;
  port->is_bound = port->on_device = true;
  aim_descriptor(s, is_input, index, view.data, view.row_stride);
  return {};
}

Status find_value(const RunSession& s, int32_t value, TensorView* out, ErrorDetail* detail) {
  const ProgramDef& program = s.model->program;
  if (value < 0 || size_t(value) >= program.values.size)
    return fail(detail, Code::kNotFound, "value index", program.values.size,
                uint64_t(uint32_t(value)));
  for (size_t i = 0; i < program.inputs.size; i++)
    if (s.tables.inputs[i].value == value) return *out = s.tables.inputs[i].view, Status();
  for (size_t i = 0; i < program.outputs.size; i++)
    if (s.tables.outputs[i].value == value) return *out = s.tables.outputs[i].view, Status();
  for (size_t i = 0; i < program.states.size && s.device.interface->host_memory; i++)
    if (program.states[i].value == value) return *out = s.tables.states[i].view, Status();
  const ValueDef& def = program.values[size_t(value)];
  const ValueKind root_kind = program.values[size_t(def.root)].kind;
  const bool lasts =
      root_kind == ValueKind::kConstant || root_kind == ValueKind::kState || s.rules.keep_values;
  Status status;
  if (!s.device.interface->host_memory)
    status = fail(detail, Code::kWrongState, "value: lies in the memory of a device");
  else if (!lasts)
    status = fail(detail, Code::kWrongState,
                  "value: may be overwritten; make the session with keep_values");
  name_error(detail, def.name);
  if (!status.ok()) return status;
  const auto found = [&](uint32_t instruction, const TensorView& operand) {
    *out = operand;
    if (s.split) out->data = s.split->assignment->code->home(s, instruction, value, out->data);
    return type_resolved(s, value, out, detail);
  };
  for (uint32_t i = 0; i < program.instructions.size; i++) {
    const InstructionDef& instruction = program.instructions[i];
    const OpArguments& operands = s.tables.calls[i].arguments;
    for (uint32_t k = 0; k < instruction.input_count; k++)
      if (instruction.inputs[k] == value) return found(i, operands.inputs[k]);
    for (uint32_t k = 0; k < instruction.output_count; k++)
      if (instruction.outputs[k] == value) return found(i, operands.outputs[k]);
  }
  status = fail(detail, Code::kNotFound, "value: no instruction has it");
  name_error(detail, def.name);
  return status;
}

Touched find_touched(const RunSession& s) {
  const auto highest = [&](uint64_t from, uint64_t bytes) {
    const uint8_t* part = s.arena.base + from;
    while (bytes && part[bytes - 1] == kPoison) bytes--;
    return bytes;
  };
  Touched touched;
  if (s.device_memory) return touched;
  touched.tables = highest(s.layout.tables, s.layout.tables_bytes);
  touched.scratch = highest(s.layout.scratch, s.layout.scratch_bytes);
  touched.activations = highest(s.layout.activations, s.layout.activations_bytes);
  const uint64_t first = s.layout.first_own();
  touched.arena = first + highest(first, s.layout.bytes - first);
  return touched;
}

}  // namespace ingot
