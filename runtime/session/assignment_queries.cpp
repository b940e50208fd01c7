// SPDX-License-Identifier: Apache-2.0
// runtime/session/assignment_queries.cpp - what is asked of an assignment that is made; its end.
#include "runtime/session/assignment.h"

namespace ingot {

uint32_t unit_end(const ProgramDef& program, uint32_t step) {
  const StepDef& at = program.steps[step];
  if (at.kind == StepKind::kLoop) return at.target;
  // the jump that ends the first branch
  if (at.kind == StepKind::kIf) return program.steps[at.target - 1].target;
  return step + 1;
}

const WeightPlacement* find_placement(const DeviceAssignment& assignment, uint32_t device,
                                      int32_t value) {
  size_t low = 0, high = assignment.placements.size;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const WeightPlacement& at = assignment.placements[middle];
    if (at.device == device && at.value == value) return &at;
    if (at.device < device || (at.device == device && at.value < value))
      low = middle + 1;
    else
      high = middle;
  }
  return nullptr;
}

void release_assignment(DeviceAssignment* assignment) {
  const Allocator allocator = assignment->allocator;
  allocator.release(allocator.user, assignment->block, size_t(assignment->block_bytes));
}

}  // namespace ingot
