// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/softmax_one.inl - fixed point of softmax of integers, one number at a time.
// The arithmetic is in runtime/op/quantized_softmax.h. GPUs compile the same file.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {

/// @pre x > 0
INGOT_INLINE int leading_zeros(uint32_t x) {
#if defined(__CUDACC__)
  int count = 0;
#if defined(__CUDA_ARCH__)
  count = __clz(int(x));
#endif
  return count;
#else
  return __builtin_clz(x);
#endif
}

/// (a * b) / 2^31, to the nearest, ties upwards.
INGOT_INLINE int64_t high_product(int64_t a, int64_t b) {
  return (a * b + (int64_t{1} << 30)) >> 31;
}

/// What an entry of Q0.31 counts in the sum of its row.
INGOT_INLINE int64_t fixed_term(int32_t e) { return ((e > 0 ? int64_t{e} : 0) + (1 << 11)) >> 12; }

/// 1 / s of fixed point.
struct FixedReciprocal {
  int64_t factor;  // Q0.31
  int exponent;    // what a product with it is shifted right by is this less the bits of y
};
/// @param sum of fixed_term()
INGOT_INLINE FixedReciprocal fixed_reciprocal(int64_t sum) {
  const int64_t s = sum < 1 << 19 ? 1 << 19 : sum > INT32_MAX ? INT32_MAX : sum;
  const int headroom = leading_zeros(uint32_t(s));
  const int64_t half = (s << headroom) / 2;                  // half of 1 <= s * 2^n < 2, Q0.31
  int64_t x = 1515870810 + high_product(half, -1010580540);  // 48 / 17 - 32 / 17 * half, Q2.29
  for (int i = 0; i < 3; i++) {
    const int64_t rest = (int64_t{1} << 29) - high_product(half, x);
    x += high_product(x, rest) * 4;
  }
  return {x * 2 > INT32_MAX ? INT32_MAX : x * 2, 12 - headroom + 31};
}
/// A step of y, of `bits` bits.
INGOT_INLINE int64_t fixed_step(const FixedReciprocal& r, int bits, int32_t e) {
  const int shift = r.exponent - bits;
  const int64_t p = high_product(r.factor, e > 0 ? e : 0);
  return (p + (int64_t{1} << (shift - 1))) >> shift;
}

/// 1 / s of 16-bit numbers, and the bits of s.
struct Int16Reciprocal {
  int64_t factor;
  int bits;
};
/// The line through the table at the mantissa of a sum.
INGOT_INLINE Int16Reciprocal int16_reciprocal(const int16_t* table, int64_t sum) {
  const int64_t s = sum < 2 ? 2 : sum > INT32_MAX ? INT32_MAX : sum;
  const int bits = 32 - leading_zeros(uint32_t(s));
  const int64_t limited = ((s << (31 - bits)) + (1 << 13)) >> 14;
  const int32_t m = int32_t(limited > 131071 ? 131071 : limited) - 65536;
  const int32_t base = table[m >> 7], slope = table[(m >> 7) + 1] - base;
  return {int16_t(base + ((slope * (m & 127) + 64) >> 7)), bits};
}
INGOT_INLINE int16_t int16_step(const Int16Reciprocal& r, int16_t e) {
  const int64_t q =
      ((e > 0 ? int64_t{e} : 0) * r.factor + (int64_t{1} << (r.bits - 2))) >> (r.bits - 1);
  return int16_t(q < 0 ? 0 : q > 32767 ? 32767 : q);
}

}  // namespace
}  // namespace ingot::cpu
