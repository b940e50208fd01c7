// SPDX-License-Identifier: Apache-2.0
// runtime/session/resolve_sizes.h - sizes that only the data tells: read once their instruction has
// run, then every type that depends on them is made anew, in place. Offsets do not move, so nothing
// is planned and nothing allocated.
// Owns     nothing; works in Tables::resolved.
// Threads  the leader of a run.
// Errors   kDimensionOutOfBounds: beyond its bound, or contradicting what an operator demands;
//          kNoKernel kArenaTooSmall.
#pragma once
#include "runtime/session/session.h"

namespace ingot {

/// The hook of a program with data-dependent sizes; empty for others.
ResolveHook resolve_hook(RunSession* session);
/// Before a run: no size is known yet.
void begin_resolving(RunSession* session);
/// After a run wholly on a device: the numbers that it left in memory of the host. Else nothing.
Status read_resolved(RunSession* session, ErrorDetail* detail);
/// After a run: outputs have the extents that were found, all of which was written.
Status show_resolved(RunSession* session, ErrorDetail* detail);
/// The type of a value now, where its extents depend on data. kWrongState: not all of it was
/// written.
Status type_resolved(const RunSession& session, int32_t value, TensorType* type,
                     ErrorDetail* detail);

}  // namespace ingot
