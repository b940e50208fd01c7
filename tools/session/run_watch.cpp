// SPDX-License-Identifier: Apache-2.0
#include "tools/session/run_watch.h"

#include <chrono>
#include <cstdio>

namespace ingot::cli {

std::string late_text(const std::string& path, double seconds) {
  char text[32];
  snprintf(text, sizeof text, "%.3g", seconds);
  return path + ": the run was stopped after " + text + " s; more: --max-run-seconds";
}

RunWatch::RunWatch(ingot_session* session, double seconds, std::function<void()> give_up)
    : session_(session),
      seconds_(seconds),
      give_up_(std::move(give_up)),
      thread_([this] { watch(); }) {}

RunWatch::~RunWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RunWatch::begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  began_ns_ = ingot_clock_ns();
  is_cancelled_ = false;
}

bool RunWatch::end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  began_ns_ = 0;
  return is_cancelled_;
}

/// It sleeps for as long as a run may take: one that begins meanwhile may take at least that long.
void RunWatch::watch() {
  const uint64_t most = uint64_t(seconds_ * 1e9), grace = uint64_t(kGrace * 1e9);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ends_) {
    const uint64_t now = ingot_clock_ns();
    uint64_t until = (began_ns_ ? began_ns_ : now) + most;
    if (is_cancelled_ && began_ns_) until += grace;
    if (now >= until && is_cancelled_)
      return give_up_();  // under the lock: whoever ends this waits
    if (now >= until) {
      is_cancelled_ = true;
      ingot_session_cancel(session_);
      continue;
    }
    changed_.wait_for(lock, std::chrono::nanoseconds(until - now));
  }
}

}  // namespace ingot::cli
