// SPDX-License-Identifier: Apache-2.0
// tools/session/run_watch.h - a limit to each run of a session, watched by a thread, so that a run
// itself looks at no clock. run_deadline.h limits all runs together.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/include/ingot/ingot.h"

namespace ingot::cli {

/// The line of the error for a run that was stopped.
std::string late_text(const std::string& path, double seconds);

/// Cancels a run that takes longer than `seconds`. Where it has not ended kGrace later, one
/// instruction takes that long or the device does not look: `give_up` is then called on the watch's
/// thread and ends the process. Destroyed before the session is.
class RunWatch {
 public:
  static constexpr double kGrace = 2;  // seconds

  RunWatch(ingot_session* session, double seconds, std::function<void()> give_up);
  ~RunWatch();
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  double seconds() const { return seconds_; }
  void begin();
  /// @return whether the run was cancelled for its time
  bool end();

 private:
  void watch();

  ingot_session* const session_;
  const double seconds_;
  const std::function<void()> give_up_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t began_ns_ = 0;  // of ingot_clock_ns(); 0: no run
  bool is_cancelled_ = false, ends_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace ingot::cli
