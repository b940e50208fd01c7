// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/file_bytes.h - how large a checkpoint is, before anything of it is read.
#pragma once
#include <cstdint>
#include <string>

namespace ingot::checkpoint {

/// Bytes of the file; of the index of a sharded checkpoint with those of the files that it names.
/// What is missing or damaged counts nothing: reading it says what is wrong.
uint64_t file_bytes(const std::string& path);

}  // namespace ingot::checkpoint
