// SPDX-License-Identifier: Apache-2.0
// tools/compile/plan/runs.h - runs of convolutions of which each is the only reader of the one
// before it, and the instruction that takes the place of one.
#pragma once
#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/usage.h"

namespace ingot::convert {

/// Indices of instructions of one subprogram, the first stage first.
using Run = std::vector<uint32_t>;

class Runs {
 public:
  explicit Runs(LoweredProgram* lowered)
      : lowered_(lowered), usage_(*lowered), typical_(typical_binding(*lowered)) {}

  /// Calls find(index) for every instruction of the subprogram that is not part of a run yet, and
  /// takes out those that replace() left behind.
  template <class F>
  void sweep(uint32_t subprogram, F find) {
    subprogram_ = subprogram;
    auto& instructions = lowered_->subprograms[subprogram].instructions;
    dead_.assign(instructions.size(), false);
    for (uint32_t i = 0; i < instructions.size(); i++)
      if (!dead_[i]) find(i);
    std::vector<LoweredInstruction> kept;
    for (uint32_t i = 0; i < instructions.size(); i++)
      if (!dead_[i]) kept.push_back(std::move(instructions[i]));
    instructions = std::move(kept);
  }

  const LoweredProgram& lowered() const { return *lowered_; }
  const Bindings& typical() const { return typical_; }
  const LoweredInstruction& at(uint32_t index) const {
    return lowered_->subprograms[subprogram_].instructions[index];
  }
  TensorType type(int32_t value) const { return evaluate_type(lowered_->at(value), typical_); }
  /// Bytes of what instruction `index` writes.
  int64_t output_bytes(uint32_t index) const;

  /// The instruction whose first operand is what `index` writes, which nothing else reads; -1 for
  /// none.
  int64_t only_reader(uint32_t index) const;
  /// x, then weights and numbers of each stage; sources, names and output of all. Without
  /// attributes.
  LoweredInstruction join(const Run& run) const;
  /// `chain` in place of a run. Its note says how many bytes no longer lie in the arena, and how
  /// many of `scratch` do.
  void replace(const Run& run, LoweredInstruction chain, uint32_t band_rows, uint64_t scratch);

 private:
  LoweredProgram* lowered_;
  Usage usage_;
  Bindings typical_;
  uint32_t subprogram_ = 0;
  std::vector<bool> dead_;
};

}  // namespace ingot::convert
