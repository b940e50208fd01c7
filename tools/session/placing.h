// SPDX-License-Identifier: Apache-2.0
// tools/session/placing.h - --place NAME=DEVICE: which weights are meant, and the assignment that
// follows.
#pragma once
#include <string>
#include <vector>

#include "runtime/include/ingot/ingot.hpp"

namespace ingot::cli {

/// One --place. Each '*' in `pattern` stands for any letters; `device` may be "trained": where the
/// weight was saved.
struct PlaceRule {
  std::string pattern, device;
};

/// "PATTERN=DEVICE", split at the last '='. @throws Failure kUsage.
std::vector<PlaceRule> parse_places(const std::vector<std::string>& texts);

/// The last rule that fits a weight counts. @throws Failure kMismatch where a pattern fits no
/// weight, kUnavailable where a device does not exist.
Assignment assign(const Model& model, const std::string& path, const std::string& device,
                  const std::vector<PlaceRule>& rules);

}  // namespace ingot::cli
