// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/carry.cpp - see carry.h.
#include "tools/compile/plan/carry.h"

#include <algorithm>

#include "tools/compile/program/usage.h"

namespace ingot::convert {
namespace {

class CarriedWriter {
 public:
  explicit CarriedWriter(LoweredProgram* lowered)
      : lowered_(lowered), usage_(*lowered), trials_(trial_bindings(*lowered)) {}

  /// The first copy that is not needed goes, and with it this object's knowledge of the program.
  bool drop_one() {
    for (uint32_t s = 0; s < lowered_->subprograms.size(); s++) {
      const auto& instructions = lowered_->subprograms[s].instructions;
      for (uint32_t i = 0; i < instructions.size(); i++) {
        if (instructions[i].op() != OpCode::kCopy ||
            !lowered_->at(instructions[i].outputs[0]).carried())
          continue;
        if (drop(s, i)) return true;
      }
    }
    return false;
  }

 private:
  using Block = std::vector<LoweredInstruction>;

  bool drop(uint32_t subprogram, uint32_t index) {
    Block& block = lowered_->subprograms[subprogram].instructions;
    const int32_t from = block[index].inputs[0], to = block[index].outputs[0];
    const auto& writers = usage_.writers[size_t(from)];
    if (writers.size() != 1 || writers[0].subprogram != subprogram || writers[0].index >= index)
      return false;
    if (!can_stand_for(from, to)) return false;
    // Before the loop the value of before is the one that readers elsewhere still want.
    const bool is_first = lowered_->at(to).carried_in == int32_t(subprogram);
    if (is_first && usage_.readers[size_t(from)].size() != 1) return false;
    const Use& writer = writers[0];
    if (!may_write(block[writer.index], writer.slot, to)) return false;
    for (uint32_t i = writer.index + 1; i < index; i++)
      if (touches(block[i], to)) return false;
    block[writer.index].outputs[writer.slot] = to;
    for (const Use& use : usage_.readers[size_t(from)])
      lowered_->subprograms[use.subprogram].instructions[use.index].inputs[use.slot] = to;
    block.erase(block.begin() + index);
    return true;
  }

  bool can_stand_for(int32_t from, int32_t to) const {
    const LoweredValue &a = lowered_->at(from), &b = lowered_->at(to);
    if (a.kind != ValueKind::kActivation || a.alias != AliasKind::kNone || a.carried())
      return false;
    if (a.dtype != b.dtype || a.dims != b.dims || a.row_stride != b.row_stride) return false;
    return std::none_of(lowered_->values.begin(), lowered_->values.end(),
                        [&](const LoweredValue& value) {
                          return value.alias != AliasKind::kNone && value.alias_of == from;
                        });
  }

  /// The instruction may compute the carried value, from what it holds if the contract says so.
  bool may_write(const LoweredInstruction& instruction, uint32_t slot, int32_t to) const {
    if (is_control(instruction.op())) return false;
    const OpContract* contract = contract_of(instruction.op());
    for (size_t k = 0; k < instruction.inputs.size(); k++) {
      const int32_t input = instruction.inputs[k];
      if (input < 0 || lowered_->root(input) != to) continue;
      if (input != to || slot != 0 || k >= 32 || !contract->in_place) return false;
      for (const Bindings& bindings : trials_)
        if (!(contract->in_place(Arguments(*lowered_, instruction, bindings).get()) >> k & 1))
          return false;
    }
    return std::count(instruction.outputs.begin(), instruction.outputs.end(), to) == 0;
  }

  bool touches(const LoweredInstruction& instruction, int32_t storage) const {
    const auto is_there = [&](int32_t id) { return id >= 0 && lowered_->root(id) == storage; };
    if (std::any_of(instruction.inputs.begin(), instruction.inputs.end(), is_there)) return true;
    if (std::any_of(instruction.outputs.begin(), instruction.outputs.end(), is_there)) return true;
    for (const uint32_t callee : callees_of(instruction))
      for (const LoweredInstruction& inner : lowered_->subprograms[callee].instructions)
        if (touches(inner, storage)) return true;
    return false;
  }

  LoweredProgram* lowered_;
  Usage usage_;
  std::vector<Bindings> trials_;
};

}  // namespace

uint32_t write_carried_in_place(LoweredProgram* lowered) {
  uint32_t count = 0;
  while (CarriedWriter(lowered).drop_one()) count++;
  return count;
}

}  // namespace ingot::convert
