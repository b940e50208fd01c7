// SPDX-License-Identifier: Apache-2.0
// tools/graph/block_type.h - types of weights in blocks by their names.
#pragma once
#include <optional>
#include <string_view>

#include "runtime/op/block_linear.h"

namespace ingot::graph {

/// "q4_0" .. "bf16".
inline std::optional<BlockType> find_block_type(std::string_view name) {
  for (int i = 0; i < kBlockTypes; i++)
    if (name == block_type_name(BlockType(i))) return BlockType(i);
  return std::nullopt;
}

/// Conversion quantizes to the first so many types; the others are only read.
constexpr int kWeightTypes = int(BlockType::kQ6_K) + 1;

/// A type to quantize to, by its name; "q4", "q5" and "q6" are those in super-blocks, which lose
/// least for their size, and "q8" is "q8_0".
inline std::optional<BlockType> find_weight_type(std::string_view name) {
  for (const BlockType type :
       {BlockType::kQ4_K, BlockType::kQ5_K, BlockType::kQ6_K, BlockType::kQ8_0})
    if (name.size() == 2 && name == std::string_view(block_type_name(type)).substr(0, 2))
      return type;
  const std::optional<BlockType> type = find_block_type(name);
  return type && int(*type) < kWeightTypes ? type : std::nullopt;
}

}  // namespace ingot::graph
