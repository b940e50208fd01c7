// SPDX-License-Identifier: Apache-2.0
// tests/session/counting_allocator.h - a caller's allocator that counts, fails the n-th time, and
// knows what is alive.
#pragma once
#include <doctest/doctest.h>

#include <new>
#include <set>
#include <utility>

#include "ingot/ingot.h"

namespace ingot::test {

struct CountingAllocator {
  int calls = 0, fail_at = 0;
  std::set<std::pair<void*, size_t>> alive;
  ingot_allocator allocator = {this,
                               [](void* user, size_t bytes, size_t alignment) -> void* {
                                 CountingAllocator& self = *static_cast<CountingAllocator*>(user);
                                 if (++self.calls == self.fail_at) return nullptr;
                                 void* pointer = ::operator new(
                                     bytes, std::align_val_t(alignment < 64 ? 64 : alignment));
                                 self.alive.insert({pointer, bytes});
                                 return pointer;
                               },
                               [](void* user, void* pointer, size_t bytes) {
                                 CountingAllocator& self = *static_cast<CountingAllocator*>(user);
                                 REQUIRE(self.alive.erase({pointer, bytes}) == 1);
                                 ::operator delete(pointer, std::align_val_t(64));
                               }};
};

}  // namespace ingot::test
