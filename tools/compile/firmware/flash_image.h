// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/flash_image.h - a file as it goes into flash, less what only hosts read.
// Owns     nothing.
// Threads  any.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::firmware {

/// The same file with its program and weights alone, as close together as they may be. `name` is
/// for errors. @pre the file was opened with its hashes. @throws Failure kCorrupt
std::vector<uint8_t> flash_image(const std::vector<uint8_t>& file, const std::string& name);

}  // namespace ingot::firmware
