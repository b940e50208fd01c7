// SPDX-License-Identifier: Apache-2.0
// tests/cuda/gpu_pack/children.h - processes that a pack starts: each in a group of its own with a
// log, watched and never waited for. One that does not go when it is killed is abandoned.
// Owns     the processes; their logs are files of the caller.
// Errors   a program that cannot be started ends with 127, its log says why.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace ingot::pack {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

using Environment = std::vector<std::pair<std::string, std::string>>;

class Child {
 public:
  enum class State { kRuns, kEnded, kAbandoned };

  /// Appends to `log`.
  Child(const std::vector<std::string>& words, const Environment& environment,
        const std::string& log);

  /// Looks once; asks it to end, then kills it, then leaves it alone, as time passes after end().
  State look();
  /// SIGTERM to the group; SIGKILL a second and a half later; three seconds after that it is
  /// abandoned.
  void end();

  bool was_ended() const { return asked_; }
  int exit_status() const { return exit_; }  // 128 + signal of one that a signal ended
  double seconds() const { return seconds_since(began_); }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int exit_ = 0;
  bool asked_ = false, killed_ = false;
  Clock::time_point began_ = Clock::now(), asked_at_{};
};

}  // namespace ingot::pack
