// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/infer_request.h - the body of an inference over HTTP: JSON, and behind it
// tensors as bytes (the binary tensor data extension).
// Bytes    a client's: depth, names, counts and sizes are checked; what it allocates is at most
//          eight times the body.
#pragma once
#include <cstdint>

#include "tools/serve/core/job.h"
#include "tools/serve/core/model_ports.h"
#include "tools/serve/core/shared_regions.h"

namespace ingot::serve {

/// Reads job->body into inputs and outputs, which point into it.
/// @param json_bytes of the body that are JSON; the rest is tensors
/// @param regions null: shared memory is refused
/// @param ports null: unknown; else names, types and shapes are checked before elements are read,
/// and what no request to the model has is refused where it begins
/// @throws ServeError kInvalid, kNotFound, kUnsupported
void read_infer_request(uint64_t json_bytes, const SharedRegions* regions, Job* job,
                        const ModelPorts* ports = nullptr);

}  // namespace ingot::serve
