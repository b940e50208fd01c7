// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/torch_objects.h - the meaning of the few constructors that torch and numpy
// write, on an inert tree.
#pragma once
#include <memory>
#include <string>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/checkpoint/torch/value_tree.h"

namespace ingot::checkpoint {

/// What a persistent id of kind 'storage' says.
struct StorageId {
  ElementType type = ElementType::kU8;
  std::string key, location;
  uint64_t elements = 0;
  uint64_t view_offset = 0;  // elements; an old file's storage may be a part of another
};

/// Where a container keeps its storages.
class StorageSource {
 public:
  virtual ~StorageSource() = default;
  /// @throws Failure kCorrupt when there is none of that key, or its size is not the one declared.
  virtual std::shared_ptr<const Storage> find(const StorageId& id, const std::string& where) = 0;
  /// A tensor that is itself referred to, as the oldest files do.
  virtual bool tensor(int64_t, Tensor*) { return false; }
  virtual bool swapped() const { return false; }
};

/// Adds every tensor and fact below the root to `out`.
void collect_torch(const ValueTree& tree, StorageSource* storages, const ReadLimits& limits,
                   Checkpoint* out);

}  // namespace ingot::checkpoint
