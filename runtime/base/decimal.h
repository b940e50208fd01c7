// SPDX-License-Identifier: Apache-2.0
// runtime/base/decimal.h - doubles to decimal digits and back, exact, with nothing of a library: no
// locale, no heap.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ingot {

/// 0.d1d2d3... * 10^exponent
struct DecimalDigits {
  static constexpr int kMaxCount = 17;
  char digits[kMaxCount] = {};  // '0' to '9'
  int count = 0;
  int exponent = 0;
};
/// The fewest digits that no other double is nearer to; of several the nearest. Of 0 one digit, and
/// the exponent 1. The sign is not looked at. @pre finite
DecimalDigits shortest_digits(double x);

enum class DecimalRead : uint8_t {
  kRead,
  kNone,     // the text is no number
  kTooLarge  // beyond every finite double
};
/// The double nearest to the number that all of the text is: "-12.5e3", "inf", "nan"; of two the
/// even one.
DecimalRead read_decimal(const char* text, size_t count, double* out);

}  // namespace ingot
