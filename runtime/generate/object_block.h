// SPDX-License-Identifier: Apache-2.0
// runtime/generate/object_block.h - the memory that begins with an object, and where it came from.
#pragma once
#include "runtime/session/model.h"

namespace ingot {

struct ObjectBlock {
  uint8_t* at = nullptr;
  uint64_t bytes = 0;
  Allocator allocator;  // of calls that allocate, too
  bool is_lent = false;
};

}  // namespace ingot
