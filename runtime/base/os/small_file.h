// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/small_file.h - what a system says about itself in small files of text.
// Owns     nothing; 4 KiB of stack.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace ingot::os {

/// The beginning of a file as text; "" where it cannot be read.
struct SmallFile {
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  char text[4096];
  explicit SmallFile(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[got < 0 ? 0 : got] = 0;
  }
  /// The number behind `key`, which begins a line; kUnknown where there is none ("max" is none).
  uint64_t number(const char* key) const {
    const size_t length = strlen(key);
    for (const char* line = text; line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : nullptr) {
      if (strncmp(line, key, length) != 0) continue;
      const char* at = line + length;
      while (*at == ' ' || *at == '\t') at++;
      return *at < '0' || *at > '9' ? kUnknown : strtoull(at, nullptr, 10);
    }
    return kUnknown;
  }
};

}  // namespace ingot::os
