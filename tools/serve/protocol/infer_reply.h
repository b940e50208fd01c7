// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/infer_reply.h - the answer to an inference over HTTP: JSON, and behind it
// the outputs that were asked for as bytes.
#pragma once
#include <string>

#include "tools/serve/core/job.h"

namespace ingot::serve {

/// Appends the JSON. What follows it are the elements of each output that is binary and not in
/// shared memory, in their order.
/// @throws ServeError kUnsupported for a number that JSON cannot express
void write_infer_reply(const Job& job, std::string* json);
/// Whether the output's elements follow the JSON.
inline bool follows_json(const OutputTensor& output) { return output.is_binary && !output.region; }

}  // namespace ingot::serve
