// SPDX-License-Identifier: Apache-2.0
// runtime/base/checked_math.h - every size computed from a file goes through these.
#pragma once
#include <cstdint>

namespace ingot {

/// True when the exact result fits; *out is then set.
template <class T>
[[nodiscard]] inline bool checked_add(T a, T b, T* out) {
  return !__builtin_add_overflow(a, b, out);
}
template <class T>
[[nodiscard]] inline bool checked_sub(T a, T b, T* out) {
  return !__builtin_sub_overflow(a, b, out);
}
template <class T>
[[nodiscard]] inline bool checked_mul(T a, T b, T* out) {
  return !__builtin_mul_overflow(a, b, out);
}

/// Towards zero. False where nothing is divided by, and for the one quotient that does not fit: the
/// smallest number by -1, which ends a program on x86.
template <class T>
[[nodiscard]] inline bool checked_div(T a, T b, T* out) {
  T negative;
  if (b == 0 || (b == T(-1) && T(-1) < T(0) && __builtin_sub_overflow(T(0), a, &negative)))
    return false;
  *out = T(a / b);
  return true;
}
/// What checked_div() leaves; 0 behind -1, whatever is divided.
template <class T>
[[nodiscard]] inline bool checked_rem(T a, T b, T* out) {
  if (b == 0) return false;
  *out = b == T(-1) && T(-1) < T(0) ? T(0) : T(a % b);
  return true;
}

/// Rounds up to a power of two; false on overflow.
[[nodiscard]] inline bool checked_align(uint64_t value, uint64_t alignment, uint64_t* out) {
  uint64_t sum;
  if (!checked_add<uint64_t>(value, alignment - 1, &sum)) return false;
  *out = sum & ~(alignment - 1);
  return true;
}
constexpr bool is_power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

}  // namespace ingot
