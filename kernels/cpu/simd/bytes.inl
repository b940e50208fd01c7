// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/bytes.inl - up to 8 bytes between memory and a word, for instruction sets whose
// vectors of bytes have no masks: memory past n is never touched, bytes past n are zero. Tables of
// bytes for those that have none.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {

/// What lies at p, little endian; n < 1 is no byte, n > 8 is 8 bytes.
INGOT_INLINE uint64_t load_word(const uint8_t* p, int64_t n) {
  uint64_t word = 0;
  if (n >= 8) {
    __builtin_memcpy(&word, p, 8);
  } else if (n >= 4) {  // two halves that overlap
    uint32_t first, last;
    __builtin_memcpy(&first, p, 4);
    __builtin_memcpy(&last, p + n - 4, 4);
    word = first | uint64_t(last) << (n - 4) * 8;
  } else {
    if (n > 0) word = p[0];
    if (n > 1) word |= uint64_t(p[1]) << 8;
    if (n > 2) word |= uint64_t(p[2]) << 16;
  }
  return word;
}
INGOT_INLINE void store_word(uint8_t* p, uint64_t word, int64_t n) {
  if (n >= 8) {
    __builtin_memcpy(p, &word, 8);
  } else if (n >= 4) {
    const uint32_t first = uint32_t(word), last = uint32_t(word >> (n - 4) * 8);
    __builtin_memcpy(p, &first, 4);
    __builtin_memcpy(p + n - 4, &last, 4);
  } else {
    if (n > 0) p[0] = uint8_t(word);
    if (n > 1) p[1] = uint8_t(word >> 8);
    if (n > 2) p[2] = uint8_t(word >> 16);
  }
}

/// Table and blookup() of a V whose vectors of bytes have none.
struct ByteTable {
  const uint8_t* at;
};
template <class V>
INGOT_INLINE typename V::B look_up_each(const ByteTable& t, typename V::B x) {
  uint8_t all[V::kBytes];
  V::bstore(all, x);
  INGOT_UNROLL for (int i = 0; i < V::kBytes; i++) all[i] = t.at[all[i]];
  return V::bload(all);
}

}  // namespace
}  // namespace ingot::cpu
