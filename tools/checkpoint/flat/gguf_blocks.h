// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/gguf_blocks.h - GGUF's block types and what their blocks stand for, as
// float32; and blocks of float32.
#pragma once
#include <cstdint>

namespace ingot::checkpoint {

struct GgufBlock {
  uint32_t type;      // as the file numbers it
  const char* name;   // "Q4_0"
  uint32_t elements;  // in a block
  uint32_t bytes;     // of a block
  void (*decode)(const uint8_t* block, float* out);
  void (*encode)(const float* x, uint8_t* block);  // gguf_encode.h; null: no type is made so
};
/// Null for a number that names no block type known here.
const GgufBlock* find_gguf_block(uint32_t type);
/// The elements of whole blocks. @pre `out` has room for block.elements of each.
void decode_gguf_blocks(const GgufBlock& block, const uint8_t* begin, uint64_t bytes, float* out);

}  // namespace ingot::checkpoint
