// SPDX-License-Identifier: Apache-2.0
// tools/cli/profile/profile.h - what a run spent its time on: phases of the program, instructions
// of the session, and what each thread of the team did.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/include/ingot/ingot.h"
#include "tools/cli/profile/traced_kernels.h"

namespace ingot::cli {

struct ProfiledInstruction {
  uint32_t instruction;
  std::string op, name, kernel;
  uint64_t begin_ns, end_ns;
  int32_t team;
};

/// What the file knows about an instruction.
struct InstructionFacts {
  uint64_t bytes = 0;  // of its operands and results, weights included
  uint64_t flops = 0;  // two for each multiply-add; 0 for operators that have none
  std::vector<std::string> sources;
};

class Profile {
 public:
  Profile() : last_ns_(ingot_clock_ns()), origin_ns_(last_ns_) {}
  /// Ends the phase that began with the one before.
  void phase(const std::string& name);
  /// Records every instruction that the session runs from now on; `session` must not outlive this.
  void watch(ingot_session* session);
  const std::vector<ProfiledInstruction>& instructions() const { return instructions_; }
  /// By instruction; may be empty.
  void set_facts(std::vector<InstructionFacts> facts) { facts_ = std::move(facts); }
  /// The trace format that chrome://tracing and Perfetto open. `kernels`, which ran the session,
  /// may be null: then nobody knows what the helpers did. @throws Failure kUnavailable.
  void write_chrome_trace(const std::string& path, const TracedKernels* kernels = nullptr) const;

 private:
  struct Phase {
    std::string name;
    uint64_t begin_ns, end_ns;
  };
  std::vector<Phase> phases_;
  std::vector<ProfiledInstruction> instructions_;
  std::vector<InstructionFacts> facts_;
  uint64_t last_ns_, origin_ns_;
};

}  // namespace ingot::cli
