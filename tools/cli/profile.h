// tools/cli/profile.h - what a run spent its time on: phases of the program and instructions of the session.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/include/ingot/ingot.h"

namespace ingot::cli {

struct ProfiledInstruction {
  uint32_t instruction;
  std::string op, name, kernel;
  uint64_t begin_ns, end_ns;
  int32_t team;
};

class Profile {
 public:
  Profile() : last_ns_(ingot_clock_ns()), origin_ns_(last_ns_) {}
  /// Ends the phase that began with the one before.
  void phase(const std::string& name);
  /// Records every instruction that the session runs from now on; `session` must not outlive this.
  void watch(ingot_session* session);
  const std::vector<ProfiledInstruction>& instructions() const { return instructions_; }
  /// The trace format that chrome://tracing and Perfetto open. @throws Failure kUnavailable.
  void write_chrome_trace(const std::string& path) const;

 private:
  struct Phase {
    std::string name;
    uint64_t begin_ns, end_ns;
  };
  std::vector<Phase> phases_;
  std::vector<ProfiledInstruction> instructions_;
  uint64_t last_ns_, origin_ns_;
};

}  // namespace ingot::cli
