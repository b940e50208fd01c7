// SPDX-License-Identifier: Apache-2.0
// tests/graph/tensor_math_test.cpp - conversions between element types.
#include "tools/graph/tensor_math.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tools/files/half.h"

using namespace ingot;
using namespace ingot::graph;

TEST_CASE("half: every number of the type comes back") {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const float value = host::widen_f16(uint16_t(bits));
    CAPTURE(bits);
    if (std::isnan(value))
      CHECK(std::isnan(host::widen_f16(float_to_half(double(value)))));
    else
      CHECK(float_to_half(double(value)) == bits);
  }
}
TEST_CASE("half: between two numbers the even one wins, beyond the last is infinity") {
  CHECK(float_to_half(1.0 + std::ldexp(1.0, -11)) == float_to_half(1.0));
  CHECK(float_to_half(1.0 + 3 * std::ldexp(1.0, -11)) == float_to_half(1.0) + 2);
  CHECK(float_to_half(65519.0) == 0x7bff);
  CHECK(float_to_half(65520.0) == 0x7c00);
  CHECK(float_to_half(std::ldexp(1.0, -25)) == 0);
  CHECK(float_to_half(std::ldexp(1.5, -25)) == 1);
  CHECK(float_to_half(-0.0) == 0x8000);
}
TEST_CASE("bfloat: nearest, ties to even") {
  CHECK(float_to_bfloat(1.0) == 0x3f80);
  CHECK(float_to_bfloat(1.0 + std::ldexp(1.0, -8)) == 0x3f80);
  CHECK(float_to_bfloat(1.0 + 3 * std::ldexp(1.0, -8)) == 0x3f82);
}
