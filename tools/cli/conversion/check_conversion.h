// SPDX-License-Identifier: Apache-2.0
// tools/cli/conversion/check_conversion.h - a converted file run before it gets its name: what is
// converted, runs, and gives the right numbers.
#pragma once
#include <optional>
#include <string>

#include "tools/compile/convert/convert.h"

namespace ingot::cli {

struct CheckedConversion {
  std::string source;                      // as the user calls it
  std::string path;                        // of the converted file
  std::map<std::string, int64_t> typical;  // extents of dynamic dimensions that conversion chose by
  const ingot_kernel_table* kernels = nullptr;  // null: those of this processor
};

/// Prints the comparison with the golden. @throws Failure kCheckFailed
void check_with_golden(const CheckedConversion& made, const std::string& golden,
                       std::optional<double> rtol, std::optional<double> atol);

/// Prints the comparison with the naive kernels on random inputs, at the typical extents and at
/// three that nobody chose. @throws Failure kCheckFailed
void check_with_naive_kernels(const CheckedConversion& made);

/// Tries dynamic dimensions at extents that nobody chose, small ones and some about the typical,
/// and says which sessions would be refused. Runs the others for so many seconds (0: none), those
/// that need least memory first, and compares what is quick enough with the naive kernels.
/// @throws Failure kCheckFailed where an instruction is wrong, or as the run
void check_open_extents(const CheckedConversion& made, double seconds);

}  // namespace ingot::cli
