// SPDX-License-Identifier: Apache-2.0
// tools/serve/grpc/infer_message.h - an inference as a message of gRPC, to a job and back.
#pragma once
#include "kserve.pb.h"
#include "tools/serve/core/job.h"
#include "tools/serve/core/shared_regions.h"

namespace ingot::serve {

/// Inputs point into the message, which has to outlive the job's run.
/// @param regions null: shared memory is refused
/// @throws ServeError kInvalid, kNotFound, kUnsupported
void read_infer_message(const inference::ModelInferRequest& message, const SharedRegions* regions,
                        Job* job);
void write_infer_message(const Job& job, inference::ModelInferResponse* message);

}  // namespace ingot::serve
