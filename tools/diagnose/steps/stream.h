// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/steps/stream.h - the inputs of a golden over all its steps: per-step slices,
// outputs that are fed back, and state that the model keeps itself.
#pragma once
#include <string>
#include <vector>

#include "tools/diagnose/golden/golden.h"
#include "tools/session/engine.h"
#include "tools/session/source_tensors.h"

namespace ingot::cli {

struct Gathered {
  // by output, steps stacked where they are; then what each state holds at the end, by the name of
  // the output that it replaced
  std::vector<host::Array> outputs;
  std::vector<host::Array> intermediates;  // by golden.intermediates; without dtype where missing
};

/// @throws Failure kMismatch where names, shapes or types do not fit.
class Stream {
 public:
  /// `golden` must outlive it.
  Stream(Engine* engine, const check::Golden& golden);
  /// Binds the dims that the arrays' shapes determine.
  void bind_shapes();
  /// @pre the engine has a session.
  /// set_states: the golden's arrays for state variables are their values before the first step.
  Gathered run(std::vector<std::string>* notes, bool set_states = true);

 private:
  static constexpr size_t kNone = ~size_t{0};
  /// How an input of the model gets its value at a step.
  struct InputPlan {
    const host::Array* array = nullptr;
    bool stepped = false;   // one slice a step
    size_t fed_by = kNone;  // output whose last value it is, from the second step on
  };
  struct KeptState {
    std::string name, output;
    // its value before the first step; null: as in a fresh session
    const host::Array* first = nullptr;
  };
  InputPlan plan_input(uint32_t index, const std::string& name) const;
  void set_inputs(int64_t step, const std::vector<host::Array>& last);
  void gather_intermediates(int64_t step, Gathered* gathered, std::vector<std::string>* notes);

  Engine* engine_;
  const check::Golden& golden_;
  const SourceTensors tensors_;
  std::vector<InputPlan> plans_;
  std::vector<KeptState> states_;
};

}  // namespace ingot::cli
