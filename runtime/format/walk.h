// SPDX-License-Identifier: Apache-2.0
// runtime/format/walk.h - visits a program in run order, branches of an If one after the other and
// the body of a Loop once, without recursion.
#pragma once
#include "runtime/format/validate.h"
#include "runtime/op/control.h"

namespace ingot {

/// Where the walk is: `subprogram` runs instruction `instruction`; `depth` Ifs and Loops are open
/// around it.
struct WalkPlace {
  uint32_t subprogram, instruction, depth;
};

/// The subprograms of an If (then, else; 0: there is none) or of a Loop.
struct Callees {
  uint32_t count = 0;
  uint32_t subprograms[2] = {};
};
inline Callees callees_of(const InstructionDef& instruction) {
  if (instruction.op == OpCode::kLoop)
    return {1, {static_cast<const LoopAttributes*>(instruction.attributes)->body, 0}};
  if (instruction.op != OpCode::kIf) return {};
  const auto& branches = *static_cast<const IfAttributes*>(instruction.attributes);
  return {2, {branches.then_subprogram, branches.else_subprogram}};
}

/// Visitor: Status run(place); begin(place); enter(place, which, callee); leave(place, which,
/// callee); missing(place, which); end(place). `place` is always that of the If or Loop. @pre enter
/// refuses what is out of range, too deep or a cycle.
template <class Visitor>
Status walk_program(const ProgramDef& program, Visitor* visitor) {
  struct Frame {
    uint32_t subprogram, next, callees_done;
  };
  Frame frames[kMaxSubprogramDepth + 1] = {};
  uint32_t depth = 0;
  for (;;) {
    Frame& frame = frames[depth];
    const SubprogramDef& sub = program.subprograms[frame.subprogram];
    if (frame.next == sub.instruction_count) {
      if (depth == 0) return {};
      const uint32_t callee = frame.subprogram;
      Frame& parent = frames[--depth];
      const WalkPlace place = {
          parent.subprogram, program.subprograms[parent.subprogram].first_instruction + parent.next,
          depth};
      INGOT_TRY(visitor->leave(place, parent.callees_done, callee));
      parent.callees_done++;
      continue;
    }
    const WalkPlace place = {frame.subprogram, sub.first_instruction + frame.next, depth};
    const Callees callees = callees_of(program.instructions[place.instruction]);
    if (callees.count == 0) {
      INGOT_TRY(visitor->run(place));
      frame.next++;
      continue;
    }
    if (frame.callees_done == 0) INGOT_TRY(visitor->begin(place));
    if (frame.callees_done == callees.count) {
      INGOT_TRY(visitor->end(place));
      frame.callees_done = 0;
      frame.next++;
      continue;
    }
    const uint32_t callee = callees.subprograms[frame.callees_done];
    if (callee == 0 && callees.count == 2) {
      INGOT_TRY(visitor->missing(place, frame.callees_done++));
      continue;
    }
    INGOT_TRY(visitor->enter(place, frame.callees_done, callee));
    frames[++depth] = {callee, 0, 0};
  }
}

}  // namespace ingot
