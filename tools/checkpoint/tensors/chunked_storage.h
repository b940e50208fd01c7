// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/chunked_storage.h - one tensor whose elements lie apart, as the ranks of
// a training save them: a chunk is a box of it.
// Errors   host::Failure kCorrupt: chunks that leave the tensor, overlap or leave a gap; a chunk
//          that is another tensor than its description says.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::checkpoint {

struct Chunk {
  std::vector<int64_t> offsets, sizes;  // in each dimension of the whole
  /// Called each time the whole is loaded: a tensor of these sizes and of the whole's type.
  std::function<Tensor()> open;
};

/// The elements of a tensor of that type and shape, row-major, in the byte order of its chunks.
/// Chunks are opened when it is loaded. `owner` begins every error.
std::shared_ptr<const Storage> chunked_storage(ElementType type, const std::vector<int64_t>& dims,
                                               std::vector<Chunk> chunks, const std::string& owner);

}  // namespace ingot::checkpoint
