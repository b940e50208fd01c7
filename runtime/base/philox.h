// SPDX-License-Identifier: Apache-2.0
// runtime/base/philox.h - Philox 4x32 with ten rounds: four words of a counter and a key.
#pragma once
#include <cstdint>

namespace ingot {

struct PhiloxWords {
  uint32_t word[4];
};

// static: objects of the instruction sets have nothing weak
static inline PhiloxWords philox(PhiloxWords counter, uint32_t key0, uint32_t key1) {
  uint32_t* const c = counter.word;
  for (int round = 0; round < 10; round++) {
    const uint64_t a = uint64_t(0xD2511F53u) * c[0], b = uint64_t(0xCD9E8D57u) * c[2];
    const uint32_t c1 = c[1], c3 = c[3];
    c[0] = uint32_t(b >> 32) ^ c1 ^ key0, c[1] = uint32_t(b);
    c[2] = uint32_t(a >> 32) ^ c3 ^ key1, c[3] = uint32_t(a);
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace ingot
