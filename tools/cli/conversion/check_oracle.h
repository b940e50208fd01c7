// SPDX-License-Identifier: Apache-2.0
// tools/cli/conversion/check_oracle.h - the chosen kernels against the naive ones in double, on
// random inputs: what the whole program gives, and where that differs, each instruction alone.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/diagnose/program/check_instructions.h"
#include "tools/diagnose/steps/check_golden.h"

namespace ingot::cli {

struct OracleCheck {
  std::vector<CheckedValue> values;  // outputs, then states
  // where they differ: each instruction alone, on the operands that it has
  std::optional<InstructionsChecked> instructions;

  /// Outputs differ because floats are rounded to integers on the way: every instruction is right,
  /// and one that comes out a step away moves all behind it.
  bool is_rounding() const {
    return instructions && !instructions->wrong && instructions->rounds_floats;
  }
};

/// Those that the others are compared with; INGOT_CPU_ISA=oracle chooses them for all.
const ingot_kernel_table* naive_kernels();

/// Dynamic dimensions take their value from `binding`; kernels: null for those of this processor.
/// @throws Failure.
OracleCheck check_against_oracle(const std::string& path,
                                 const std::map<std::string, int64_t>& binding,
                                 const ingot_kernel_table* kernels = nullptr);

}  // namespace ingot::cli
