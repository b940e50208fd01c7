// SPDX-License-Identifier: Apache-2.0
#include "tools/session/output_paths.h"

#include "runtime/op/control.h"
#include "tools/session/program_view.h"

namespace ingot::cli {
namespace {

class Walk {
 public:
  explicit Walk(const ProgramDef& program)
      : program_(program), writers_(program.values.size), views_(program.values.size) {
    for (size_t v = 0; v < program.values.size; v++) {
      const ValueDef& value = program.values[v];
      const bool follows = value.alias == AliasKind::kView ||
                           (value.alias == AliasKind::kInPlace &&
                            program.values[size_t(value.root)].kind == ValueKind::kState);
      if (follows) views_[size_t(value.alias_of)].push_back(int32_t(v));
    }
    for (uint32_t i = 0; i < program.instructions.size; i++) {
      const InstructionDef& instruction = program.instructions[i];
      for (uint16_t o = 0; o < instruction.output_count; o++)
        if (instruction.outputs[o] >= 0) writers_[size_t(instruction.outputs[o])].push_back(i);
    }
  }

  std::vector<uint32_t> from(int32_t value) {
    seen_.assign(program_.instructions.size, false);
    read_.assign(program_.values.size, false);
    need_value(value);
    while (!open_.empty()) {
      const uint32_t index = open_.back();
      open_.pop_back();
      const InstructionDef& instruction = program_.instructions[index];
      for (uint16_t k = 0; k < instruction.input_count; k++) need_value(instruction.inputs[k]);
      if (instruction.op == OpCode::kIf) {
        const auto& branches = *static_cast<const IfAttributes*>(instruction.attributes);
        need_subprogram(branches.then_subprogram);
        need_subprogram(branches.else_subprogram);
      } else if (instruction.op == OpCode::kLoop) {
        need_subprogram(static_cast<const LoopAttributes*>(instruction.attributes)->body);
      }
    }
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < seen_.size(); i++)
      if (seen_[i]) all.push_back(i);
    return all;
  }

 private:
  void need(uint32_t instruction) {
    if (seen_[instruction]) return;
    seen_[instruction] = true;
    open_.push_back(instruction);
  }
  void need_value(int32_t first) {
    std::vector<int32_t> values = {first};
    while (!values.empty()) {
      const int32_t value = values.back();
      values.pop_back();
      if (value < 0 || read_[size_t(value)]) continue;
      read_[size_t(value)] = true;
      for (const uint32_t writer : writers_[size_t(value)]) need(writer);
      if (program_.values[size_t(value)].alias != AliasKind::kNone)
        values.push_back(program_.values[size_t(value)].alias_of);
      values.insert(values.end(), views_[size_t(value)].begin(), views_[size_t(value)].end());
    }
  }
  void need_subprogram(uint32_t index) {
    if (!index) return;
    const SubprogramDef& subprogram = program_.subprograms[index];
    for (uint32_t i = 0; i < subprogram.instruction_count; i++)
      need(subprogram.first_instruction + i);
  }

  const ProgramDef& program_;
  std::vector<std::vector<uint32_t>> writers_;  // by value
  // by value: parts of it; of a state also what is written over it
  std::vector<std::vector<int32_t>> views_;
  std::vector<bool> seen_, read_;  // instructions, values
  std::vector<uint32_t> open_;
};

}  // namespace

std::vector<OutputPath> output_paths(const std::string& path) {
  const ProgramView view(path, {});
  const ProgramDef& program = view.program();
  Walk walk(program);
  std::vector<OutputPath> all;
  for (const PortDef& output : program.outputs)
    all.push_back({output.name, walk.from(output.value)});
  for (const StateDef& state : program.states) {
    const std::string replaced = state.output_name ? state.output_name : "";
    all.push_back({replaced.empty() ? state.name : replaced, walk.from(state.value)});
  }
  return all;
}

}  // namespace ingot::cli
