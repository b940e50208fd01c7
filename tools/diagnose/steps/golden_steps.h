// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/steps/golden_steps.h - the inputs of a model step by step: from a golden, its
// fed-back state included, or made.
#pragma once
#include <string>
#include <vector>

#include "tools/diagnose/golden/golden.h"
#include "tools/session/engine.h"

namespace ingot::cli {

class GoldenSteps {
 public:
  /// @throws Failure kMismatch where the golden lacks an input of the model or has one that the
  /// model lacks.
  GoldenSteps(const Engine& engine, const check::Golden& golden);
  int64_t count() const { return golden_.steps > 0 ? golden_.steps : 1; }
  /// Arrays by input of the model; `last` are the outputs of the step before, empty at step 0.
  std::vector<host::Array> inputs(int64_t step, const std::vector<host::Array>& last) const;
  /// What the golden knows about the outputs of a step, thinned as it is; state only at the last
  /// step.
  std::vector<host::Array> outputs(int64_t step) const;
  std::vector<host::Array> intermediates(int64_t step) const;

 private:
  bool leads_with_steps(const host::Array& array, size_t rank) const;
  const check::Golden& golden_;
  std::vector<const host::Array*> arrays_;
  std::vector<bool> stepped_;
  std::vector<size_t> fed_by_;  // output, or ~0
};

}  // namespace ingot::cli
