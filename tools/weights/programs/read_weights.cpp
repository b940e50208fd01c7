// SPDX-License-Identifier: Apache-2.0
#include "tools/weights/programs/read_weights.h"

#include "tools/files/file_kind.h"

namespace ingot::weights {

checkpoint::Checkpoint read_weights(const std::string& path, const checkpoint::ReadLimits& limits) {
  switch (host::file_kind(path)) {
    case host::FileKind::kOnnx: return read_onnx_weights(path, limits);
    case host::FileKind::kIngot: return read_ingot_weights(path, limits);
    default: return checkpoint::read_checkpoint(path, limits);
  }
}

}  // namespace ingot::weights
