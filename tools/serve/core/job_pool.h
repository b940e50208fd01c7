// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/job_pool.h - jobs that wait to be used again, so that a connection without a
// request holds none of their memory; and the limit on what all requests hold.
// Threads  any.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "tools/serve/core/job.h"

namespace ingot::serve {

class JobPool {
 public:
  /// @param body_bytes of all requests together
  explicit JobPool(uint64_t body_bytes) : body_bytes_(body_bytes) {}

  /// With a body of that size. @throws ServeError kBusy
  std::unique_ptr<Job> take(uint64_t body_bytes) {
    hold(body_bytes);
    std::unique_ptr<Job> job;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        job = std::move(free_.back());
        free_.pop_back();
      }
    }
    try {
      if (!job) job = std::make_unique<Job>();
      job->body.resize(body_bytes);
    } catch (const std::bad_alloc&) {
      drop(body_bytes);
      refuse_memory(body_bytes);
    }
    return job;
  }
  /// A longer body; what is in it stays. @throws ServeError kBusy, and it is as it was
  void grow_body(Job* job, uint64_t body_bytes) {
    const uint64_t more = body_bytes - job->body.size();
    hold(more);
    try {
      job->body.resize(body_bytes);
    } catch (const std::bad_alloc&) {
      drop(more);
      refuse_memory(body_bytes);
    }
  }
  /// Of a body that was cut short or taken from its job.
  void drop(uint64_t body_bytes) { held_.fetch_sub(body_bytes, std::memory_order_relaxed); }

  void give_back(std::unique_ptr<Job> job) {
    drop(job->body.size());
    const bool is_small = job->kept_bytes() <= kMaxKeptBytes;
    job->clear();
    if (!is_small) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.size() < kMaxKept) free_.push_back(std::move(job));
  }

  /// Gives a job back that its protocol let go of.
  static void discard(Job* job) { job->pool->give_back(std::unique_ptr<Job>(job)); }

  uint64_t held_bytes() const { return held_.load(std::memory_order_relaxed); }

 private:
  void hold(uint64_t bytes) {
    uint64_t held = held_.load(std::memory_order_relaxed);
    do {
      if (bytes > body_bytes_ - held)
        refuse(Refusal::kBusy, "requests hold " + std::to_string(held) + " of " +
                                   std::to_string(body_bytes_) + " bytes, and this one has " +
                                   std::to_string(bytes) + "; try again later");
    } while (!held_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  }
  [[noreturn]] static void refuse_memory(uint64_t bytes) {
    refuse(Refusal::kBusy,
           "out of memory for a request of " + std::to_string(bytes) + " bytes; try again later");
  }

  static constexpr size_t kMaxKept = 256;
  static constexpr uint64_t kMaxKeptBytes = uint64_t{4} << 20;  // of one of them
  const uint64_t body_bytes_;
  std::atomic<uint64_t> held_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Job>> free_;
};

}  // namespace ingot::serve
