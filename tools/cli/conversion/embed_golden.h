// SPDX-License-Identifier: Apache-2.0
// tools/cli/conversion/embed_golden.h - which part of a golden goes into the file, for `ingot
// verify` on the device.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/compile/write/program_builder.h"

namespace ingot::cli {

/// One case: all inputs, and the outputs that one run gives (of a stream its first step; not those
/// that are stored thinned out or only as their last value). Its tolerance is that of the table,
/// or `rtol` and `atol` where one is given. Empty when no output remains.
std::vector<convert::GoldenCaseSpec> golden_to_embed(const std::string& path,
                                                     const convert::ProgramSpec& program,
                                                     std::optional<double> rtol,
                                                     std::optional<double> atol);

}  // namespace ingot::cli
