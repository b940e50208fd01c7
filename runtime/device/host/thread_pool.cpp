// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/thread_pool.cpp - sleeping, waking, and the caller's own threads.
#include "runtime/device/host/thread_pool.h"

#include "runtime/base/float_state.h"
#include "runtime/base/os/file.h"

namespace ingot {
namespace {

/// Pauses in a time: a pause takes 5 to 50 ns, as this processor has it.
uint32_t pauses_in(uint32_t microseconds) {
  constexpr uint64_t kTried = 200;
  const uint64_t began = os::monotonic_ns();
  for (uint64_t i = 0; i < kTried; i++) os::pause_processor();
  const uint64_t took = os::monotonic_ns() - began;
  const uint64_t pauses = uint64_t{microseconds} * 1000 * kTried / (took ? took : 1);
  return pauses < UINT32_MAX ? uint32_t(pauses) : UINT32_MAX;
}

}  // namespace

Status ThreadPool::start(const PoolOptions& options, ErrorDetail* detail) {
  const int threads = options.threads;
  threads_ = 1;
  if (threads <= 1) return {};
  if (options.limits_spins) thread_team_.limit_spins(pauses_in(options.spin_us));
  INGOT_TRY(os::watch_forks(detail));
  forks_ = os::fork_count();
  for (int id = 1; id < threads; id++) {
    Worker& worker = workers_[id - 1];
    worker.pool = this;
    worker.id = id;
    const Status status = os::start_thread(&worker.thread, options.place, work, &worker, detail);
    if (!status.ok()) {
      stop();
      return status;
    }
    threads_ = id + 1;
  }
  return {};
}

void ThreadPool::stop() {
  if (threads_ <= 1 || is_forked()) return;
  stopping_.store(1, std::memory_order_relaxed);
  os::releases(&generation_);
  generation_.fetch_add(1, std::memory_order_release);
  os::wake_sleepers(&generation_, threads_);
  for (int id = 1; id < threads_; id++) os::join_thread(&workers_[id - 1].thread);
  threads_ = 1;
}

void ThreadPool::work(void* argument) {
  const DefaultFloatState float_state;  // threads begin with their creator's
  const Worker& worker = *static_cast<const Worker*>(argument);
  ThreadPool& pool = *worker.pool;
  for (uint32_t seen = 0;;) {
    uint32_t now;
    while ((now = pool.generation_.load(std::memory_order_acquire)) == seen)
      os::wait_on(&pool.generation_, seen, 0);
    os::acquired(&pool.generation_);
    seen = now;
    if (pool.stopping_.load(std::memory_order_relaxed)) return;
    pool.thread_team_.serve(worker.id);
  }
}

ThreadPool::Tally ThreadPool::run(int limit,
                                  void (*leader)(void* argument, ThreadTeam* thread_team),
                                  void* argument, uint32_t join_spins) {
  Tally tally;
  if (limit > threads_) limit = threads_;
  if (limit <= 1 || is_forked() || !thread_team_.try_open(limit)) {
    tally.alone = limit > 1;
    leader(argument, nullptr);
    return tally;
  }
  os::releases(&generation_);
  generation_.fetch_add(1, std::memory_order_release);
  os::wake_sleepers(&generation_, limit - 1);
  tally.wakes = 1;
  thread_team_.await_helpers(limit, join_spins);
  leader(argument, &thread_team_);
  tally.waits = thread_team_.waits();
  thread_team_.close();
  return tally;
}

namespace {

struct WorkShare {
  ThreadTeam* thread_team;
  void (*leader)(void* argument, ThreadTeam* thread_team);
  void* argument;
  std::atomic<uint32_t> tickets{0};
};

/// Whoever comes first leads, so that bodies run one behind the other, in any order, finish too.
void take_share(void* pointer, int32_t) {
  const DefaultFloatState float_state;
  WorkShare& share = *static_cast<WorkShare*>(pointer);
  os::releases(&share.tickets);
  const uint32_t ticket = share.tickets.fetch_add(1, std::memory_order_acq_rel);
  os::acquired(&share.tickets);
  if (ticket != 0) {
    if (ticket <= uint32_t(kMaxHelpers)) share.thread_team->serve(int(ticket));
    return;
  }
  share.leader(share.argument, share.thread_team);
  share.thread_team->close();
}

}  // namespace

bool run_on_executor(const Executor& executor, ThreadTeam* thread_team, int threads,
                     void (*leader)(void* argument, ThreadTeam* thread_team), void* argument) {
  WorkShare share{thread_team, leader, argument, {}};
  if (!thread_team->try_open(threads)) return false;
  executor.parallel(executor.user, take_share, &share, threads);
  if (share.tickets.load(std::memory_order_acquire)) return true;
  thread_team->close();
  return false;
}

}  // namespace ingot
