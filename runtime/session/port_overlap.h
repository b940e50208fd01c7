// SPDX-License-Identifier: Apache-2.0
// runtime/session/port_overlap.h - memory that two ports share.
#pragma once
#include "runtime/session/session.h"

namespace ingot {

/// Refuses an output whose memory, `data` with `bytes`, overlaps another port's, unless that is an
/// input of the caller's which the program has read before it writes the output.
Status check_output_memory(const RunSession& session, uint32_t output, const void* data,
                           uint64_t bytes, ErrorDetail* detail);
/// The same of every bound output.
Status check_port_memory(const RunSession& session, ErrorDetail* detail);

}  // namespace ingot
