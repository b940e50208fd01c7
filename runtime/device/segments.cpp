// SPDX-License-Identifier: Apache-2.0
// runtime/device/segments.cpp - see segments.h.
#include "runtime/device/segments.h"

#include "runtime/op/control.h"

namespace ingot {
namespace {

bool has_operand(const int32_t* operands, uint32_t count, uint32_t index) {
  return index < count && operands[index] >= 0;
}

ControlNeeds needs_of(const StepProgram& program, const StepDef& step) {
  const InstructionDef& instruction = program.instructions[step.index];
  const auto reads = [&](uint32_t operand) {
    return has_operand(instruction.inputs, instruction.input_count, operand) &&
           !(operand == 0 && is_known(program, step.index));
  };
  ControlNeeds needs;
  switch (step.kind) {
    case StepKind::kIf: needs.condition = reads(0); break;
    case StepKind::kLoop: needs.count = reads(0); [[fallthrough]];
    case StepKind::kRepeat:
      needs.condition = reads(1);
      needs.iteration = has_operand(instruction.outputs, instruction.output_count, 0);
      break;
    case StepKind::kRun:
    case StepKind::kJump:
    case StepKind::kRefuse: break;
  }
  return needs;
}

/// No loop of those steps may go round more often than kMaxDecided.
bool is_bounded(const StepProgram& program, uint32_t step, uint32_t end) {
  struct Open {
    int64_t most;  // with the loops around it
    uint32_t end;
  } open[kMaxSubprogramDepth];
  uint32_t depth = 0;
  for (; step < end; step++) {
    const StepDef& s = program.steps[step];
    if (s.kind != StepKind::kLoop) continue;
    while (depth && open[depth - 1].end <= step) depth--;
    const int64_t own =
        static_cast<const LoopAttributes*>(program.instructions[s.index].attributes)->most;
    if (own > kMaxDecided) return false;
    // below 0: an expression
    const int64_t most = (depth ? open[depth - 1].most : 1) * (own > 1 ? own : 1);
    if (most > kMaxDecided) return false;
    open[depth++] = {most, s.target};
  }
  return true;
}

}  // namespace

uint32_t end_of_control(const StepProgram& program, uint32_t step) {
  const StepDef& s = program.steps[step];
  // a then-branch ends with a jump
  return s.kind == StepKind::kIf ? program.steps[s.target - 1].target : s.target;
}

const char* why_host_decides(const StepProgram& program, uint32_t step) {
  if (program.host_decides) return program.host_decides;
  return is_bounded(program, step, end_of_control(program, step))
             ? nullptr
             : "a loop in it may go round more than 1048576 times, and nothing cancels a graph";
}

bool is_known(const StepProgram& program, uint32_t instruction) {
  const int32_t v = program.instructions[instruction].inputs[0];
  return v >= 0 && program.values[size_t(v)].kind == ValueKind::kConstant &&
         program.values[size_t(v)].root == v;
}

SegmentScan::SegmentScan(const StepProgram& program, bool moves_ports)
    : program_(program), moves_ports_(moves_ports), at_(program.first_step) {}

/// Steps that belong to a branch or a body, from the one behind `step`.
void SegmentScan::enter(const StepDef& step) {
  const void* attributes = program_.instructions[step.index].attributes;
  const auto open = [&](uint32_t subprogram, uint32_t end_step) {
    open_[depth_++] = {subprogram, end_step};
  };
  switch (step.kind) {
    case StepKind::kIf:
      open(static_cast<const IfAttributes*>(attributes)->then_subprogram, step.target);
      break;
    case StepKind::kLoop:
      open(static_cast<const LoopAttributes*>(attributes)->body, step.target);
      break;
    case StepKind::kJump:  // of the then-branch that ends here
      depth_--;
      open(static_cast<const IfAttributes*>(attributes)->else_subprogram, step.target);
      break;
    case StepKind::kRun:
    case StepKind::kRefuse:
    case StepKind::kRepeat: break;
  }
}

/// The step behind what the device goes through at `step`; `step` itself where the host decides.
uint32_t SegmentScan::behind_of(uint32_t step) const {
  const StepKind kind = program_.steps[step].kind;
  if (kind == StepKind::kRun) return step + 1;
  const bool begins = kind == StepKind::kIf || kind == StepKind::kLoop;
  return begins && !why_host_decides(program_, step) ? end_of_control(program_, step) : step;
}

bool SegmentScan::next(GraphSegment* out) {
  const uint32_t end = uint32_t(program_.steps.size);
  while (!has_ended_) {
    while (depth_ && open_[depth_ - 1].end_step <= at_) depth_--;
    const uint32_t until = depth_ ? open_[depth_ - 1].end_step : end;
    GraphSegment s;
    s.first_step = at_;
    s.subprogram = depth_ ? open_[depth_ - 1].subprogram : 0;
    s.brings_inputs = moves_ports_ && is_first_;
    is_first_ = false;
    for (uint32_t behind; at_ < until && (behind = behind_of(at_)) != at_;) at_ = behind;
    s.end_step = at_;
    if (at_ < until) {
      s.ends_at_control = true;
      s.needs = needs_of(program_, program_.steps[at_]);
      enter(program_.steps[at_++]);
    } else if (!depth_) {
      s.takes_outputs = moves_ports_;
      has_ended_ = true;
    }  // else a branch ends, and what is behind it begins anew: the other branch comes there too
    if (s.first_step == s.end_step && !s.brings_inputs && !s.takes_outputs && !s.needs.any())
      continue;
    *out = s;
    return true;
  }
  return false;
}

LaunchCounts launch_counts_of(const StepProgram& program, bool moves_ports, uint32_t subprogram) {
  LaunchCounts launch_counts;
  SegmentScan scan(program, moves_ports);
  for (GraphSegment s; scan.next(&s);) {
    if (s.subprogram != subprogram) continue;
    launch_counts.launches++;
    launch_counts.waits += s.needs.reads();
  }
  launch_counts.waits += subprogram == 0;
  return launch_counts;
}

bool is_one_segment(const StepProgram& program) {
  GraphSegment only;
  return SegmentScan(program, true).next(&only) && only.first_step == program.first_step &&
         only.end_step == program.steps.size && !only.ends_at_control;
}

}  // namespace ingot
