// SPDX-License-Identifier: Apache-2.0
// runtime/device/control_flow.h - where the steps go on after one that computes nothing. Trip
// counts are the run's own: no tensor can lengthen a loop that has begun.
// Owns     nothing.
// Threads  one run.
// Errors   kControlRefused, with the instruction.
//
//          Operands: where the run finds what decides.
//          bool condition(uint32_t instruction, uint32_t operand)
//          int64_t count(uint32_t instruction)                     of a Loop that has one
//          void show(uint32_t instruction, int64_t iteration)      for whoever reads the Loop's
//          iteration
//          void enter(uint32_t subprogram)                         a branch or a body, each time
//          that it begins
#pragma once
#include "runtime/device/device.h"
#include "runtime/op/control.h"

namespace ingot {

inline constexpr const char* kNoBranch = "the file was not converted for this branch";
inline constexpr const char* kTooManyIterations =
    "a loop's count is above what the file was converted for";

template <class Operands>
class ControlFlow {
 public:
  ControlFlow(const StepProgram& program, Operands* operands)
      : program_(program), operands_(*operands) {}

  /// `*at` is the step behind `step`; afterwards the one that is next.
  Status next(const StepDef& step, uint32_t* at, ErrorDetail* detail) {
    const OpArguments& arguments = program_.calls[step.index].arguments;
    switch (step.kind) {
      case StepKind::kRun: break;
      case StepKind::kJump: *at = step.target; break;
      case StepKind::kIf: {
        const IfAttributes& branches = arguments.as<IfAttributes>();
        const bool is_true = operands_.condition(step.index, 0);
        if (!is_true) *at = step.target;
        operands_.enter(is_true ? branches.then_subprogram : branches.else_subprogram);
        break;
      }
      case StepKind::kRefuse: return refuse(detail, kNoBranch, step.index);
      case StepKind::kLoop: return begin(step, arguments, at, detail);
      case StepKind::kRepeat: {
        Trip& trip = trips_[step.loop];
        operands_.show(step.index, ++trip.iteration);
        if (trip.iteration < trip.count && goes_on(step.index, arguments)) {
          *at = step.target;
          operands_.enter(arguments.as<LoopAttributes>().body);
        }
        break;
      }
    }
    return {};
  }

 private:
  struct Trip {
    int64_t iteration, count;
  };

  static Status refuse(ErrorDetail* detail, const char* field, uint32_t instruction) {
    (void)fail(detail, Code::kControlRefused, field);
    if (detail) detail->instruction = instruction;
    return Status(Code::kControlRefused, instruction);
  }
  Status begin(const StepDef& step, const OpArguments& loop, uint32_t* at, ErrorDetail* detail) {
    const int64_t most = loop.as<LoopAttributes>().most;
    const int64_t count = loop.inputs[0].present() ? operands_.count(step.index) : most;
    if (count > most) {
      const Status status = refuse(detail, kTooManyIterations, step.index);
      if (detail) detail->need = uint64_t(most), detail->have = uint64_t(count);
      return status;
    }
    trips_[step.loop] = {0, count};
    operands_.show(step.index, 0);
    if (count < 1 || !goes_on(step.index, loop))
      *at = step.target;
    else
      operands_.enter(loop.as<LoopAttributes>().body);
    return {};
  }
  bool goes_on(uint32_t instruction, const OpArguments& loop) {
    return !loop.inputs[1].present() || operands_.condition(instruction, 1);
  }

  const StepProgram& program_;
  Operands& operands_;
  Trip trips_[kMaxSubprogramDepth] = {};  // of the loops that are open
};

}  // namespace ingot
