// SPDX-License-Identifier: Apache-2.0
// runtime/session/port_overlap.cpp - which steps read an input and write an output.
#include "runtime/session/port_overlap.h"

namespace ingot {
namespace {

constexpr uint32_t kNever = 0xffffffffu;

struct Region {
  uintptr_t begin = 0, end = 0;
};
bool overlap(Region a, Region b) { return a.begin < b.end && b.begin < a.end; }

Region region_of(const Port& port) {
  TensorView view = port.view;
  uint64_t bytes;
  static_cast<TensorType&>(view) = port.most;
  view.row_stride = port.view.row_stride;
  if (!view.data || port.on_device || !storage_bytes(view, &bytes)) return {};
  return {uintptr_t(view.data), uintptr_t(view.data) + bytes};
}

/// Steps that read the input's storage, and that write the output's.
struct Uses {
  uint32_t last_read = 0, first_write = kNever;
  bool is_read = false;
};
Uses find_uses(const RunSession& s, const Port& in, const Port& out) {
  const ProgramDef& program = s.model->program;
  Uses uses;
  uint32_t loop_end = 0;
  for (uint32_t i = 0; i < program.steps.size; i++) {
    const StepDef& step = program.steps[i];
    if (step.kind == StepKind::kJump || step.kind == StepKind::kRefuse) continue;
    if (step.kind == StepKind::kLoop && step.target > loop_end) loop_end = step.target;
    const InstructionDef& instruction = program.instructions[step.index];
    for (uint32_t k = 0; k < instruction.input_count; k++)
      if (lies_in(program, s.rules, in, instruction.inputs[k]))
        // what a loop reads it reads again in its next iteration
        uses.is_read = true, uses.last_read = i < loop_end ? loop_end : i;
    for (uint32_t k = 0; k < instruction.output_count; k++)
      if (uses.first_write == kNever && lies_in(program, s.rules, out, instruction.outputs[k]))
        uses.first_write = i;
  }
  return uses;
}

/// One instruction reads the input and writes the output, as a whole each, element by element.
bool is_in_place(const RunSession& s, const Port& in, const Port& out, uint32_t step) {
  const ProgramDef& program = s.model->program;
  if (program.steps[step].kind != StepKind::kRun || in.view.data != out.view.data) return false;
  const uint32_t index = program.steps[step].index;
  const InstructionDef& instruction = program.instructions[index];
  if (instruction.output_count != 1 || instruction.outputs[0] != out.value ||
      !instruction.contract->in_place || in.most.dtype != out.most.dtype ||
      in.most.elements() != out.most.elements() || in.most.row_stride != out.most.row_stride)
    return false;
  const uint32_t allowed = instruction.contract->in_place(s.tables.calls[index].arguments);
  for (uint32_t k = 0; k < instruction.input_count; k++)
    if (lies_in(program, s.rules, in, instruction.inputs[k]) &&
        (k >= 32 || !((allowed >> k) & 1) || instruction.inputs[k] != in.value))
      return false;
  return true;
}

bool may_share(const RunSession& s, const Port& in, const Port& out) {
  if (in.host_copy || out.host_copy) return true;  // copied before the run, and after it
  if (!in.is_bound) return false;                  // the arena's, where the plan has other values
  for (size_t i = 0; i < s.model->program.outputs.size; i++)
    if (s.tables.outputs[i].root == in.root) return false;  // read after the run
  if (!in.is_direct || !out.is_direct) return true;
  const Uses uses = find_uses(s, in, out);
  if (!uses.is_read || uses.first_write == kNever || uses.last_read < uses.first_write) return true;
  return uses.last_read == uses.first_write && is_in_place(s, in, out, uses.first_write);
}

Status refuse(const PortDef& def, const char* field, ErrorDetail* detail) {
  const Status status = fail(detail, Code::kInvalidArgument, field);
  name_error(detail, def.name);
  if (detail) detail->hint = "give each port memory of its own";
  return status;
}

}  // namespace

Status check_output_memory(const RunSession& s, uint32_t output, const void* data, uint64_t bytes,
                           ErrorDetail* detail) {
  const ProgramDef& program = s.model->program;
  const Region wanted = {uintptr_t(data), uintptr_t(data) + bytes};
  Port out = s.tables.outputs[output];
  out.view.data = const_cast<void*>(data);
  for (size_t i = 0; i < program.inputs.size; i++)
    if (overlap(wanted, region_of(s.tables.inputs[i])) && !may_share(s, s.tables.inputs[i], out))
      return refuse(program.outputs[output],
                    "tensor.data: overlaps an input that is read after this output is written",
                    detail);
  for (size_t i = 0; i < program.outputs.size; i++) {
    const Port& other = s.tables.outputs[i];
    if (i == output || !other.is_bound || other.host_copy || !overlap(wanted, region_of(other)))
      continue;
    const bool is_same = other.root == out.root && other.view.data == data &&
                         other.offset_in_root == out.offset_in_root;
    if (!is_same)
      return refuse(program.outputs[output], "tensor.data: overlaps another output", detail);
  }
  return {};
}

Status check_port_memory(const RunSession& s, ErrorDetail* detail) {
  for (uint32_t i = 0; i < s.model->program.outputs.size; i++) {
    const Port& port = s.tables.outputs[i];
    const Region region = region_of(port);
    if (port.is_bound && region.begin)
      INGOT_TRY(check_output_memory(s, i, port.view.data, region.end - region.begin, detail));
  }
  return {};
}

}  // namespace ingot
