// SPDX-License-Identifier: Apache-2.0
// tools/cli/tune/tune_gpu.h - the variants of a session's instructions on a GPU, and how long each
// takes there: what `ingot tune` asks the back end. Apart from the commands, since it knows the
// runtime's session and not its C++ interface.
// Errors   GpuFault, with what the library says; the session is dead after one of a launch.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/include/ingot/ingot.h"

namespace ingot::cli {

struct GpuFault {
  ingot_error error;
};

struct TimedVariant {
  std::string variant;
  uint32_t parts = 1;
  uint64_t scratch_bytes = 0;
};
struct GpuIdentity {
  std::string name;  // "": the session has no GPU
  uint32_t compute_capability = 0, multiprocessors = 0, driver = 0;
  uint8_t precision = 0;             // of the program
  std::vector<std::string> symbols;  // that it leaves open
};
GpuIdentity gpu_of(ingot_session* session);

/// The model's first; none where the instruction has one kernel variant, or lies elsewhere.
std::vector<TimedVariant> variants_of(ingot_session* session, uint32_t instruction);

/// Times the variants of one instruction after the other. @pre gpu_of() has a name; the session
/// does not run
class VariantTimer {
 public:
  VariantTimer(ingot_session* session, uint64_t scratch_bytes);
  ~VariantTimer();
  /// Takes up the variants of an instruction and warms them up.
  void begin(uint32_t instruction);
  /// Nanoseconds of the instruction.
  double sample(size_t variant);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot::cli
