// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/slot_workers.h - what slots do on their own between two runs (a token is chosen,
// and told to who asked), on several threads.
// Threads  run: one at a time.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ingot::serve {

class SlotWorkers {
 public:
  SlotWorkers() = default;
  ~SlotWorkers() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stops_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  SlotWorkers(const SlotWorkers&) = delete;
  SlotWorkers& operator=(const SlotWorkers&) = delete;

  /// Beside the caller of run().
  void add_thread() {
    threads_.emplace_back([this] {
      std::unique_lock<std::mutex> lock(mutex_);
      while (!stops_) {
        take(&lock);
        wake_.wait(lock, [this] { return stops_ || next_ < count_; });
      }
    });
  }

  /// Calls body(0) to body(count - 1), one behind the other where there are no threads.
  /// @pre it throws nothing
  void run(size_t count, const std::function<void(size_t)>& body) {
    std::unique_lock<std::mutex> lock(mutex_);
    body_ = &body, count_ = count, next_ = ended_ = 0;
    for (size_t i = 1; i < count && i <= threads_.size(); i++) wake_.notify_one();
    take(&lock);
    over_.wait(lock, [this] { return ended_ == count_; });
  }

 private:
  void take(std::unique_lock<std::mutex>* lock) {
    while (next_ < count_) {
      const size_t i = next_++;
      const auto& body = *body_;
      lock->unlock();
      body(i);
      lock->lock();
      if (++ended_ == count_) over_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, over_;
  const std::function<void(size_t)>* body_ = nullptr;
  size_t count_ = 0, next_ = 0, ended_ = 0;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ingot::serve
