// SPDX-License-Identifier: Apache-2.0
// tests/traps/traps.h - counts what run() may not do, while armed. Every call that the runtime and
// the kernels make to these functions passes through a wrapper (-Wl,--wrap); what the C library
// does inside shows as a system call.
#pragma once

namespace ingot::test {

enum Trap { kAllocations, kFrees, kMappings, kLocks, kThrows, kTrapCount };
extern const char* const kTrapNames[kTrapCount];

void arm_traps();
/// Counts since arm_traps(), of all threads.
void disarm_traps(unsigned long counts[kTrapCount]);
/// Calls each trapped function once; true when every trap saw it.
bool traps_work();

}  // namespace ingot::test
