// runtime/base/os/processors.cpp - Linux, or nothing known.
#include "runtime/base/os/processors.h"

namespace ingot::os {

int ProcessorSet::count() const {
  int sum = 0;
  for (const uint64_t word : words) sum += __builtin_popcountll(word);
  return sum;
}

}  // namespace ingot::os

#if defined(__linux__)

#include <sched.h>

#include <cstdio>

#include "runtime/base/os/small_file.h"

namespace ingot::os {
namespace {

/// A step of work 1, divided among `count` members of which the slowest has `speed`, per time.
uint64_t speed_of_team(uint64_t count, uint64_t speed) { return count * speed; }

/// False where one of them says nothing.
bool read_speeds(const ProcessorSet& usable, const char* root, const char* file,
                 uint32_t speeds[ProcessorSet::kMax]) {
  for (int i = 0; i < ProcessorSet::kMax; i++) {
    if (!usable.has(i)) continue;
    char path[256];
    const int length = std::snprintf(path, sizeof path, "%s/cpu%d/%s", root, i, file);
    if (length < 0 || size_t(length) >= sizeof path) return false;
    const uint64_t speed = SmallFile(path).number("");
    if (speed == 0 || speed > UINT32_MAX) return false;
    speeds[i] = uint32_t(speed);
  }
  return true;
}

/// The fastest below `limit`, 0 where there is none; *count of them are within a tenth of it.
uint32_t next_class(const ProcessorSet& usable, const uint32_t* speeds, uint32_t limit,
                    uint64_t* count, uint32_t* slowest) {
  uint32_t most = 0;
  for (int i = 0; i < ProcessorSet::kMax; i++)
    if (usable.has(i) && speeds[i] < limit && speeds[i] > most) most = speeds[i];
  *count = 0, *slowest = most;
  for (int i = 0; i < ProcessorSet::kMax; i++) {
    if (!usable.has(i) || speeds[i] > most || uint64_t{speeds[i]} * 10 < uint64_t{most} * 9)
      continue;
    ++*count;
    if (speeds[i] < *slowest) *slowest = speeds[i];
  }
  return most;
}

}  // namespace

ProcessorSet usable_processors() {
  ProcessorSet found;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int i = 0; i < ProcessorSet::kMax && i < CPU_SETSIZE; i++)
    if (CPU_ISSET(size_t(i), &set)) found.add(i);
  return found;
}

ProcessorSet choose_fast(const ProcessorSet& usable, const char* root) {
  uint32_t speeds[ProcessorSet::kMax] = {};
  if (!read_speeds(usable, root, "cpu_capacity", speeds) &&
      !read_speeds(usable, root, "cpufreq/cpuinfo_max_freq", speeds))
    return usable;
  uint64_t best = 0, members = 0, count;
  uint32_t slowest;
  for (uint32_t limit = UINT32_MAX; next_class(usable, speeds, limit, &count, &slowest);
       limit = slowest) {
    members += count;
    if (speed_of_team(members, slowest) > best) best = speed_of_team(members, slowest);
  }
  uint32_t least = 0;
  members = 0;
  for (uint32_t limit = UINT32_MAX; next_class(usable, speeds, limit, &count, &slowest);
       limit = slowest) {
    members += count, least = slowest;
    if (speed_of_team(members, slowest) * 10 >= best * 9) break;
  }
  ProcessorSet fast;
  for (int i = 0; i < ProcessorSet::kMax; i++)
    if (usable.has(i) && speeds[i] >= least) fast.add(i);
  return fast;
}

}  // namespace ingot::os

#else

namespace ingot::os {

ProcessorSet usable_processors() { return {}; }
ProcessorSet choose_fast(const ProcessorSet& usable, const char*) { return usable; }

}  // namespace ingot::os

#endif
