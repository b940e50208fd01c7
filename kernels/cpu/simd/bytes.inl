// kernels/cpu/simd/bytes.inl - up to 8 bytes between memory and a word, for instruction sets whose
// vectors of bytes have no masks: memory past n is never touched, bytes past n are zero.
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

}  // namespace
}  // namespace ingot::cpu
