// SPDX-License-Identifier: Apache-2.0
// runtime/session/choose_threads.h - how many threads a session has, and how long they wait for
// each other.
// Owns     nothing.
// Threads  the holder of the WorkspaceLock.
// Errors   kInvalidArgument, kThreadFailed
#pragma once
#include "runtime/session/preparation.h"

namespace ingot {

/// As asked for; else one where waking others takes longer than the run; else the pool's, or one
/// for each processor, of the fast ones where some are slower. @pre p->planned is bound, p->split
/// and p->device chosen.
Status choose_threads(const OpenModel& model, const SessionRequest& request, Preparation* p,
                      ErrorDetail* detail);

}  // namespace ingot
