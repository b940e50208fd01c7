// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/steps/check_golden.h - runs a model on a golden's inputs, steps and fed-back state
// included, and compares.
#pragma once
#include <string>
#include <vector>

#include "tools/diagnose/golden/compare.h"
#include "tools/diagnose/golden/golden.h"
#include "tools/session/engine.h"

namespace ingot::cli {

struct CheckSettings {
  SessionSettings session;
  std::map<std::string, int64_t> dims;
  std::optional<double> rtol, atol;
};

struct CheckedValue {
  check::Comparison comparison;
  std::vector<int64_t> dims;
  bool intermediate = false;
};
struct CheckResult {
  std::vector<CheckedValue> values;
  std::vector<std::string> notes;  // what was not compared, and why
  bool winograd = false;
  bool passed() const;
};

/// Creates the engine's session. @throws Failure kMismatch where names, shapes or types do not fit.
CheckResult check_golden(Engine* engine, const check::Golden& golden,
                         const CheckSettings& settings);

}  // namespace ingot::cli
