// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/program/check_instructions.h - every instruction of a run compared with its naive
// kernel, on the operands that it has in that run. Where floats are rounded to integers, two right
// kernels may come out one step apart: they compute what is rounded to within a rounding of f32,
// and it may lie next to a tie. An element is right where it is what the naive kernel gives, or
// lies between what it gives for operands that are within a rounding of those at hand. A step that
// no such operands explain is wrong.
#pragma once
#include <optional>
#include <string>

#include "tools/diagnose/graph/measure.h"
#include "tools/diagnose/program/kernel_hook.h"

namespace ingot::cli {

/// The first instruction that no rounding explains.
struct WrongInstruction {
  uint64_t call = 0;  // kernels that ran before it
  std::string kernel;
  uint16_t output = 0;
  compare::Measure measure;
  std::vector<int64_t> dims;
};
struct InstructionsChecked {
  uint64_t calls = 0;
  bool rounds_floats = false;     // some instruction makes integers of floats
  int64_t rounded_otherwise = 0;  // elements that came out otherwise, next to a tie
  std::optional<WrongInstruction> wrong;
};

class InstructionChecker {
 public:
  /// Both tables must outlive it.
  InstructionChecker(const ingot_kernel_table* chosen, const ingot_kernel_table* naive);
  /// For a session of one thread, while the checker lives.
  const ingot_kernel_table* table() const { return hook_.table(); }
  const InstructionsChecked& result() const { return result_; }
  /// Whether every kernel of the table is looked at.
  bool has_all() const { return hook_.has_all(); }

 private:
  Status check(const KernelEntry& entry, const OpArguments& arguments, const Team& team);

  const KernelTable* naive_;
  InstructionsChecked result_;
  KernelHook hook_;
};

}  // namespace ingot::cli
