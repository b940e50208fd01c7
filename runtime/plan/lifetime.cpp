// SPDX-License-Identifier: Apache-2.0
// runtime/plan/lifetime.cpp - intervals of storage roots.
#include "runtime/plan/lifetime.h"

#include "runtime/base/checked_math.h"

namespace ingot {
namespace {

constexpr uint64_t kSaturated = uint64_t{1} << 63;

uint64_t rounded(uint64_t bytes, uint64_t alignment) {
  uint64_t result;
  return checked_align(bytes, alignment, &result) && result < kSaturated ? result : kSaturated;
}

struct Intervals {
  const ProgramDef& program;
  const LifetimeRules& rules;
  Span<Lifetime> by_value;
  struct OpenLoop {
    uint32_t begin, end;  // steps of its kLoop and kRepeat
  };
  OpenLoop loops[kMaxSubprogramDepth] = {};
  uint32_t loop_count = 0;

  /// first > last marks an interval that nothing has touched yet.
  void touch(int32_t value, uint32_t step) const {
    if (value < 0) return;
    Lifetime& root = by_value[size_t(storage_root(program, value, rules))];
    if (step < root.first_step) root.first_step = step;
    if (step > root.last_step || root.last_step == UINT32_MAX) root.last_step = step;
    // What was there before a loop is needed in each of its iterations.
    for (uint32_t i = 0; i < loop_count; i++)
      if (root.first_step < loops[i].begin) {
        if (loops[i].end > root.last_step) root.last_step = loops[i].end;
        break;
      }
  }
  /// Steps come in order.
  void visit(uint32_t step) {
    const StepDef& at = program.steps[step];
    if (at.kind == StepKind::kJump || at.kind == StepKind::kRefuse) return;
    while (loop_count != 0 && loops[loop_count - 1].end < step) loop_count--;
    const InstructionDef& instruction = program.instructions[at.index];
    for (uint32_t k = 0; k < instruction.input_count; k++) touch(instruction.inputs[k], step);
    for (uint32_t k = 0; k < instruction.output_count && at.kind != StepKind::kIf; k++)
      touch(instruction.outputs[k], step);
    if (at.kind == StepKind::kLoop) loops[loop_count++] = {step, at.target - 1};
  }
};

}  // namespace

int32_t storage_root(const ProgramDef& program, int32_t value, const LifetimeRules& rules) {
  const int32_t root = program.values[size_t(value)].root;
  if (!rules.keep_values || program.values[size_t(root)].kind == ValueKind::kState) return root;
  for (;;) {
    const ValueDef& def = program.values[size_t(value)];
    if (def.alias == AliasKind::kNone || (def.alias == AliasKind::kInPlace && !def.shows_in_whole))
      return value;
    value = def.alias_of;
  }
}

bool is_direct_port(const ProgramDef& program, const BoundProgram& bound,
                    const LifetimeRules& rules, int32_t value) {
  const int32_t root = storage_root(program, value, rules);
  if (root == value) return true;
  const ValueKind kind = program.values[size_t(root)].kind;
  if (program.values[size_t(value)].kind != ValueKind::kOutput) return false;
  return (kind == ValueKind::kActivation || kind == ValueKind::kOutput) &&
         bound.root_offset[value] == bound.root_offset[root] &&
         bound.value_bytes[value] == bound.value_bytes[root];
}

void find_lifetimes(const ProgramDef& program, const BoundProgram& bound,
                    const LifetimeRules& rules, Span<Lifetime> by_value) {
  const uint32_t last = program.steps.size ? uint32_t(program.steps.size - 1) : 0;
  Intervals intervals{program, rules, by_value};
  for (Lifetime& lifetime : by_value) lifetime = {0, UINT32_MAX, UINT32_MAX};
  for (const PortDef& port : program.inputs) intervals.touch(port.value, 0);
  for (size_t i = 0; i < program.values.size; i++)
    if (program.values[i].kind == ValueKind::kState) intervals.touch(int32_t(i), 0);
  for (uint32_t i = 0; i < program.steps.size; i++) intervals.visit(i);
  intervals.loop_count = 0;
  for (size_t i = 0; i < program.values.size; i++) {
    const ValueDef& def = program.values[i];
    if (rules.keep_values) intervals.touch(int32_t(i), 0);
    if (def.kind == ValueKind::kState || rules.keep_values) intervals.touch(int32_t(i), last);
    if (def.kind == ValueKind::kOutput) intervals.touch(int32_t(i), last);
  }
  for (const PortDef& port : program.outputs) intervals.touch(port.value, last);
  for (size_t i = 0; i < program.values.size; i++) {
    Lifetime& lifetime = by_value[i];
    const bool untouched = lifetime.first_step == UINT32_MAX;
    const bool is_root = storage_root(program, int32_t(i), rules) == int32_t(i);
    if (untouched || !is_root || program.values[i].kind == ValueKind::kConstant)
      lifetime = {};
    else
      lifetime.bytes = bound.value_bytes[i];
  }
  if (!rules.ports_outside) return;
  const auto leave_to_caller = [&](const PortDef& port) {
    if (is_direct_port(program, bound, rules, port.value))
      by_value[size_t(storage_root(program, port.value, rules))].bytes = 0;
  };
  for (const PortDef& port : program.inputs) leave_to_caller(port);
  for (const PortDef& port : program.outputs) leave_to_caller(port);
}

uint64_t live_peak(Span<const Lifetime> lifetimes, uint64_t alignment, Span<uint64_t> step_bytes,
                   uint32_t* out_step) {
  for (uint64_t& bytes : step_bytes) bytes = 0;
  // Differences first; unsigned wrap-around cancels out as long as each true sum fits, which the
  // total tells.
  uint64_t total = 0;
  for (const Lifetime& lifetime : lifetimes) {
    const uint64_t bytes = rounded(lifetime.bytes, alignment);
    total = total + bytes < kSaturated && bytes < kSaturated ? total + bytes : kSaturated;
    if (total == kSaturated) break;
    if (bytes == 0) continue;
    step_bytes[lifetime.first_step] += bytes;
    step_bytes[lifetime.last_step + 1] -= bytes;
  }
  *out_step = 0;
  if (total == kSaturated) return kSaturated;
  uint64_t live = 0, peak = 0;
  for (size_t i = 0; i < step_bytes.size; i++) {
    live += step_bytes[i];
    step_bytes[i] = live;
    if (live <= peak) continue;
    peak = live;
    *out_step = uint32_t(i);
  }
  return peak;
}

}  // namespace ingot
