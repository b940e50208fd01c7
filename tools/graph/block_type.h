// SPDX-License-Identifier: Apache-2.0
// tools/graph/block_type.h - types of weights in blocks by their names.
#pragma once
#include <optional>
#include <string_view>

#include "runtime/op/block_linear.h"

namespace ingot::graph {

/// "q4_0" .. "q6_k".
inline std::optional<BlockType> find_block_type(std::string_view name) {
  for (int i = 0; i < kBlockTypes; i++)
    if (name == block_type_name(BlockType(i))) return BlockType(i);
  return std::nullopt;
}

}  // namespace ingot::graph
