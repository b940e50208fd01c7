// SPDX-License-Identifier: Apache-2.0
#include "tools/files/half.h"

#include <bit>

namespace ingot::host {

float widen_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

float widen_f16(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
                 mantissa = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent > 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = float(mantissa) * 0x1p-24f;  // zero or subnormal; exact
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

float widen_e4m3(uint8_t bits) {
  const uint32_t sign = uint32_t(bits & 0x80) << 24, rest = bits & 0x7f;
  if (rest == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
  if (rest >= 8) return std::bit_cast<float>(sign | ((rest << 20) + (120u << 23)));
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(rest) * 0x1p-9f));
}

uint16_t narrow_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  // a NaN
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | ((bits >> 16 & 0x7f) ? 0 : 0x40));
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t narrow_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {  // a NaN
    const uint32_t payload = magnitude >> 13 & 1023;
    return uint16_t(sign | 0x7c00 | (payload ? payload : 0x200));
  }
  if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);  // 65520 and more round to infinity
  if (magnitude < 0x38800000) {                                 // below 2^-14: subnormal
    // Adding 2^-1 puts the last bit of the result at 2^-24, so that the addition rounds as asked.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return uint16_t(sign | ((rounded >> 13) - (112 << 10)));
}

}  // namespace ingot::host
