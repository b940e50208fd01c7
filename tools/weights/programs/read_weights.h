// SPDX-License-Identifier: Apache-2.0
// tools/weights/programs/read_weights.h - the weights in any file: a checkpoint, or a program that
// brings them along.
//   ONNX    initializers by name; those of branches and loop bodies below the output that they
//           make; Constant nodes below "constants"
//   .ingot  the weights as its source had them, unpacked; notes say which cannot be given back
#pragma once
#include <string>

#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::weights {

/// The content decides which reader. Errors are those of checkpoint.h.
checkpoint::Checkpoint read_weights(const std::string& path,
                                    const checkpoint::ReadLimits& limits = {});

/// @throws host::Failure kCorrupt, kUnsafe (external data outside of the model's folder),
/// kUnsupported, kUnavailable.
checkpoint::Checkpoint read_onnx_weights(const std::string& path,
                                         const checkpoint::ReadLimits& limits);

/// @throws host::Failure kCorrupt, kUnavailable.
checkpoint::Checkpoint read_ingot_weights(const std::string& path,
                                          const checkpoint::ReadLimits& limits);

}  // namespace ingot::weights
