// SPDX-License-Identifier: Apache-2.0
// runtime/base/bump_allocator.h - cuts one block into arrays, or measures the block that it would
// take: one code path for both.
#pragma once
#include <cstdint>

namespace ingot {

/// Takes come out at rising addresses of `base`, each aligned for its type. Without a base only
/// used() counts and every pointer is null. The caller checks used() against the block before it
/// writes.
class BumpAllocator {
 public:
  explicit BumpAllocator(uint8_t* base) : base_(base) {}

  template <class T>
  T* take(uint64_t count, uint64_t alignment = alignof(T)) {
    if (__builtin_add_overflow(used_, alignment - 1, &used_)) fits_ = false;
    used_ &= ~(alignment - 1);
    const uint64_t at = used_;
    uint64_t bytes;
    if (__builtin_mul_overflow(count, uint64_t{sizeof(T)}, &bytes) ||
        __builtin_add_overflow(used_, bytes, &used_))
      fits_ = false;
    return base_ && fits_ ? reinterpret_cast<T*>(base_ + at) : nullptr;
  }
  uint64_t used() const { return fits_ ? used_ : ~uint64_t{0}; }

 private:
  uint8_t* base_;
  uint64_t used_ = 0;
  bool fits_ = true;
};

}  // namespace ingot
