// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/rescale.h - the arithmetic of runtime/op/requantize.h, one number at a time.
#pragma once
#include <cmath>

#include "runtime/op/requantize.h"

namespace ingot::cpu::oracle {
namespace {

inline double limited(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}
inline double limited_i32(double x) { return limited(x, -2147483648.0, 2147483647.0); }

/// floor(a * b / 2^shift + 1/2) for whole a, b of 32 bits.
inline double rounded_up(double a, double b, int shift) {
  const int64_t unit = int64_t{1} << shift, n = int64_t(a) * int64_t(b) + unit / 2;
  return double(n % unit < 0 ? n / unit - 1 : n / unit);
}

/// Fixed point; a shift that means nothing is limited.
inline double rescaled(RequantMode mode, double sum, double multiplier, int given) {
  const int least = mode == RequantMode::kFixedOnce ? -30 : -31;
  const int shift = given < least ? least : given > 31 ? 31 : given;
  if (mode == RequantMode::kFixedOnce) return limited_i32(rounded_up(sum, multiplier, 31 + shift));
  const double shifted = shift < 0 ? limited_i32(std::ldexp(sum, -shift)) : sum;
  const double high = limited_i32(rounded_up(shifted, multiplier, 31));
  if (shift <= 0) return high;
  const double exact = std::ldexp(high, -shift);
  return mode == RequantMode::kFixedUp ? std::floor(exact + 0.5) : std::round(exact);
}

}  // namespace
}  // namespace ingot::cpu::oracle
