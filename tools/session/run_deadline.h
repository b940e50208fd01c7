// SPDX-License-Identifier: Apache-2.0
// tools/session/run_deadline.h - a limit to the time that runs of a session take, watched by a
// thread: a run itself looks at no clock.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/include/ingot/ingot.h"

namespace ingot::cli {

/// Cancels the session's run when `seconds` have passed since it was made. Where the run has not
/// ended kGrace later, one instruction takes that long or the device does not look: `give_up` is
/// then called on the watcher's thread and ends the process. Destroyed before the session is.
class RunDeadline {
 public:
  static constexpr double kGrace = 2;  // seconds

  RunDeadline(ingot_session* session, double seconds, std::function<void()> give_up)
      : session_(session),
        seconds_(seconds),
        give_up_(std::move(give_up)),
        thread_([this] { watch(); }) {}
  ~RunDeadline() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  RunDeadline(const RunDeadline&) = delete;
  RunDeadline& operator=(const RunDeadline&) = delete;

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool has_passed() const { return elapsed() >= seconds_; }

 private:
  using Clock = std::chrono::steady_clock;

  void watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (wait(&lock, seconds_)) return;
    ingot_session_cancel(session_);
    if (wait(&lock, kGrace)) return;
    give_up_();  // under the lock: whoever destroys this waits
  }
  /// True when there is nothing left to watch.
  bool wait(std::unique_lock<std::mutex>* lock, double seconds) {
    return changed_.wait_for(*lock, std::chrono::duration<double>(seconds),
                             [this] { return is_done_; });
  }

  ingot_session* session_;
  double seconds_;
  std::function<void()> give_up_;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace ingot::cli
