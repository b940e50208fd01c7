// SPDX-License-Identifier: Apache-2.0
// runtime/base/os/free_memory.h - how much memory a process may still touch: asked before an arena
// is made, because a system that lends more than it has ends the process that uses it.
// Owns     nothing.
// Threads  any.
// Allocates no.
// Cost     one or two small files, some 50 microseconds.
#pragma once
#include <cstdint>

namespace ingot::os {

struct FreeMemory {
  uint64_t bytes = ~uint64_t{0};  // that may still be touched; all bits: nobody knows
  const char* limit = "";         // what sets it, a static string
};

/// The smallest of: what the system could free, what the control group leaves, RLIMIT_AS,
/// RLIMIT_DATA. Where the environment has INGOT_MEMORY_LIMIT (bytes; K, M and G; 0: no limit), that
/// alone.
FreeMemory free_memory();
/// Whether INGOT_MEMORY_LIMIT states it.
bool has_stated_limit();

}  // namespace ingot::os
