/* SPDX-License-Identifier: Apache-2.0 */
/* fmaf.c - a * b + c rounded once, for processors without such an instruction (Cortex-M0 to M3,
   RISC-V without F); the linker drops it elsewhere. C libraries for bare metal round twice, and
   then the last bits are not those of other machines. */
#include <stdint.h>
#include <string.h>

float fmaf(float a, float b, float c);

enum { kMantissaBits = 23, kExponentMax = 255, kBias = 127 };

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static float of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static int exponent_field(uint32_t bits) { return (int)(bits >> kMantissaBits & kExponentMax); }

/* x / 2^by, and the lowest bit set where anything was lost: rounded later, as the exact one is. */
static uint64_t shift_right(uint64_t x, int by) {
  if (by == 0) return x;
  if (by >= 64) return x != 0;
  return x >> by | (x << (64 - by) != 0);
}

/* |x| as mantissa * 2^exponent with 2^23 <= mantissa < 2^24. @pre x is finite, not 0 */
static uint32_t mantissa_of(uint32_t bits, int* exponent) {
  const uint32_t low = bits & 0x7fffffu;
  const int field = exponent_field(bits);
  int up;
  if (field != 0) {
    *exponent = field - kBias - kMantissaBits;
    return low | 0x800000u;
  }
  for (up = 0; (low << up) < 0x800000u; up++) {
  }
  *exponent = 1 - kBias - kMantissaBits - up;
  return low << up;
}

/* sum * 2^exponent to the nearest float, ties to even. @pre sum is not 0 */
static float rounded(uint32_t sign, uint64_t sum, int exponent) {
  uint64_t rest;
  uint32_t bits;
  int field;
  for (; sum < (uint64_t)1 << 63; exponent--) sum <<= 1;
  field = exponent + 63 + kBias;
  if (field >= kExponentMax) return of_bits(sign | 0x7f800000u);
  if (field < 1) {
    sum = shift_right(sum, 1 - field);
    field = 1; /* without the leading bit, which is added to it below */
  }
  rest = sum & (((uint64_t)1 << 40) - 1);
  bits = ((uint32_t)(field - 1) << kMantissaBits) + (uint32_t)(sum >> 40);
  bits += rest > (uint64_t)1 << 39 || (rest == (uint64_t)1 << 39 && (bits & 1u));
  return of_bits(sign | bits);
}

float fmaf(float a, float b, float c) {
  const uint32_t abits = bits_of(a), bbits = bits_of(b), cbits = bits_of(c);
  uint32_t sign = (abits ^ bbits) & 0x80000000u;
  const uint32_t csign = cbits & 0x80000000u;
  uint64_t product, addend;
  int aexponent, bexponent, exponent, cexponent;
  if (exponent_field(abits) == kExponentMax || exponent_field(bbits) == kExponentMax)
    return a * b + c;
  if (exponent_field(cbits) == kExponentMax) return c;
  if (a == 0 || b == 0) return a * b + c;
  if (c == 0) return a * b; /* also where it becomes a zero, whose sign is the product's */

  /* Both with their leading bits at 62 and zeros below 15, so that the smaller one can be shifted
     until it is one bit that says "something", and the sum has room for a carry. */
  product = (uint64_t)mantissa_of(abits, &aexponent) * mantissa_of(bbits, &bexponent) << 15;
  exponent = aexponent + bexponent - 15;
  if (product < (uint64_t)1 << 62) product <<= 1, exponent--;
  addend = (uint64_t)mantissa_of(cbits, &cexponent) << 39;
  cexponent -= 39;
  if (exponent >= cexponent) {
    addend = shift_right(addend, exponent - cexponent);
  } else {
    product = shift_right(product, cexponent - exponent);
    exponent = cexponent;
  }
  if (sign == csign) return rounded(sign, product + addend, exponent);
  if (product == addend) return 0;
  if (product < addend) return rounded(csign, addend - product, exponent);
  return rounded(sign, product - addend, exponent);
}
