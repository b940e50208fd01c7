// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/requantize_one.inl - one sum to a step of its output, in fixed point or by a
// double. The arithmetic is in runtime/op/requantize.h. GPUs compile the same file.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/requantize.h"

namespace ingot::cpu {
namespace {

INGOT_INLINE int32_t limited_to_i32(int64_t x) {
  return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : int32_t(x);
}

/// Fixed point. Shifts are any number of a file: those that mean nothing are limited.
INGOT_INLINE int32_t requantize_fixed(RequantMode mode, int32_t sum, int32_t multiplier,
                                      int32_t shift) {
  const int32_t least = mode == RequantMode::kFixedOnce ? -30 : -31;
  const int s = shift < least ? least : shift > 31 ? 31 : shift;
  if (mode == RequantMode::kFixedOnce) {
    const int64_t product = int64_t(sum) * multiplier, half = int64_t{1} << (30 + s);
    return limited_to_i32((product + half) >> (31 + s));
  }
  const int32_t shifted = s < 0 ? limited_to_i32(int64_t(sum) * (int64_t{1} << -s)) : sum;
  const int32_t d = limited_to_i32((int64_t(shifted) * multiplier + (int64_t{1} << 30)) >> 31);
  if (s <= 0) return d;
  const int64_t half = (int64_t{1} << (s - 1)) - (mode == RequantMode::kFixedAway && d < 0);
  return int32_t((d + half) >> s);
}

INGOT_INLINE int32_t step_of_fixed_wide(uint64_t sum, int32_t multiplier, int32_t shift) {
  const int s = shift < -14 ? -14 : shift > 47 ? 47 : shift;
  const uint64_t product = sum * uint64_t(int64_t(multiplier));
  return int32_t(uint32_t(uint64_t(int64_t(product + (uint64_t{1} << (14 + s))) >> (15 + s))));
}
INGOT_INLINE int32_t step_of_double(int64_t sum, int32_t low, int32_t high) {
  const uint64_t bits = uint64_t(uint32_t(high)) << 32 | uint32_t(low);
  double multiplier;
  __builtin_memcpy(&multiplier, &bits, sizeof multiplier);
  const double step = double(sum) * multiplier;
  if (step != step) return INT32_MAX;  // as limits do: what is no number is above them
  if (step >= 2147483647.0) return INT32_MAX;
  if (step <= -2147483648.0) return INT32_MIN;
  const int32_t whole = int32_t(step);  // toward zero
  const double rest = step - whole;     // exact
  return whole + (rest >= 0.5 ? 1 : rest <= -0.5 ? -1 : 0);
}

}  // namespace
}  // namespace ingot::cpu
