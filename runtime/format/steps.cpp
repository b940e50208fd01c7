// runtime/format/steps.cpp - control flow in one line: branches behind their condition, a jump between them.
//   step  0 run a      1 if c, else go to 4      2 run then      3 jump to 5      4 run else      5 run b
#include "runtime/format/walk.h"

namespace ingot {
namespace {

class StepLayout {
 public:
  StepLayout(const ProgramDef& program, StepDef* steps, uint8_t* seen, ErrorDetail* detail)
      : program_(program), steps_(steps), seen_(seen), detail_(detail) {}
  uint32_t step_count() const { return count_; }

  Status run(WalkPlace place) {
    steps_[count_++] = {StepKind::kRun, place.instruction, 0};
    return {};
  }
  Status begin_if(WalkPlace place) {
    open_[place.depth] = count_;
    steps_[count_++] = {StepKind::kIf, place.instruction, 0};
    return {};
  }
  Status enter_branch(WalkPlace place, uint32_t, uint32_t branch) {
    if (branch == 0 || branch >= program_.subprograms.size)
      return fail_operand(detail_, program_, "If: subprogram", place.instruction, -1, program_.subprograms.size,
                          branch);
    if (seen_[branch]++ != 0)
      return fail_operand(detail_, program_, "If: a subprogram used twice, or in a circle", place.instruction, -1, 1,
                          branch);
    if (place.depth + 1 > kMaxSubprogramDepth)
      return fail_operand(detail_, program_, "If: nested too deep", place.instruction, -1, kMaxSubprogramDepth,
                          place.depth + 1);
    return {};
  }
  Status leave_branch(WalkPlace place, uint32_t which, uint32_t) {
    if (which == 0) {
      steps_[count_++] = {StepKind::kJump, place.instruction, 0};
      steps_[open_[place.depth]].target = count_;
      open_[place.depth] = count_ - 1;
    } else {
      steps_[open_[place.depth]].target = count_;
    }
    return {};
  }
  Status end_if(WalkPlace) { return {}; }

 private:
  const ProgramDef& program_;
  StepDef* steps_;
  uint8_t* seen_;
  ErrorDetail* detail_;
  uint32_t count_ = 0;
  uint32_t open_[kMaxSubprogramDepth + 1] = {};  // the step whose target is not known yet
};

/// Each value is written once, or once in each branch of an If that lists it.
class WriterCheck {
 public:
  WriterCheck(const ProgramDef& program, uint32_t* written_in, ErrorDetail* detail)
      : program_(program), written_in_(written_in), detail_(detail) {}

  Status run(WalkPlace place) {
    return for_outputs(place, [&](int32_t o) { return write(place, o, place.subprogram); });
  }
  Status begin_if(WalkPlace place) {
    return for_outputs(place, [&](int32_t o) { return written_in_[o] == 0 ? Status() : twice(place, o); });
  }
  Status enter_branch(WalkPlace, uint32_t, uint32_t) { return {}; }
  Status leave_branch(WalkPlace place, uint32_t which, uint32_t branch) {
    return for_outputs(place, [&](int32_t o) {
      if (written_in_[o] != branch + 1)
        return fail_operand(detail_, program_, "If: a branch does not write this output", place.instruction, o, branch,
                            which);
      if (which == 0) written_in_[o] = 0;
      return Status();
    });
  }
  Status end_if(WalkPlace place) {
    return for_outputs(place, [&](int32_t o) {
      written_in_[o] = place.subprogram + 1;
      return Status();
    });
  }

 private:
  template <class Visit>
  Status for_outputs(WalkPlace place, Visit visit) {
    const InstructionDef& i = program_.instructions[place.instruction];
    for (uint32_t k = 0; k < i.output_count; k++)
      if (i.outputs[k] >= 0) INGOT_TRY(visit(i.outputs[k]));
    return {};
  }
  Status twice(WalkPlace place, int32_t o) {
    return fail_operand(detail_, program_, "instructions[].outputs: a value is written twice", place.instruction, o, 1,
                        2);
  }
  Status write(WalkPlace place, int32_t o, uint32_t subprogram) {
    if (written_in_[o] != 0) return twice(place, o);
    written_in_[o] = subprogram + 1;
    return {};
  }

  const ProgramDef& program_;
  uint32_t* written_in_;  // subprogram + 1; 0: not yet
  ErrorDetail* detail_;
};

}  // namespace

Status lay_out_steps(ProgramDef* program, StepDef* steps, uint8_t* seen, ErrorDetail* detail) {
  StepLayout layout(*program, steps, seen, detail);
  INGOT_TRY(walk_program(*program, &layout));
  for (size_t s = 1; s < program->subprograms.size; s++)
    if (!seen[s])
      return fail_entry(detail, Code::kMeaningInvalid, "subprograms[]: never used", int32_t(s), 1, 0,
                        program->program_offset);
  program->steps = {steps, layout.step_count()};
  return {};
}

Status prove_writers(const ProgramDef& program, uint32_t* written_in, ErrorDetail* detail) {
  WriterCheck check(program, written_in, detail);
  INGOT_TRY(walk_program(program, &check));
  for (size_t i = 0; i < program.values.size; i++)
    if (program.values[i].alias == AliasKind::kInPlace && written_in[i] == 0)
      return fail_value(detail, program, "values[].alias in_place: nobody writes it", int32_t(i), 1, 0);
  return {};
}

}  // namespace ingot
