// SPDX-License-Identifier: Apache-2.0
// runtime/base/widen.cpp - from front to back, so that the halves may lie in the upper part of what
// they become.
#include "runtime/base/widen.h"

#include <cstring>

#include "runtime/base/byte_order.h"

namespace ingot {

void widen_f16_portable(const uint8_t* from, uint8_t* to, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const uint32_t half = load_little<uint16_t>(from + 2 * i), magnitude = (half & 0x7fffu) << 13;
    uint32_t bits = magnitude + (112u << 23);
    if (magnitude >= 31u << 23) {
      bits += 112u << 23;  // infinity, or a NaN that keeps its bits
    } else if (magnitude < 1u << 23) {
      // Zero or subnormal, which f32 has as a normal number: 2^-14 * (1 + m) - 2^-14, exact, no
      // subnormal on the way.
      float x;
      bits += 1u << 23;
      std::memcpy(&x, &bits, sizeof x);
      x -= 0x1p-14f;
      std::memcpy(&bits, &x, sizeof x);
    }
    bits |= (half & 0x8000u) << 16;
    std::memcpy(to + 4 * i, &bits, sizeof bits);
  }
}

void widen_f16(const uint8_t* from, uint8_t* to, size_t count) {
  const size_t done = widen_f16_fast(from, to, count);
  widen_f16_portable(from + 2 * done, to + 4 * done, count - done);
}

void widen_bf16(const uint8_t* from, uint8_t* to, size_t count) {
  for (size_t i = widen_bf16_fast(from, to, count); i < count; i++) {
    const uint32_t bits = uint32_t{load_little<uint16_t>(from + 2 * i)} << 16;
    std::memcpy(to + 4 * i, &bits, sizeof bits);
  }
}

}  // namespace ingot
