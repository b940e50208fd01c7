// SPDX-License-Identifier: Apache-2.0
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

/// The fastest processors that remain below a speed, to within a tenth of each other.
struct SpeedClass {
  uint64_t count = 0;
  uint32_t slowest = 0;
};

/// Empty where none is below `limit`.
SpeedClass next_class(const ProcessorSet& usable, const uint32_t* speeds, uint32_t limit) {
  uint32_t most = 0;
  for (int i = 0; i < ProcessorSet::kMax; i++)
    if (usable.has(i) && speeds[i] < limit && speeds[i] > most) most = speeds[i];
  SpeedClass found{0, most};
  for (int i = 0; i < ProcessorSet::kMax; i++) {
    if (!usable.has(i) || speeds[i] > most || uint64_t{speeds[i]} * 10 < uint64_t{most} * 9)
      continue;
    found.count++;
    if (speeds[i] < found.slowest) found.slowest = speeds[i];
  }
  return found;
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
  // the work that a team of the classes down to one does in a time: it waits for its slowest
  uint64_t members[ProcessorSet::kMax], best = 0;
  uint32_t slowest[ProcessorSet::kMax];
  int classes = 0;
  SpeedClass c = next_class(usable, speeds, UINT32_MAX);
  for (uint64_t count = 0; c.count; c = next_class(usable, speeds, c.slowest), classes++) {
    members[classes] = count += c.count, slowest[classes] = c.slowest;
    if (count * c.slowest > best) best = count * c.slowest;
  }
  int last = 0;
  while (last + 1 < classes && members[last] * slowest[last] * 10 < best * 9) last++;
  const uint32_t least = classes ? slowest[last] : 0;
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
