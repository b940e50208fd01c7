// SPDX-License-Identifier: Apache-2.0
// tests/micro/exact_memory.h - a model opened by a microcontroller's core in memory of exactly the
// size asked for.
#pragma once
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "ingot/micro.h"
#include "tools/compile/firmware/rows.h"

namespace ingot::test {

/// Memory of exactly `bytes`, aligned to 64, so that a sanitizer sees one byte too many.
class ExactMemory {
 public:
  explicit ExactMemory(size_t bytes)
      : at_(static_cast<uint8_t*>(::operator new(bytes ? bytes : 1, std::align_val_t(64)))) {}
  explicit ExactMemory(const std::vector<uint8_t>& bytes) : ExactMemory(bytes.size()) {
    if (!bytes.empty()) std::memcpy(at_.get(), bytes.data(), bytes.size());
  }
  uint8_t* data() const { return at_.get(); }

 private:
  struct Free {
    void operator()(uint8_t* at) const { ::operator delete(at, std::align_val_t(64)); }
  };
  std::unique_ptr<uint8_t, Free> at_;
};

constexpr size_t kAmpleArena = size_t{1} << 20;

inline int32_t open_micro(const ExactMemory& image, size_t bytes, const ExactMemory& arena,
                          size_t arena_bytes, ingot_micro* out, ingot_micro_error* error,
                          uint32_t flags = 0) {
  return ingot_micro_open(out, image.data(), bytes,
                          reinterpret_cast<const ingot_micro_kernels*>(&firmware::scalar_rows()),
                          arena.data(), arena_bytes, flags, error);
}

}  // namespace ingot::test
