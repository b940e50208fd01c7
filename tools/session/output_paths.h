// SPDX-License-Identifier: Apache-2.0
// tools/session/output_paths.h - which instructions each result of a file depends on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::cli {

struct OutputPath {
  // of the output, or of the output that a state variable replaced
  std::string name;
  // ascending; those of branches and loops included, taken or not
  std::vector<uint32_t> instructions;
};

/// Outputs first, then state variables, in the file's order. @throws Failure, as open_model().
std::vector<OutputPath> output_paths(const std::string& path);

}  // namespace ingot::cli
