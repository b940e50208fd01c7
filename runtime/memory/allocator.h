// SPDX-License-Identifier: Apache-2.0
// runtime/memory/allocator.h - the caller's allocator, or the heap of the C library.
#pragma once
#include <cstddef>

#include "runtime/base/status.h"

namespace ingot {

struct Allocator {
  void* user = nullptr;
  void* (*allocate)(void* user, size_t bytes, size_t alignment) = nullptr;
  void (*release)(void* user, void* pointer, size_t bytes) = nullptr;
};

/// Gives null on a system without a heap.
Allocator heap_allocator();

/// kOutOfMemory{need} with `field` when refused; kMisaligned when what came is not aligned.
Status allocate(const Allocator& allocator, uint64_t bytes, uint64_t alignment, const char* field,
                uint8_t** out, ErrorDetail* detail);

}  // namespace ingot
