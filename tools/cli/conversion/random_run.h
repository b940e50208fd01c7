// SPDX-License-Identifier: Apache-2.0
// tools/cli/conversion/random_run.h - a converted file run on inputs that nobody gave.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/session/engine.h"

namespace ingot::cli {

struct RandomRun {
  std::vector<host::Array> results;  // outputs, then states
  double seconds = 0;                // of the run alone
};

/// Dynamic dimensions take their value from `binding`, else the extent that conversion chose by.
/// @throws Failure
RandomRun run_on_made_inputs(const std::string& path, const OpenSettings& settings,
                             const std::map<std::string, int64_t>& binding,
                             const SessionSettings& session = {});

}  // namespace ingot::cli
