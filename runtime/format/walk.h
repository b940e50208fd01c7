// runtime/format/walk.h - visits a program in run order, branches of an If one after the other, without recursion.
#pragma once
#include "runtime/format/prove.h"
#include "runtime/op/control.h"

namespace ingot {

/// Where the walk is: `subprogram` runs instruction `instruction`; `depth` Ifs are open around it.
struct WalkPlace {
  uint32_t subprogram, instruction, depth;
};

/// Visitor: Status run(place); begin_if(place); enter_branch(place, which, branch); leave_branch(place, which, branch);
/// end_if(place). `place` is always that of the If. @pre enter_branch refuses what is out of range, too deep or a
/// cycle.
template <class Visitor>
Status walk_program(const ProgramDef& program, Visitor* visitor) {
  struct Frame {
    uint32_t subprogram, next, branches_done;
  };
  Frame frames[kMaxSubprogramDepth + 1] = {};
  uint32_t depth = 0;
  for (;;) {
    Frame& frame = frames[depth];
    const SubprogramDef& sub = program.subprograms[frame.subprogram];
    if (frame.next == sub.instruction_count) {
      if (depth == 0) return {};
      const uint32_t branch = frame.subprogram;
      Frame& parent = frames[--depth];
      const WalkPlace place = {parent.subprogram,
                               program.subprograms[parent.subprogram].first_instruction + parent.next, depth};
      INGOT_TRY(visitor->leave_branch(place, parent.branches_done, branch));
      if (++parent.branches_done < 2) continue;
      INGOT_TRY(visitor->end_if(place));
      parent.branches_done = 0;
      parent.next++;
      continue;
    }
    const WalkPlace place = {frame.subprogram, sub.first_instruction + frame.next, depth};
    const InstructionDef& instruction = program.instructions[place.instruction];
    if (instruction.op != OpCode::kIf) {
      INGOT_TRY(visitor->run(place));
      frame.next++;
      continue;
    }
    const IfAttributes& attributes = *static_cast<const IfAttributes*>(instruction.attributes);
    if (frame.branches_done == 0) INGOT_TRY(visitor->begin_if(place));
    const uint32_t branch = frame.branches_done == 0 ? attributes.then_subprogram : attributes.else_subprogram;
    INGOT_TRY(visitor->enter_branch(place, frame.branches_done, branch));
    frames[++depth] = {branch, 0, 0};
  }
}

}  // namespace ingot
