// SPDX-License-Identifier: Apache-2.0
// runtime/format/block.h - the caller's block, handed out from front to back. Measuring and taking
// share one code path: without memory it only counts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>

#include "runtime/base/span.h"

namespace ingot {

class Block {
 public:
  Block() = default;  // counts only
  explicit Block(Span<uint8_t> memory) : memory_(memory) {}

  /// `count` objects of T, default-initialized; null when counting or when the block is too small.
  /// Callers have validated that counts come from a file of bounded size, so that sums fit 64 bits.
  template <class T>
  T* take(uint64_t count) {
    used_ = (used_ + alignof(T) - 1) / alignof(T) * alignof(T);
    const uint64_t at = used_;
    used_ += count * sizeof(T);
    if (!memory_.data || used_ > memory_.size) return nullptr;
    T* first = reinterpret_cast<T*>(memory_.data + at);
    for (uint64_t i = 0; i < count; i++) new (first + i) T();
    return first;
  }
  uint64_t used() const { return used_; }
  bool fits() const { return used_ <= memory_.size; }

 private:
  Span<uint8_t> memory_;
  uint64_t used_ = 0;
};

}  // namespace ingot
