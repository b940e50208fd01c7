// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/processors.h - which processors there are, and which of them are fast: a phone or
// a board has some of each (big.LITTLE), a laptop too.
// Owns     nothing.
// Threads  any.
// Allocates no.
// Cost     one small file for each processor, some 10 microseconds.
#pragma once
#include <cstdint>

namespace ingot::os {

/// One bit for each processor of the system, as it numbers them.
struct ProcessorSet {
  static constexpr int kMax = 1024;
  uint64_t words[kMax / 64] = {};

  bool has(int i) const { return words[i / 64] >> (i % 64) & 1; }
  void add(int i) { words[i / 64] |= uint64_t{1} << (i % 64); }
  int count() const;
};

/// Those that this process may use; none where nobody knows.
ProcessorSet usable_processors();

/// Members of a team divide a step evenly and wait for the slowest. Of `usable`, those with which a
/// step is done soonest: the fewest that come within a tenth of that, since slower ones beside them
/// win little and are left to others. Speeds are cpu_capacity (Arm), else the highest frequency, of
/// the files below `root`; all of `usable` where a processor has neither.
ProcessorSet choose_fast(const ProcessorSet& usable, const char* root = "/sys/devices/system/cpu");

}  // namespace ingot::os
