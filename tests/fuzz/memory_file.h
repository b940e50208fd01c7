// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/memory_file.h - bytes as a file that readers can open by name.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::fuzz {

class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || write(descriptor_, data, size) != ssize_t(size)) abort();
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Reads every tensor of moderate size, and checks that a reader gives as many bytes as its shape
/// says.
inline void read_all(const checkpoint::Checkpoint& c) {
  uint64_t left = 64 << 20;  // sharing makes little files name much
  for (const checkpoint::Tensor& t : c.tensors) {
    if (t.bytes() > left) continue;
    left -= t.bytes();
    if (checkpoint::tensor_bytes(t).size() != t.bytes()) abort();
  }
}

}  // namespace ingot::fuzz
