// SPDX-License-Identifier: Apache-2.0
// tests/cuda/gpu_pack/archive.h - a tar archive (POSIX ustar) of small files, written and read
// here: machines that a pack runs on may have no tar.
// Errors   false: cut off or damaged; what was whole before that is there.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace ingot::pack {

using Files = std::vector<std::pair<std::string, std::string>>;  // name, content

/// @pre names of at most 99 bytes
std::string make_archive(const Files& files);
bool read_archive(const std::string& archive, Files* out);

}  // namespace ingot::pack
