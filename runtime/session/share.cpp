// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/share.h"

#include "runtime/device/segments.h"
#include "runtime/op/control.h"
#include "runtime/session/fallback.h"

namespace ingot {
namespace {

/// Of several devices.
Status split_share(const SplitPlan& plan, uint64_t home_bytes, uint32_t index,
                   DeviceShareReport* out) {
  const DeviceAssignment& a = *plan.assignment;
  if (index >= a.device_count) return Code::kNotFound;
  static_cast<DeviceShare&>(*out) = plan.shares[index];
  if (index == 0) out->bytes = home_bytes;
  out->device = a.devices[index].name;
  out->reason = a.devices[index].reason;
  return {};
}

/// Of one, but for what a run transfers.
void whole_share(const OpenModel& model, const Device& device, const Layout& layout,
                 DeviceShareReport* out) {
  out->device = device.name;
  out->reason = device.reason;
  out->bytes = layout.bytes;
  out->weights_bytes = layout.f16_weights ? layout.weights_bytes : model.weights_bytes;
  out->instructions = uint32_t(model.program.instructions.size);
  LaunchCounts launch_counts = {1, 1};
  if (device.interface->runs_segments)
    launch_counts = launch_counts_of(outline_of(model.program, device), true, 0);
  out->launches = launch_counts.launches;
  out->waits = device.interface->host_memory ? 0 : launch_counts.waits;
}

/// Who calls a subprogram; null: the main program.
struct Caller {
  const InstructionDef* instruction = nullptr;
  uint32_t index = 0;
};
Caller caller_of(const ProgramDef& program, uint32_t subprogram) {
  for (uint32_t i = 0; i < program.instructions.size; i++) {
    const InstructionDef& instruction = program.instructions[i];
    if (instruction.op == OpCode::kLoop) {
      if (static_cast<const LoopAttributes*>(instruction.attributes)->body == subprogram)
        return {&instruction, i};
    } else if (instruction.op == OpCode::kIf) {
      const auto& branches = *static_cast<const IfAttributes*>(instruction.attributes);
      if (branches.then_subprogram == subprogram || branches.else_subprogram == subprogram)
        return {&instruction, i};
    }
  }
  return {};
}
uint32_t owner_of(const ProgramDef& program, uint32_t instruction) {
  uint32_t s = 0;
  while (instruction - program.subprograms[s].first_instruction >=
         program.subprograms[s].instruction_count)
    s++;
  return s;
}

/// The devices of a session, made or not.
struct Devices {
  const Device* alone;
  const SplitPlan* split;
  const Device& of(uint32_t instruction) const {
    if (!split) return *alone;
    return split->devices[split->assignment->of_instruction[instruction]];
  }
};

/// The subprogram that is branch `index`, or how many branches there are before subprogram `until`.
uint32_t count_branches(const ProgramDef& program, const Devices& devices, uint32_t until,
                        uint32_t index, uint32_t* subprogram) {
  uint32_t count = 0;
  for (uint32_t s = 1; s < until; s++) {
    if (!devices.of(caller_of(program, s).index).interface->runs_segments) continue;
    if (count == index) *subprogram = s;
    count++;
  }
  return count;
}

/// Why the host decides an If or a Loop, or what it lies in; null: the device does.
const char* reason_of(const StepProgram& outline, uint32_t instruction) {
  for (uint32_t at = 0, end = 0; at < outline.steps.size; at++) {
    const StepDef& step = outline.steps[at];
    if (step.kind != StepKind::kIf && step.kind != StepKind::kLoop) continue;
    const char* const why = why_host_decides(outline, at);
    if (!why) end = end_of_control(outline, at) > end ? end_of_control(outline, at) : end;
    if (step.index == instruction) return at < end ? nullptr : why;
  }
  return nullptr;
}

Status find_branch(const ProgramDef& program, const Devices& devices, uint32_t index,
                   uint32_t* subprogram, NamedBranch* out) {
  *subprogram = 0;
  (void)count_branches(program, devices, uint32_t(program.subprograms.size), index, subprogram);
  if (!*subprogram) return Code::kNotFound;
  const Caller caller = caller_of(program, *subprogram);
  const Device& device = devices.of(caller.index);
  out->name = program.subprograms[*subprogram].name;
  out->device = device.name;
  out->instruction = caller.index;
  out->is_loop = caller.instruction->op == OpCode::kLoop;
  if (!out->is_loop)
    out->is_else =
        static_cast<const IfAttributes*>(caller.instruction->attributes)->else_subprogram ==
        *subprogram;
  if (const uint32_t owner = owner_of(program, caller.index))
    out->parent = int32_t(count_branches(program, devices, owner, kNoInstruction, nullptr));
  const StepProgram outline = outline_of(program, device);
  out->why_host = reason_of(outline, caller.index);
  const LaunchCounts launch_counts = launch_counts_of(outline, false, *subprogram);
  out->launches = launch_counts.launches;
  out->waits = launch_counts.waits;
  return {};
}

int64_t most_of(const void* loop_attributes) {
  return static_cast<const LoopAttributes*>(loop_attributes)->most;
}

void add_port(const TensorType& type, uint32_t* count, uint64_t* bytes) {
  uint64_t more;
  ++*count;
  if (storage_bytes(type, &more)) *bytes += more;
}

}  // namespace

Status session_share(const RunSession& s, uint32_t index, DeviceShareReport* out) {
  if (s.split) return split_share(*s.split, s.layout.bytes, index, out);
  if (index != 0) return Code::kNotFound;
  whole_share(*s.model, s.device, s.layout, out);
  if (s.device.interface->host_memory) return {};
  const ProgramDef& program = s.model->program;
  for (size_t i = 0; i < program.inputs.size; i++)
    add_port(s.tables.inputs[i].most, &out->uploads, &out->upload_bytes);
  for (size_t i = 0; i < program.outputs.size; i++)
    add_port(s.tables.outputs[i].most, &out->downloads, &out->download_bytes);
  return {};
}

Status model_share(const OpenModel& model, const SessionRequest& asked, uint32_t index,
                   DeviceShareReport* out, ErrorDetail* detail) {
  const PreparedRequest prepared(model, asked, detail);
  INGOT_TRY(prepared.status);
  const Preparation& p = prepared.preparation;
  if (p.split) {
    const Status status = split_share(*p.split, p.layout.bytes, index, out);
    return status.ok() ? status
                       : fail(detail, Code::kNotFound, "device index",
                              p.split->assignment->device_count, index);
  }
  if (index != 0) return fail(detail, Code::kNotFound, "device index", 1, index);
  whole_share(model, p.device, p.layout, out);
  if (p.device.interface->host_memory) return {};
  const auto type = [&](const PortDef& port) {
    return value_type(model.program, p.planned.bound, port.value);
  };
  for (const PortDef& port : model.program.inputs)
    add_port(type(port), &out->uploads, &out->upload_bytes);
  for (const PortDef& port : model.program.outputs)
    add_port(type(port), &out->downloads, &out->download_bytes);
  return {};
}

Status session_branch(const RunSession& s, uint32_t index, NamedBranch* out) {
  uint32_t subprogram;
  if (!s.tables.entered) return Code::kNotFound;
  INGOT_TRY(find_branch(s.model->program, {&s.device, s.split}, index, &subprogram, out));
  if (out->is_loop) out->most = most_of(s.tables.calls[out->instruction].arguments.attributes);
  out->taken = s.tables.entered[subprogram];
  return {};
}

Status model_branch(const OpenModel& model, const SessionRequest& asked, uint32_t index,
                    NamedBranch* out, ErrorDetail* detail) {
  const PreparedRequest prepared(model, asked, detail);
  INGOT_TRY(prepared.status);
  const Preparation& p = prepared.preparation;
  uint32_t subprogram;
  const Status status =
      p.has_branches ? find_branch(model.program, {&p.device, p.split}, index, &subprogram, out)
                     : Code::kNotFound;
  if (!status.ok()) return fail(detail, Code::kNotFound, "branch index", 0, index);
  const void* const* bound = p.planned.bound.attributes;
  if (out->is_loop)
    out->most = most_of(bound ? bound[out->instruction]
                              : model.program.instructions[out->instruction].attributes);
  return {};
}

}  // namespace ingot
