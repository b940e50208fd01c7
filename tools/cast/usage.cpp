// tools/cast/usage.cpp - see usage.h.
#include "tools/cast/usage.h"

namespace ingot::cast {

Usage::Usage(const Draft& draft) : readers(draft.values.size()), writers(draft.values.size()) {
  for (uint32_t s = 0; s < draft.subprograms.size(); s++) {
    const auto& instructions = draft.subprograms[s].instructions;
    for (uint32_t i = 0; i < instructions.size(); i++) {
      const DraftInstruction& instruction = instructions[i];
      for (uint32_t k = 0; k < instruction.inputs.size(); k++)
        if (instruction.inputs[k] >= 0) readers[size_t(instruction.inputs[k])].push_back({s, i, k});
      if (instruction.op() == OpCode::kIf) continue;  // its branches write its outputs
      for (uint32_t k = 0; k < instruction.outputs.size(); k++)
        if (instruction.outputs[k] >= 0) writers[size_t(instruction.outputs[k])].push_back({s, i, k});
    }
  }
}

namespace {

void number(const Draft& draft, uint32_t subprogram, RunOrder* order) {
  const auto& instructions = draft.subprograms[subprogram].instructions;
  std::vector<uint32_t>& position = order->position[subprogram];
  position.resize(instructions.size());
  for (size_t i = 0; i < instructions.size(); i++) {
    position[i] = order->length++;
    const auto* branch = std::get_if<IfAttributes>(&instructions[i].attributes);
    if (!branch) continue;
    number(draft, branch->then_subprogram, order);
    order->length++;  // the jump over the else-branch
    number(draft, branch->else_subprogram, order);
  }
}

}  // namespace

RunOrder::RunOrder(const Draft& draft) : position(draft.subprograms.size()) {
  if (!draft.subprograms.empty()) number(draft, 0, this);
}

}  // namespace ingot::cast
