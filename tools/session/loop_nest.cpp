// SPDX-License-Identifier: Apache-2.0
#include "tools/session/loop_nest.h"

#include "runtime/op/control.h"
#include "tools/session/program_view.h"

namespace ingot::cli {

LoopNest::LoopNest(const std::string& path) {
  const ProgramView view(path, {});
  const ProgramDef& program = view.program();
  owner_.assign(program.instructions.size, 0);
  caller_.assign(program.subprograms.size, 0);
  counters_.resize(program.subprograms.size);
  writers_.assign(program.values.size, 0);
  for (uint32_t s = 0; s < program.subprograms.size; s++)
    for (uint32_t i = 0; i < program.subprograms[s].instruction_count; i++)
      owner_[program.subprograms[s].first_instruction + i] = s;
  std::vector<uint32_t> open = {0};
  while (!open.empty()) {  // the validation of the file says that calls make a tree
    const uint32_t s = open.back();
    open.pop_back();
    const SubprogramDef& subprogram = program.subprograms[s];
    for (uint32_t i = 0; i < subprogram.instruction_count; i++) {
      const InstructionDef& instruction = program.instructions[subprogram.first_instruction + i];
      if (!is_control(instruction.op))
        for (uint16_t o = 0; o < instruction.output_count; o++)
          if (instruction.outputs[o] >= 0) writers_[size_t(instruction.outputs[o])]++;
      const auto call = [&](uint32_t callee, bool is_loop) {
        if (!callee) return;
        caller_[callee] = s;
        counters_[callee] = counters_[s];
        if (is_loop)
          counters_[callee].push_back(instruction.output_count ? instruction.outputs[0] : -1);
        open.push_back(callee);
      };
      if (instruction.op == OpCode::kIf) {
        const auto& branches = *static_cast<const IfAttributes*>(instruction.attributes);
        call(branches.then_subprogram, false);
        call(branches.else_subprogram, false);
      } else if (instruction.op == OpCode::kLoop) {
        call(static_cast<const LoopAttributes*>(instruction.attributes)->body, true);
      }
    }
  }
}

bool LoopNest::is_inside(uint32_t instruction, uint32_t subprogram) const {
  uint32_t s = owner_[instruction];
  while (s && s != subprogram) s = caller_[s];
  return s == subprogram;
}

}  // namespace ingot::cli
