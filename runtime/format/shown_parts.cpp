// SPDX-License-Identifier: Apache-2.0
// runtime/format/shown_parts.cpp - in-place values that are read again as a part of a whole. A
// whole that was put together from parts may be read after one of them was overwritten, and then
// has the new part (validate_dataflow.cpp), so the two share storage in every plan.
#include "runtime/format/validate.h"

namespace ingot {
namespace {

enum : uint8_t { kUnknown = 0, kPart = 1, kOther = 2 };

class ShownParts {
 public:
  ShownParts(const ProgramDef& program, ValueDef* values, uint8_t* is_written, uint8_t* is_part,
             int32_t* last_read)
      : p_(program),
        values_(values),
        is_written_(is_written),
        is_part_(is_part),
        last_read_(last_read) {
    for (size_t i = 0; i < p_.values.size; i++)
      is_written_[i] = 0, is_part_[i] = kUnknown, last_read_[i] = -1;
  }

  void find() {
    for (const InstructionDef& i : p_.instructions)
      for (uint32_t k = 0; k < i.output_count; k++)
        if (i.outputs[k] >= 0) is_written_[i.outputs[k]] = 1;
    uint32_t loop_end = 0;
    for (uint32_t s = 0; s < p_.steps.size; s++) {
      const StepDef& step = p_.steps[s];
      if (step.kind == StepKind::kJump || step.kind == StepKind::kRefuse) continue;
      if (step.kind == StepKind::kLoop && step.target > loop_end) loop_end = step.target;
      // what a loop reads it reads again in its next iteration
      const int32_t at = int32_t(s < loop_end ? loop_end : s);
      const InstructionDef& instruction = p_.instructions[step.index];
      for (uint32_t k = 0; k < instruction.input_count; k++) read(instruction.inputs[k], at);
    }
    for (const PortDef& port : p_.outputs) read(port.value, int32_t(p_.steps.size));
    for (uint32_t s = 0; s < p_.steps.size; s++) {
      const StepDef& step = p_.steps[s];
      if (step.kind == StepKind::kJump || step.kind == StepKind::kRefuse) continue;
      const InstructionDef& instruction = p_.instructions[step.index];
      for (uint32_t k = 0; k < instruction.output_count; k++)
        write(instruction.outputs[k], int32_t(s));
    }
  }

 private:
  /// Only views lie between it and its root.
  bool is_part(int32_t value) {
    int32_t v = value;
    while (is_part_[v] == kUnknown && values_[v].alias == AliasKind::kView) v = values_[v].alias_of;
    uint8_t answer = is_part_[v];
    if (answer == kUnknown) answer = values_[v].alias == AliasKind::kNone ? kPart : kOther;
    for (; value != v; value = values_[value].alias_of) is_part_[value] = answer;
    is_part_[v] = answer;
    return answer == kPart;
  }
  void read(int32_t value, int32_t step) {
    if (value < 0 || !is_part(value)) return;
    int32_t& last = last_read_[values_[value].root];
    if (step > last) last = step;
  }
  void write(int32_t value, int32_t step) {
    if (value < 0) return;
    ValueDef& y = values_[value];
    const ValueKind kind = values_[y.root].kind;
    if (y.alias != AliasKind::kInPlace || y.alias_of == y.root || is_written_[y.root] ||
        (kind != ValueKind::kActivation && kind != ValueKind::kOutput))
      return;
    if (last_read_[y.root] > step) y.shows_in_whole = true;
  }

  const ProgramDef& p_;
  ValueDef* values_;
  uint8_t *is_written_, *is_part_;
  int32_t* last_read_;
};

}  // namespace

void find_shown_parts(const ProgramDef& program, ValueDef* values, uint8_t* is_written,
                      uint8_t* is_part, int32_t* last_read) {
  ShownParts(program, values, is_written, is_part, last_read).find();
}

}  // namespace ingot
