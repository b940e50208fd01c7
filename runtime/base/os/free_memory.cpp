// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/free_memory.cpp - Linux tells; elsewhere only the limits of the process are
// known, or nothing.
#include "runtime/base/os/free_memory.h"

#if defined(__unix__) || defined(__APPLE__)

#include <sys/resource.h>

#include <cstdlib>
#include <initializer_list>

#include "runtime/base/os/small_file.h"

namespace ingot::os {
namespace {

constexpr uint64_t kUnknown = SmallFile::kUnknown;

void lower(uint64_t bytes, const char* limit, FreeMemory* least) {
  if (bytes < least->bytes) *least = {bytes, limit};
}

/// What a group of processes may use less what it uses; files that it mapped or read count as used
/// but are given up first.
void ask_group(const char* limit_path, const char* used_path, const char* stat_path,
               FreeMemory* least) {
  const uint64_t most = SmallFile(limit_path).number("");
  if (most >= uint64_t{1} << 60) return;  // none
  const uint64_t used = SmallFile(used_path).number("");
  if (used == kUnknown) return;
  const SmallFile stat(stat_path);
  uint64_t files = 0;
  for (const char* key : {"inactive_file ", "active_file "})
    if (const uint64_t bytes = stat.number(key); bytes != kUnknown) files += bytes;
  const uint64_t held = used > files ? used - files : 0;
  lower(most > held ? most - held : 0, "the control group's limit", least);
}

void ask_process(FreeMemory* least) {
  rlimit space = {}, data = {};
  if (getrlimit(RLIMIT_AS, &space) != 0) space.rlim_cur = RLIM_INFINITY;
  if (getrlimit(RLIMIT_DATA, &data) != 0) data.rlim_cur = RLIM_INFINITY;
  if (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY) return;
  const SmallFile about("/proc/self/status");
  const auto left = [&](rlim_t most, const char* key) {
    const uint64_t used = about.number(key) == kUnknown ? 0 : about.number(key) << 10;
    return uint64_t(most) > used ? uint64_t(most) - used : 0;
  };
  if (space.rlim_cur != RLIM_INFINITY) lower(left(space.rlim_cur, "VmSize:"), "ulimit -v", least);
  if (data.rlim_cur != RLIM_INFINITY) lower(left(data.rlim_cur, "VmData:"), "ulimit -d", least);
}

/// False where the environment says nothing that can be read.
bool is_stated(FreeMemory* out) {
  const char* text = getenv("INGOT_MEMORY_LIMIT");
  if (!text || *text < '0' || *text > '9') return false;
  char* end = nullptr;
  const uint64_t number = strtoull(text, &end, 10);
  const int unit = *end & ~0x20;  // K and k
  const int shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
  if (number != 0 && number <= kUnknown >> shift) *out = {number << shift, "INGOT_MEMORY_LIMIT"};
  return true;
}

}  // namespace

bool has_stated_limit() {
  FreeMemory stated;
  return is_stated(&stated);
}

FreeMemory free_memory() {
  FreeMemory least;
  if (is_stated(&least)) return least;
#if defined(__linux__)
  if (const uint64_t free = SmallFile("/proc/meminfo").number("MemAvailable:");
      free < kUnknown >> 10)
    lower(free << 10, "free memory", &least);
  ask_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
            "/sys/fs/cgroup/memory.stat", &least);
  ask_group("/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat",
            &least);
#endif
  ask_process(&least);
  return least;
}

}  // namespace ingot::os

#else

namespace ingot::os {

FreeMemory free_memory() { return {}; }
bool has_stated_limit() { return false; }

}  // namespace ingot::os

#endif
