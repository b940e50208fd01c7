// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/step_loop.h - walks the steps of a program on the calling thread and whoever
// helps.
// Errors   kCancelled, kDeadlineExceeded between instructions; a kernel's own, with its
//          instruction.
// Calls    none but the thread team's, and the clock where a deadline or a watcher asks for it.
#pragma once
#include "runtime/device/device.h"

namespace ingot {

/// `thread_team` null: alone.
Status run_steps(const StepProgram& program, const RunControl& control, ThreadTeam* thread_team,
                 ErrorDetail* detail);

}  // namespace ingot
