// SPDX-License-Identifier: Apache-2.0
// tests/micro/fmaf_test.cpp - fmaf() of firmware whose processor has no such instruction, beside
// the C library's, which is correct on hosts: all triples of edges, and bit patterns drawn at
// random, half of them so that product and addend nearly cancel or lie far apart.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

#define fmaf board_fmaf
extern "C" {
#include "examples/firmware/fmaf.c"
}
#undef fmaf

namespace {

uint32_t pattern(float x) { return std::isnan(x) ? 0x7fc00000u : bits_of(x); }

/// Whether both agree, NaN for NaN.
bool same(float a, float b, float c) {
  return pattern(board_fmaf(a, b, c)) == pattern(std::fma(a, b, c));
}

TEST_CASE("fmaf of firmware: edges") {
  // 0x3f800800 squared is half way between two floats, which 0x1c800000 decides
  const uint32_t magnitudes[] = {
      0,          1,          2,          3,          0x007fffff, 0x00800000, 0x00800001,
      0x00ffffff, 0x01000000, 0x0c000000, 0x1c800000, 0x1f800000, 0x20000001, 0x33800000,
      0x3f7fffff, 0x3f800000, 0x3f800001, 0x3f800800, 0x3fffffff, 0x40400000, 0x4b800001,
      0x5f7fffff, 0x7effffff, 0x7f000000, 0x7f7fffff, 0x7f800000, 0x7fc00000};
  size_t wrong = 0, through_double = 0;
  for (const uint32_t i : magnitudes)
    for (const uint32_t j : magnitudes)
      for (const uint32_t k : magnitudes)
        for (uint32_t signs = 0; signs < 8; signs++) {
          const float a = of_bits(i | (signs & 1) << 31), b = of_bits(j | (signs >> 1 & 1) << 31);
          const float c = of_bits(k | (signs >> 2) << 31);
          wrong += !same(a, b, c);
          through_double += pattern(float(double(a) * b + c)) != pattern(std::fma(a, b, c));
        }
  CHECK(wrong == 0);
  CHECK(through_double > 0);  // the way that C libraries go, for which there is another
}

TEST_CASE("fmaf of firmware: random patterns, near cancellation, far apart, subnormal results") {
  std::mt19937 random(17);
  size_t wrong = 0;
  for (int i = 0; i < 400000; i++) {
    const auto near_one = [&] { return of_bits((random() & 0x83ffffffu) | 0x3c000000u); };
    float a = of_bits(uint32_t(random())), b = of_bits(uint32_t(random()));
    float c = of_bits(uint32_t(random()));
    if (i % 4 == 1) a = near_one(), b = near_one(), c = near_one();
    if (i % 4 == 2) {  // the rounded product again, a few units away
      a = near_one(), b = near_one();
      c = of_bits(bits_of(-(a * b)) + (random() % 5));
    }
    if (i % 4 == 3)
      a = std::ldexp(near_one(), -70), b = std::ldexp(near_one(), -70),
      c = std::ldexp(near_one(), -int(random() % 30) - 120);
    wrong += !same(a, b, c);
  }
  CHECK(wrong == 0);
}

}  // namespace
