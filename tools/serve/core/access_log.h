// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/access_log.h - a line of each request on standard output, written by a thread of
// its own: a reader that does not read holds up no request. What it has no room for is counted.
// Threads  any.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ingot::serve {

struct AccessLine {
  std::string client, method, target;  // of the client: control characters become '?'
  int status = 0;
  uint64_t request_bytes = 0, answer_bytes = 0, duration_ns = 0;
};

class AccessLog {
 public:
  /// Writes to a descriptor, which stays the caller's.
  explicit AccessLog(int descriptor);
  /// Writes the rest, for one second at most.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  /// "2026-11-26T10:00:00.123Z 127.0.0.1 \"POST /v2/models/digits/infer\" 200 812 96 0.000412"
  void write(const AccessLine& line);
  uint64_t dropped() const;

 private:
  struct Lines;
  std::shared_ptr<Lines> lines_;  // the thread's too, which may outlive this one
};

}  // namespace ingot::serve
