// SPDX-License-Identifier: Apache-2.0
// Half-size floats to f32: every one of them, on every path, at every length, in place as a session
// does it.
#include "runtime/base/widen.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

using namespace ingot;

namespace {

/// By the definition, in double; NaNs by their bits.
uint32_t expected_f16(uint32_t half) {
  const uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 1023;
  if (exponent == 31) return sign | 0x7f800000 | mantissa << 13;
  const double value = exponent ? std::ldexp(1024.0 + mantissa, int(exponent) - 25)
                                : std::ldexp(double(mantissa), -24);
  const float x = float(value);
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return sign | bits;
}

std::vector<uint8_t> all_halves() {
  std::vector<uint8_t> bytes(65536 * 2);
  for (uint32_t i = 0; i < 65536; i++)
    bytes[2 * i] = uint8_t(i), bytes[2 * i + 1] = uint8_t(i >> 8);
  return bytes;
}

uint32_t word(const uint8_t* bytes, size_t i) {
  uint32_t w;
  std::memcpy(&w, bytes + 4 * i, 4);
  return w;
}

}  // namespace

TEST_CASE(
    "widen: every f16 and bf16, bit by bit, infinities, subnormals and signalling NaNs included") {
  const std::vector<uint8_t> halves = all_halves();
  std::vector<uint8_t> fast(65536 * 4), portable(65536 * 4), bf16(65536 * 4);
  widen_f16(halves.data(), fast.data(), 65536);
  widen_f16_portable(halves.data(), portable.data(), 65536);
  widen_bf16(halves.data(), bf16.data(), 65536);
  for (uint32_t i = 0; i < 65536; i++) {
    if (word(fast.data(), i) != expected_f16(i)) FAIL_CHECK("f16 ", i, ": ", word(fast.data(), i));
    if (word(bf16.data(), i) != i << 16) FAIL_CHECK("bf16 ", i);
  }
  CHECK(fast == portable);
}

TEST_CASE(
    "widen: any length, any address, also from the upper half of where it goes, and not a byte "
    "beyond") {
  const std::vector<uint8_t> halves = all_halves();
  for (size_t count = 0; count < 70; count++)
    for (const size_t first : {0u, 1000u, 0x7bf0u, 0xfbe0u})
      for (const size_t shift : {0u, 1u, 3u}) {
        std::vector<uint8_t> memory(shift + count * 4 + 8, 0x5a);
        uint8_t* to = memory.data() + shift;
        for (const bool is_f16 : {true, false}) {
          std::memcpy(to + 2 * count, halves.data() + 2 * first, 2 * count);
          (is_f16 ? widen_f16 : widen_bf16)(to + 2 * count, to, count);
          for (size_t i = 0; i < count; i++) {
            const uint32_t half = uint32_t(first + i);
            CHECK(word(to, i) == (is_f16 ? expected_f16(half) : half << 16));
          }
          for (size_t i = 0; i < 8; i++) CHECK(to[4 * count + i] == 0x5a);
        }
      }
}
