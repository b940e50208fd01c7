// SPDX-License-Identifier: Apache-2.0
// runtime/memory/allocator.cpp - checks what an allocator gives.
#include "runtime/memory/allocator.h"

#include "runtime/base/os/memory.h"

namespace ingot {
namespace {

void* from_heap(void*, size_t bytes, size_t alignment) {
  return os::heap_allocate(bytes, alignment);
}
void to_heap(void*, void* pointer, size_t) { os::heap_release(pointer); }

}  // namespace

Allocator heap_allocator() { return {nullptr, from_heap, to_heap}; }

Status allocate(const Allocator& allocator, uint64_t bytes, uint64_t alignment, const char* field,
                uint8_t** out, ErrorDetail* detail) {
  if (bytes > SIZE_MAX) return fail(detail, Code::kOutOfMemory, field, bytes);
  void* pointer = allocator.allocate(allocator.user, size_t(bytes), size_t(alignment));
  if (!pointer) return fail(detail, Code::kOutOfMemory, field, bytes);
  if (uintptr_t(pointer) & (alignment - 1)) {
    allocator.release(allocator.user, pointer, size_t(bytes));
    return fail(detail, Code::kMisaligned, field, alignment, uintptr_t(pointer) & (alignment - 1));
  }
  *out = static_cast<uint8_t*>(pointer);
  return {};
}

}  // namespace ingot
