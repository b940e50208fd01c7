// runtime/session/measure.h - sizes that only the data tells: read once their instruction has run,
// then every type that depends on them is made anew, in place. Offsets do not move, so nothing is
// planned and nothing allocated.
// Owns     nothing; works in Tables::measuring.
// Threads  the leader of a run.
// Errors   kDimensionOutOfBounds: beyond its bound, or contradicting what an operator demands;
//          kNoKernel kArenaTooSmall.
#pragma once
#include "runtime/session/session.h"

namespace ingot {

/// The hook of a program that measures; empty for others.
MeasureHook measure_hook(RunSession* session);
/// Before a run: nothing is measured yet.
void begin_measuring(RunSession* session);
/// After a run wholly on a device: the numbers that it left in memory of the host. Else nothing.
Status read_measured(RunSession* session, ErrorDetail* detail);
/// After a run: outputs have the extents that were measured, all of which was written.
Status show_measured(RunSession* session, ErrorDetail* detail);
/// The type of a value as it was measured, where its extents are. kWrongState: not all of it was
/// written.
Status type_measured(const RunSession& session, int32_t value, TensorType* type,
                     ErrorDetail* detail);

}  // namespace ingot
