// tools/files/mapped_pages.cpp - see mapped_pages.h.
#include "tools/files/mapped_pages.h"

#include <sys/mman.h>
#include <unistd.h>

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

void forget_mapped_pages(const void* data, size_t bytes) {
  constexpr size_t kWorthIt = size_t{1} << 20;
  if (bytes < kWorthIt) return;
  const std::lock_guard lock(mappings().mutex);
  const auto next = mappings().bytes.upper_bound(uintptr_t(data));
  if (next == mappings().bytes.begin()) return;
  const auto& [start, size] = *std::prev(next);
  if (uintptr_t(data) - start > size || bytes > size - (uintptr_t(data) - start)) return;
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t first = (uintptr_t(data) + page - 1) & ~(page - 1), last = (uintptr_t(data) + bytes) & ~(page - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace ingot::host
