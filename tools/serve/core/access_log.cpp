// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/access_log.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <thread>

namespace ingot::serve {
namespace {

constexpr size_t kMaxWaiting = size_t{1} << 20;
constexpr size_t kMaxTarget = 500;

/// What a client sent, so that it stays one line and one word in quotes.
void append_safe(std::string_view text, std::string* out) {
  for (const char c : text.substr(0, kMaxTarget))
    out->push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '"' || c == '\\' ||
                           static_cast<unsigned char>(c) >= 0x80
                       ? '?'
                       : c);
}

std::string text_of(const AccessLine& line) {
  const auto now = std::chrono::system_clock::now();
  const time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto fraction = std::chrono::duration_cast<std::chrono::milliseconds>(
      now - std::chrono::system_clock::from_time_t(seconds));
  tm utc{};
  gmtime_r(&seconds, &utc);
  char date[32], numbers[128];
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  snprintf(numbers, sizeof numbers, " %d %llu %llu %.6f\n", line.status,
           static_cast<unsigned long long>(line.request_bytes),
           static_cast<unsigned long long>(line.answer_bytes), double(line.duration_ns) / 1e9);
  char milliseconds[16];
  snprintf(milliseconds, sizeof milliseconds, ".%03dZ ", int(fraction.count()));
  std::string text = std::string(date) + milliseconds;
  append_safe(line.client, &text);
  text += " \"";
  append_safe(line.method, &text);
  text += ' ';
  append_safe(line.target, &text);
  text += '"';
  return text + numbers;
}

}  // namespace

struct AccessLog::Lines {
  int descriptor = -1;
  std::mutex mutex;
  std::condition_variable changed;
  std::string waiting;
  uint64_t dropped = 0;
  bool ends = false, has_ended = false;

  void run() {
    std::unique_lock<std::mutex> lock(mutex);
    std::string piece;
    for (;;) {
      changed.wait(lock, [&] { return !waiting.empty() || ends; });
      if (waiting.empty()) break;
      piece.clear();
      piece.swap(waiting);
      lock.unlock();
      for (size_t done = 0; done < piece.size();) {
        const ssize_t put = ::write(descriptor, piece.data() + done, piece.size() - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) break;  // nobody reads any more
        done += size_t(put);
      }
      lock.lock();
    }
    has_ended = true;
    changed.notify_all();
  }
};

AccessLog::AccessLog(int descriptor) : lines_(std::make_shared<Lines>()) {
  lines_->descriptor = descriptor;
  std::thread([lines = lines_] { lines->run(); }).detach();
}

AccessLog::~AccessLog() {
  std::unique_lock<std::mutex> lock(lines_->mutex);
  lines_->ends = true;
  lines_->changed.notify_all();
  lines_->changed.wait_for(lock, std::chrono::seconds(1), [&] { return lines_->has_ended; });
}

void AccessLog::write(const AccessLine& line) {
  const std::string text = text_of(line);
  const std::lock_guard<std::mutex> lock(lines_->mutex);
  if (lines_->waiting.size() + text.size() > kMaxWaiting) {
    lines_->dropped++;
    return;
  }
  const bool wakes = lines_->waiting.empty();
  lines_->waiting += text;
  if (wakes) lines_->changed.notify_all();
}

uint64_t AccessLog::dropped() const {
  const std::lock_guard<std::mutex> lock(lines_->mutex);
  return lines_->dropped;
}

}  // namespace ingot::serve
