// runtime/device/host/step_loop.h - walks the steps of a program on the calling thread and whoever
// helps.
// Errors   kCancelled, kDeadlineExceeded between instructions; a kernel's own, with its
//          instruction.
// Calls    none but the crew's, and the clock where a deadline or a watcher asks for it.
#pragma once
#include "runtime/device/device.h"

namespace ingot {

/// `crew` null: alone.
Status run_steps(const StepProgram& program, const RunControl& control, Crew* crew,
                 ErrorDetail* detail);

}  // namespace ingot
