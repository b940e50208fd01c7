// SPDX-License-Identifier: Apache-2.0
// runtime/format/steps.cpp - control flow in one line: branches behind their condition, a jump
// between them; a body between the two ends of its loop.
//   step  0 run a      1 if c, else go to 4      2 run then      3 jump to 5      4 run else      5
//         run b
//   step  0 run a      1 loop, or go to 4        2 run body      3 repeat from 2  4 run b
#include "runtime/base/checked_math.h"
#include "runtime/format/walk.h"

namespace ingot {
namespace {

class StepLayout {
 public:
  StepLayout(const ProgramDef& program, StepDef* steps, uint8_t* seen, ErrorDetail* detail)
      : program_(program), steps_(steps), seen_(seen), detail_(detail) {}
  uint32_t step_count() const { return count_; }

  Status run(WalkPlace place) {
    add(StepKind::kRun, place);
    return {};
  }
  Status begin(WalkPlace place) {
    open_[place.depth] = count_;
    const Callees callees = callees_of(program_.instructions[place.instruction]);
    if (callees.count == 1)
      add(StepKind::kLoop, place).loop = loops_++;
    else if (callees.subprograms[0] == 0 && callees.subprograms[1] == 0)
      return fail_operand(detail_, program_, "If: it has no branch", place.instruction, -1, 1, 0);
    else
      add(StepKind::kIf, place);
    return {};
  }
  Status enter(WalkPlace place, uint32_t, uint32_t callee) {
    if (callee == 0 || callee >= program_.subprograms.size)
      return fail_operand(detail_, program_, "If or Loop: subprogram", place.instruction, -1,
                          program_.subprograms.size, callee);
    if (seen_[callee]++ != 0)
      return fail_operand(detail_, program_, "If or Loop: a subprogram used twice, or in a circle",
                          place.instruction, -1, 1, callee);
    if (place.depth + 1 > kMaxSubprogramDepth)
      return fail_operand(detail_, program_, "If or Loop: nested too deep", place.instruction, -1,
                          kMaxSubprogramDepth, place.depth + 1);
    return {};
  }
  Status missing(WalkPlace place, uint32_t which) {
    add(StepKind::kRefuse, place);
    if (which == 0) jump(place);  // keeps the layout the same; never reached
    if (which == 1) steps_[open_[place.depth]].target = count_;
    return {};
  }
  Status leave(WalkPlace place, uint32_t which, uint32_t) {
    if (steps_[open_[place.depth]].kind == StepKind::kLoop) {
      loops_--;
      StepDef& repeat = add(StepKind::kRepeat, place);
      repeat.loop = loops_;
      repeat.target = open_[place.depth] + 1;
      steps_[open_[place.depth]].target = count_;
    } else if (which == 0) {
      jump(place);
    } else {
      steps_[open_[place.depth]].target = count_;
    }
    return {};
  }
  Status end(WalkPlace) { return {}; }

 private:
  StepDef& add(StepKind kind, WalkPlace place) {
    steps_[count_] = {kind, 0, place.instruction, 0};
    return steps_[count_++];
  }
  /// Ends a then-branch: the condition's target is what follows, and the jump's is not known yet.
  void jump(WalkPlace place) {
    add(StepKind::kJump, place);
    steps_[open_[place.depth]].target = count_;
    open_[place.depth] = count_ - 1;
  }

  const ProgramDef& program_;
  StepDef* steps_;
  uint8_t* seen_;
  ErrorDetail* detail_;
  uint32_t count_ = 0;
  uint8_t loops_ = 0;                            // open ones
  uint32_t open_[kMaxSubprogramDepth + 1] = {};  // the step whose target is not known yet
};

/// Each value is written once, or once in each branch of an If that lists it; what a Loop carries
/// is written once before it and once in its body.
class WriterCheck {
 public:
  WriterCheck(const ProgramDef& program, uint32_t* written_in, ErrorDetail* detail)
      : program_(program), written_in_(written_in), detail_(detail) {}

  Status run(WalkPlace place) {
    return for_outputs(place, [&](int32_t o) { return write(place, o); });
  }
  Status begin(WalkPlace place) {
    if (!is_loop(place))
      return for_outputs(
          place, [&](int32_t o) { return written_in_[o] == 0 ? Status() : twice(place, o); });
    INGOT_TRY(for_outputs(place, [&](int32_t o) { return write(place, o); }));
    return for_carried(place, [&](int32_t c) {
      if (written_in_[c] != place.subprogram + 1)
        return fail_operand(detail_, program_,
                            "Loop: a carried value is not written before it, or carried twice",
                            place.instruction, c, place.subprogram, written_in_[c]);
      written_in_[c] = 0;
      return Status();
    });
  }
  Status enter(WalkPlace, uint32_t, uint32_t) { return {}; }
  Status missing(WalkPlace, uint32_t) { return {}; }
  Status leave(WalkPlace place, uint32_t which, uint32_t callee) {
    if (is_loop(place))
      return for_carried(place, [&](int32_t c) {
        if (written_in_[c] != callee + 1)
          return fail_operand(detail_, program_, "Loop: its body does not write this carried value",
                              place.instruction, c, callee, written_in_[c]);
        written_in_[c] = place.subprogram + 1;
        return Status();
      });
    return for_outputs(place, [&](int32_t o) {
      if (written_in_[o] != callee + 1)
        return fail_operand(detail_, program_, "If: a branch does not write this output",
                            place.instruction, o, callee, which);
      written_in_[o] = 0;  // for the other branch
      return Status();
    });
  }
  Status end(WalkPlace place) {
    return for_outputs(place, [&](int32_t o) {
      written_in_[o] = place.subprogram + 1;
      return Status();
    });
  }

 private:
  bool is_loop(WalkPlace place) const {
    return program_.instructions[place.instruction].op == OpCode::kLoop;
  }
  template <class Visit>
  Status for_outputs(WalkPlace place, Visit visit) {
    const InstructionDef& i = program_.instructions[place.instruction];
    for (uint32_t k = 0; k < i.output_count; k++)
      if (i.outputs[k] >= 0) INGOT_TRY(visit(i.outputs[k]));
    return {};
  }
  template <class Visit>
  Status for_carried(WalkPlace place, Visit visit) {
    const InstructionDef& i = program_.instructions[place.instruction];
    for (uint32_t k = kFirstCarried; k < i.input_count; k++)
      if (i.inputs[k] >= 0) INGOT_TRY(visit(i.inputs[k]));
    return {};
  }
  Status twice(WalkPlace place, int32_t o) {
    return fail_operand(detail_, program_, "instructions[].outputs: a value is written twice",
                        place.instruction, o, 1, 2);
  }
  Status write(WalkPlace place, int32_t o) {
    if (written_in_[o] != 0) return twice(place, o);
    written_in_[o] = place.subprogram + 1;
    return {};
  }

  const ProgramDef& program_;
  uint32_t* written_in_;  // subprogram + 1; 0: not yet
  ErrorDetail* detail_;
};

/// Sums of instructions by depth: those before, and the longest branch of the If that is open
/// there.
class StepCount {
 public:
  StepCount(const ProgramDef& program, const BoundProgram& bound)
      : program_(program), bound_(bound) {}
  uint64_t total() const { return sums_[0]; }

  Status run(WalkPlace place) {
    add(&sums_[place.depth], 1);
    return {};
  }
  Status begin(WalkPlace place) {
    longest_[place.depth] = 0;
    return run(place);
  }
  Status enter(WalkPlace place, uint32_t, uint32_t) {
    sums_[place.depth + 1] = 0;
    return {};
  }
  Status leave(WalkPlace place, uint32_t, uint32_t) {
    uint64_t body = sums_[place.depth + 1];
    const InstructionDef& i = program_.instructions[place.instruction];
    if (i.op == OpCode::kLoop) {
      const int64_t most =
          static_cast<const LoopAttributes*>(bound_.attributes[place.instruction])->most;
      if (i.may_exceed_bound || (most > 0 && !checked_mul(body, uint64_t(most), &body)))
        body = UINT64_MAX;
      if (most <= 0 && !i.may_exceed_bound) body = 0;
    }
    uint64_t& longest = longest_[place.depth];
    if (body > longest) longest = body;
    return {};
  }
  Status missing(WalkPlace, uint32_t) { return {}; }
  Status end(WalkPlace place) {
    add(&sums_[place.depth], longest_[place.depth]);
    return {};
  }

 private:
  static void add(uint64_t* sum, uint64_t more) {
    if (!checked_add(*sum, more, sum)) *sum = UINT64_MAX;
  }

  const ProgramDef& program_;
  const BoundProgram& bound_;
  uint64_t sums_[kMaxSubprogramDepth + 1] = {}, longest_[kMaxSubprogramDepth + 1] = {};
};

}  // namespace

Status lay_out_steps(ProgramDef* program, StepDef* steps, uint8_t* seen, ErrorDetail* detail) {
  StepLayout layout(*program, steps, seen, detail);
  INGOT_TRY(walk_program(*program, &layout));
  for (size_t s = 1; s < program->subprograms.size; s++)
    if (!seen[s])
      return fail_entry(detail, Code::kMeaningInvalid, "subprograms[]: never used", int32_t(s), 1,
                        0, program->program_offset);
  program->steps = {steps, layout.step_count()};
  return {};
}

Status validate_writers(const ProgramDef& program, uint32_t* written_in, ErrorDetail* detail) {
  WriterCheck check(program, written_in, detail);
  INGOT_TRY(walk_program(program, &check));
  for (size_t i = 0; i < program.values.size; i++)
    if (program.values[i].alias == AliasKind::kInPlace && written_in[i] == 0)
      return fail_value(detail, program, "values[].alias in_place: nobody writes it", int32_t(i), 1,
                        0);
  return {};
}

uint64_t count_steps(const ProgramDef& program, const BoundProgram& bound) {
  StepCount count(program, bound);
  (void)walk_program(program, &count);  // it refuses nothing
  return count.total();
}

}  // namespace ingot
