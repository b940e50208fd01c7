// SPDX-License-Identifier: Apache-2.0
// runtime/base/check_memory.h - the caller's memory against what an object asked for.
#pragma once
#include "runtime/base/span.h"
#include "runtime/base/status.h"

namespace ingot {

/// kArenaTooSmall{need, have}, or kMisaligned{16, bytes beside}.
inline Status check_memory(Span<uint8_t> memory, uint64_t need, const char* name,
                           ErrorDetail* detail) {
  if (memory.size < need) return fail(detail, Code::kArenaTooSmall, name, need, memory.size);
  const uint64_t beside = reinterpret_cast<uintptr_t>(memory.data) % 16;
  return beside ? fail(detail, Code::kMisaligned, name, 16, beside) : Status();
}

}  // namespace ingot
