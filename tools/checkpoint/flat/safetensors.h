// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/safetensors.h - writing the format that every framework reads.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::checkpoint {

/// One tensor to be written: its name there may differ from its path.
struct NamedTensor {
  std::string name;
  const Tensor* tensor = nullptr;
};

/// All or nothing. Tensors are streamed, one storage in memory at a time. @throws Failure kMismatch
/// for a name that is there twice, kUnsupported for a type that the format cannot spell,
/// kUnavailable.
void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace ingot::checkpoint
