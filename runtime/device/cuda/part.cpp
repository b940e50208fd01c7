// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/part.cpp - the graphs of a program, or of the part of one that a split leaves
// to a GPU: made when shapes are bound.
#include <string.h>

#include <new>

#include "runtime/base/os/memory.h"
#include "runtime/device/cuda/graph_walk.h"
#include "runtime/op/control.h"

namespace ingot::cuda {
namespace {

bool moves_ports(const StepProgram& program) { return program.ports.size != 0; }

uint32_t count_segments(const StepProgram& program) {
  uint32_t count = 0;
  SegmentScan scan(program, moves_ports(program));
  for (GraphSegment s; scan.next(&s);) count++;
  return count;
}

/// One more than the last that an If or a Loop of the program begins; 0 where the GPU decides none.
uint32_t count_subprograms(const StepProgram& program) {
  uint32_t count = 0;
  for (size_t i = program.first_step; !program.host_decides && i < program.steps.size; i++) {
    const StepDef& step = program.steps[i];
    const void* const attributes = program.instructions[step.index].attributes;
    const auto see = [&](uint32_t subprogram) {
      count = subprogram >= count ? subprogram + 1 : count;
    };
    if (step.kind == StepKind::kLoop) see(static_cast<const LoopAttributes*>(attributes)->body);
    if (step.kind != StepKind::kIf) continue;
    see(static_cast<const IfAttributes*>(attributes)->then_subprogram);
    see(static_cast<const IfAttributes*>(attributes)->else_subprogram);
  }
  return count;
}

uint64_t heap_bytes(const StepProgram& program) {
  return sizeof(Part) + uint64_t(count_segments(program)) * sizeof(SegmentPieces);
}

Status take_counts(Device& device, Part* part, ErrorDetail* detail) {
  void* at = nullptr;
  const size_t bytes = part->subprograms * sizeof *part->taken;
  const Result result = driver().cuMemHostAlloc(&at, bytes, kHostPortable | kHostMapped);
  if (result) {
    part->subprograms = 0;
    return fail_with(device, detail, result, Code::kDeviceLost);
  }
  part->taken = static_cast<uint64_t*>(at);
  memset(at, 0, bytes);
  return {};
}

/// @pre the context is current
Status add_part(Device& device, const StepProgram& program, Part** out, ErrorDetail* detail) {
  const uint64_t bytes = heap_bytes(program);
  void* block = os::heap_allocate(size_t(bytes), alignof(Part));
  if (!block)
    return fail_on(device, detail, Code::kOutOfMemory, "device: a program's graphs", bytes);
  SessionState& s = state_of(device);
  Part* part = new (block) Part;
  part->first_step = program.first_step;
  part->host_decides = program.host_decides != nullptr;
  part->subprograms = count_subprograms(program);
  part->segments = reinterpret_cast<SegmentPieces*>(part + 1);
  SegmentScan scan(program, moves_ports(program));
  for (GraphSegment segment; scan.next(&segment);)
    (new (&part->segments[part->count++]) SegmentPieces)->segment = segment;
  part->next = s.parts;
  *out = s.parts = part;
  return part->subprograms ? take_counts(device, part, detail) : Status();
}

}  // namespace

uint64_t part_bytes(const StepProgram& program) {
  return heap_bytes(program) + count_subprograms(program) * sizeof(uint64_t);
}

Part* find_part(const SessionState& s, const StepProgram& program) {
  Part* part = s.parts;
  while (part && (part->first_step != program.first_step ||
                  part->host_decides != (program.host_decides != nullptr)))
    part = part->next;
  return part;
}

Status build_part(Device& device, const StepProgram& program, ErrorDetail* detail) {
  SessionState& s = state_of(device);
  const Current current(s.gpu.context);
  if (current.refused()) return fail_with(device, detail, current.refused(), Code::kDeviceLost);
  Part* part = find_part(s, program);
  if (!part) INGOT_TRY(add_part(device, program, &part, detail));
  Status status;
  for (uint32_t i = 0; i < part->count && status.ok(); i++)
    status = build_piece(device, program, &part->segments[i], detail);
  // A driver may refuse what decides inside a graph although its version says otherwise.
  if (detail && part->subprograms && status.code() >= Code::kNoSuchDevice)
    detail->hint =
        "with INGOT_HOST_BRANCHES (--host-branches) the CPU decides Ifs and Loops, in graphs "
        "without conditional nodes";
  return status;
}

void drop_parts(SessionState* s) {
  while (Part* part = s->parts) {
    for (uint32_t i = 0; i < part->count; i++)
      for (Piece& piece : part->segments[i].pieces) drop_piece(&piece);
    if (part->taken) driver().cuMemFreeHost(part->taken);
    s->parts = part->next;
    os::heap_release(part);
  }
}

}  // namespace ingot::cuda
