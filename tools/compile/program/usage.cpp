// SPDX-License-Identifier: Apache-2.0
// tools/compile/program/usage.cpp - see usage.h.
#include "tools/compile/program/usage.h"

#include <algorithm>

namespace ingot::convert {

Usage::Usage(const LoweredProgram& lowered)
    : readers(lowered.values.size()), writers(lowered.values.size()) {
  for (uint32_t s = 0; s < lowered.subprograms.size(); s++) {
    const auto& instructions = lowered.subprograms[s].instructions;
    for (uint32_t i = 0; i < instructions.size(); i++) {
      const LoweredInstruction& instruction = instructions[i];
      for (uint32_t k = 0; k < instruction.inputs.size(); k++)
        if (instruction.inputs[k] >= 0) readers[size_t(instruction.inputs[k])].push_back({s, i, k});
      if (instruction.op() == OpCode::kIf) continue;  // its branches write its outputs
      for (uint32_t k = 0; k < instruction.outputs.size(); k++)
        if (instruction.outputs[k] >= 0)
          writers[size_t(instruction.outputs[k])].push_back({s, i, k});
    }
  }
}

namespace {

void number(const LoweredProgram& lowered, uint32_t subprogram, RunOrder* order) {
  const auto& instructions = lowered.subprograms[subprogram].instructions;
  std::vector<uint32_t>& position = order->position[subprogram];
  position.resize(instructions.size());
  for (size_t i = 0; i < instructions.size(); i++) {
    position[i] = order->length++;
    if (const auto* loop = std::get_if<LoopAttributes>(&instructions[i].attributes)) {
      number(lowered, loop->body, order);
      order->loops.push_back({position[i], order->length++});
    } else if (const auto* branch = std::get_if<IfAttributes>(&instructions[i].attributes)) {
      if (branch->then_subprogram != 0)
        number(lowered, branch->then_subprogram, order);
      else
        order->length++;  // the refusal
      order->length++;    // the jump over the else-branch
      if (branch->else_subprogram != 0)
        number(lowered, branch->else_subprogram, order);
      else
        order->length++;
    }
  }
}

}  // namespace

RunOrder::RunOrder(const LoweredProgram& lowered) : position(lowered.subprograms.size()) {
  if (!lowered.subprograms.empty()) number(lowered, 0, this);
  std::sort(loops.begin(), loops.end(),
            [](const LoopSpan& a, const LoopSpan& b) { return a.begin < b.begin; });
}

uint32_t RunOrder::last_use(uint32_t since, uint32_t at) const {
  for (const LoopSpan& loop : loops)  // outer ones first
    if (since < loop.begin && loop.begin < at && at <= loop.end) return loop.end;
  return at;
}

}  // namespace ingot::convert
