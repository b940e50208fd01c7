// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/background.h - one thread that does a job over and over, once for each time
// it is asked to.
// Owns     its thread; lives where its owner put it and may not move.
// Threads  start, stop: one. ask: one at a time. wait, ended: any.
// Errors   kThreadFailed.
// Allocates start (a stack).
// Calls    ask: one wake. wait: sleeps while the job runs.
#pragma once
#include "runtime/base/os/thread.h"

namespace ingot {

class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  Status start(void (*job)(void*), void* user, ErrorDetail* detail);
  /// Does what was asked for, then ends the thread. In the child of a fork there is none.
  void stop();
  /// False in the child of a fork: the thread stayed in the parent, and the job is not done.
  bool ask();
  /// Times that the job has ended; counts modulo 2^32.
  uint32_t ended() const {
    const uint32_t count = ended_.load(std::memory_order_acquire);
    os::acquired(&ended_);
    return count;
  }
  /// Times that it was asked for.
  uint32_t asked() const { return asked_.load(std::memory_order_relaxed); }
  /// Sleeps until the job has ended `count` times, or it is deadline_ns of monotonic_ns() (0: no
  /// deadline). False: it was.
  bool wait(uint32_t count, uint64_t deadline_ns = 0);
  bool is_forked() const { return os::fork_count() != forks_; }

 private:
  static void work(void* background);

  void (*job_)(void*) = nullptr;
  void* user_ = nullptr;
  os::Thread thread_;
  uint32_t forks_ = 0;
  alignas(64) std::atomic<uint32_t> asked_{0};  // the thread sleeps on it
  std::atomic<uint32_t> stopping_{0};
  alignas(64) std::atomic<uint32_t> ended_{0};  // who waits sleeps on it
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace ingot
