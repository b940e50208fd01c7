// SPDX-License-Identifier: Apache-2.0
// tools/files/mapped_pages.cpp - see mapped_pages.h.
#include "tools/files/mapped_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <mutex>

namespace ingot::host {
namespace {

struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, size_t> bytes;  // by where they begin
};
Mappings& mappings() {
  static Mappings all;
  return all;
}

}  // namespace

void add_mapped_file(const void* data, size_t bytes) {
  const std::lock_guard lock(mappings().mutex);
  mappings().bytes[uintptr_t(data)] = bytes;
}
void remove_mapped_file(const void* data) {
  const std::lock_guard lock(mappings().mutex);
  mappings().bytes.erase(uintptr_t(data));
}

void forget_mapped_pages() {
  const std::lock_guard lock(mappings().mutex);
  for (const auto& [start, size] : mappings().bytes)
    madvise(reinterpret_cast<void*>(start), size, MADV_DONTNEED);
}

}  // namespace ingot::host
