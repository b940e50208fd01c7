// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/fast_divide.h - division by a number that is known when a launch is planned:
// one multiplication and a shift, 32 bits wide where the dividend is below 2^31 and speed counts,
// else 64. Host code makes a divisor, device code divides.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd/inline.h"

namespace ingot::cuda {

/// For 1 < divisor: quotient = (n * magic) >> (32 + shift) for every n < 2^31 (the divisor below
/// that too), and with wide_magic and 64 for every n < 2^63 (Granlund and Montgomery, 1994).
struct FastDivisor {
  int64_t divisor;
  uint64_t wide_magic;
  uint32_t magic, shift;
};

/// @pre d >= 1.
inline FastDivisor fast_divisor(int64_t d) {
  FastDivisor f = {d, 0, 0, 0};
  if (d <= 1) return f;
  uint32_t log = 0;
  while ((uint64_t{1} << log) < uint64_t(d)) log++;
  // 2^(63 + log) / d rounded up, bit by bit: a host of 32 bits has no wider integers
  uint64_t rest = 1;
  for (uint32_t bit = 0; bit < 63 + log; bit++) {
    rest <<= 1, f.wide_magic <<= 1;
    if (rest >= uint64_t(d)) rest -= uint64_t(d), f.wide_magic |= 1;
  }
  f.wide_magic += rest != 0;
  if (d <= INT32_MAX)
    f.magic = uint32_t(((uint64_t{1} << (31 + log)) + uint64_t(d) - 1) / uint64_t(d));
  f.shift = log - 1;
  return f;
}

/// n / f for n < 2^31.
INGOT_INLINE uint32_t divide(uint32_t n, const FastDivisor& f) {
  if (f.magic == 0) return f.divisor == 1 ? n : 0;  // a divisor of 2^31 or more
  return uint32_t(uint64_t(n) * f.magic >> 32) >> f.shift;
}
/// n / f for n < 2^63.
INGOT_INLINE uint64_t divide(uint64_t n, const FastDivisor& f) {
#if defined(__CUDA_ARCH__)
  const uint64_t high = __umul64hi(n, f.wide_magic);
#elif defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  const uint64_t high = uint64_t(Wide(n) * f.wide_magic >> 64);
#else
  const uint64_t n0 = uint32_t(n), n1 = n >> 32;
  const uint64_t m0 = uint32_t(f.wide_magic), m1 = f.wide_magic >> 32;
  const uint64_t middle = n1 * m0 + (n0 * m0 >> 32), other = n0 * m1 + uint32_t(middle);
  const uint64_t high = n1 * m1 + (middle >> 32) + (other >> 32);
#endif
  return f.divisor == 1 ? n : high >> f.shift;
}

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
