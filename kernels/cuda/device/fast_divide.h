// kernels/cuda/device/fast_divide.h - division by a number that is known when a launch is planned: one multiplication and a shift where
// the dividend is below 2^31, the slow 64-bit division elsewhere. Host code makes a divisor, device code divides.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd/inline.h"

namespace ingot::cuda {

/// For 1 < divisor < 2^31: quotient = (n * magic) >> (32 + shift), exact for every n < 2^31 (Granlund and Montgomery, 1994).
struct FastDivisor {
  int64_t divisor;
  uint32_t magic, shift;
};

/// @pre d >= 1.
inline FastDivisor fast_divisor(int64_t d) {
  FastDivisor f = {d, 0, 0};
  if (d == 1 || d > INT32_MAX) return f;
  uint32_t log = 0;
  while ((int64_t{1} << log) < d) log++;
  f.magic = uint32_t(((uint64_t{1} << (31 + log)) + uint64_t(d) - 1) / uint64_t(d));
  f.shift = log - 1;
  return f;
}

/// n / f for n < 2^31.
INGOT_INLINE uint32_t divide(uint32_t n, const FastDivisor& f) {
  if (f.magic == 0) return f.divisor == 1 ? n : 0;  // a divisor of 2^31 or more
  return uint32_t(uint64_t(n) * f.magic >> 32) >> f.shift;
}
/// n / f for any n >= 0.
INGOT_INLINE uint64_t divide(uint64_t n, const FastDivisor& f) { return n / uint64_t(f.divisor); }

/// Whether indices up to `count` may be 32 bits wide in a loop whose step is below 2^31.
INGOT_INLINE bool fits_index32(int64_t count) { return count <= INT32_MAX; }

/// n becomes the quotient; the remainder is returned.
template <class Index>
INGOT_INLINE Index take_remainder(Index* n, const FastDivisor& f) {
  const Index quotient = divide(*n, f), remainder = Index(*n - quotient * Index(f.divisor));
  *n = quotient;
  return remainder;
}

}  // namespace ingot::cuda
