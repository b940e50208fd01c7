// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/background.cpp - two counters, each slept on by the other side.
#include "runtime/device/host/background.h"

#include "runtime/base/float_state.h"
#include "runtime/base/os/file.h"

namespace ingot {
namespace {

/// Never 0.
uint32_t end_mark(uint32_t count) { return count << 1 | 1; }

}  // namespace

Status Background::start(void (*job)(void*), void* user, ErrorDetail* detail) {
  INGOT_TRY(os::watch_forks(detail));
  forks_ = os::fork_count();
  job_ = job;
  user_ = user;
  return os::start_thread(&thread_, work, this, detail);
}

void Background::stop() {
  if (!thread_.started || is_forked()) return;
  // The thread ends at one more than what was asked for, whenever it sees this.
  stopping_.store(end_mark(asked() + 1), std::memory_order_release);
  os::releases(&asked_);
  asked_.fetch_add(1, std::memory_order_release);
  os::wake_sleepers(&asked_, 1);
  os::join_thread(&thread_);
  thread_.started = false;
}

bool Background::ask() {
  if (is_forked()) return false;
  os::releases(&asked_);
  asked_.fetch_add(1, std::memory_order_release);
  os::wake_sleepers(&asked_, 1);
  return true;
}

bool Background::wait(uint32_t count, uint64_t deadline_ns) {
  uint32_t now;
  while (int32_t((now = ended()) - count) < 0) {
    const uint64_t clock = deadline_ns ? os::monotonic_ns() : 0;
    if (deadline_ns && clock >= deadline_ns) return false;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (ended_.load(std::memory_order_seq_cst) == now)
      os::wait_on(&ended_, now, deadline_ns ? deadline_ns - clock : 0);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  return true;
}

void Background::work(void* argument) {
  const DefaultFloatState float_state;
  Background& self = *static_cast<Background*>(argument);
  for (uint32_t done = 0;; done++) {
    while (self.asked_.load(std::memory_order_acquire) == done) os::wait_on(&self.asked_, done, 0);
    os::acquired(&self.asked_);
    if (self.stopping_.load(std::memory_order_acquire) == end_mark(done + 1)) return;
    self.job_(self.user_);
    os::releases(&self.ended_);
    self.ended_.fetch_add(1, std::memory_order_seq_cst);
    if (self.sleepers_.load(std::memory_order_seq_cst)) os::wake_sleepers(&self.ended_, INT32_MAX);
  }
}

}  // namespace ingot
