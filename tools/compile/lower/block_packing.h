// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/block_packing.h - weights in blocks, from a GGUF's order of bits to that of
// packing blocks32 and back. Orders: runtime/op/block_linear.h.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/op/block_linear.h"

namespace ingot {

/// Rows of blocks -> panels of 32 outputs. @pre rows.size() is outputs * row_bytes, row_bytes whole
/// blocks
std::vector<uint8_t> pack_blocks32(BlockType type, std::span<const uint8_t> rows, int64_t outputs,
                                   int64_t row_bytes);
/// Back.
std::vector<uint8_t> unpack_blocks32(BlockType type, std::span<const uint8_t> panels,
                                     int64_t outputs, int64_t row_bytes);

}  // namespace ingot
