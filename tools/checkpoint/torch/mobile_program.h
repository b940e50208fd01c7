// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/mobile_program.h - a program that PyTorch Mobile keeps as FlatBuffers
// ("PTMF"), as the inert trees that its form as a zip archive has in data.pkl and bytecode.pkl.
// Errors   host::Failure kCorrupt.
#pragma once
#include <memory>
#include <string>

#include "tools/checkpoint/torch/torch_objects.h"

namespace ingot::checkpoint {

enum class MobilePart { kObject, kBytecode };

/// One of the two, and the storages that its tensors refer to.
struct MobileProgram {
  ValueTree tree;
  std::unique_ptr<StorageSource> storages;
};
MobileProgram read_mobile_program(const std::string& path, MobilePart part);

}  // namespace ingot::checkpoint
