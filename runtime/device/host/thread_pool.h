// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/thread_pool.h - threads that sleep between runs and form a thread team in
// one.
// Owns     its threads; lives where its owner put it (an arena, the heap) and may not move.
// Threads  start, stop: one. run: any; who finds the thread team busy, or is the child of a fork,
// runs
//          alone with equal results.
// Errors   kThreadFailed.
// Allocates start (stacks).
// Calls    run: one wake, and ThreadTeam's one wait.
#pragma once
#include "runtime/device/host/thread_team.h"

namespace ingot {

/// How a pool's threads share a device with others. The thread that calls run() is the caller's: it
/// keeps its place.
struct PoolOptions {
  int threads = 1;  // the caller of run() among them
  os::ThreadPlace place;
  bool limits_spins = false;
  uint32_t spin_us = 0;  // the most that a member spins at a time, then it sleeps
};

class ThreadPool {
 public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// @pre 1 <= threads <= kMaxTeam. On failure none is left running.
  Status start(const PoolOptions& options, ErrorDetail* detail);
  Status start(int threads, ErrorDetail* detail) {
    PoolOptions options;
    options.threads = threads;
    return start(options, detail);
  }
  /// In the child of a fork there is nothing to stop.
  void stop();
  int threads() const { return threads_; }
  /// True in the child of a fork: the threads stayed in the parent.
  bool is_forked() const { return threads_ > 1 && os::fork_count() != forks_; }

  struct Tally {
    uint32_t wakes = 0, waits = 0;
    bool alone = false;
  };
  /// Calls leader(argument, thread team) with workers on their way, after up to `join_spins` pauses
  /// of waiting for them; the thread team is null when there are none.
  Tally run(int limit, void (*leader)(void* argument, ThreadTeam* thread_team), void* argument,
            uint32_t join_spins = 0);

 private:
  struct Worker {
    ThreadPool* pool = nullptr;
    int id = 0;
    os::Thread thread;
  };
  static void work(void* worker);

  ThreadTeam thread_team_;
  alignas(64) std::atomic<uint32_t> generation_{0};  // of runs; workers sleep on it
  std::atomic<uint32_t> stopping_{0};
  int threads_ = 1;
  uint32_t forks_ = 0;
  Worker workers_[kMaxHelpers];
};

/// The same for threads of the caller's.
struct Executor {
  void* user = nullptr;
  void (*parallel)(void* user, void (*body)(void* argument, int32_t i), void* argument,
                   int32_t n) = nullptr;
};
/// False when `parallel` came back without calling body once.
bool run_on_executor(const Executor& executor, ThreadTeam* thread_team, int threads,
                     void (*leader)(void* argument, ThreadTeam* thread_team), void* argument);

}  // namespace ingot
