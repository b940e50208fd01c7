// tools/cli/conversion/check_oracle.h - the chosen kernels against the naive ones in double, on
// made inputs.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/diagnose/steps/check_golden.h"

namespace ingot::cli {

/// Open dimensions take their value from `binding`. @throws Failure.
std::vector<CheckedValue> check_against_oracle(const std::string& path,
                                               const std::map<std::string, int64_t>& binding);

}  // namespace ingot::cli
