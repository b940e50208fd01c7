// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/simd/half.inl - f16 and bf16 to and from f32, to nearest with ties to even, by bit
// operations alone.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {

INGOT_INLINE uint32_t float_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
INGOT_INLINE float bits_float(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

INGOT_INLINE float f16_to_f32(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest >= 0x7c00) return bits_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x0400) return bits_float(sign | ((rest << 13) + (112u << 23)));
  // subnormal: rest * 2^-24
  return bits_float(sign | float_bits(float(int32_t(rest)) * 5.9604644775390625e-8f));
}
INGOT_INLINE uint16_t f32_to_f16(float x) {
  const uint32_t bits = float_bits(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return uint16_t(sign | 0x7e00);
  if (rest >= 0x477ff000) return uint16_t(sign | 0x7c00);  // 65520 and beyond round to infinity
  if (rest < 0x38800000)
    // 0.5 has ulp 2^-24
    return uint16_t(sign | (float_bits(bits_float(rest) + 0.5f) - 0x3f000000));
  return uint16_t(sign | (rest + 0xfff + (rest >> 13 & 1) - (112u << 23)) >> 13);
}
INGOT_INLINE float bf16_to_f32(uint16_t h) { return bits_float(uint32_t(h) << 16); }
/// kLanes of f16 or bf16, for a V without instructions for them.
template <class V>
INGOT_INLINE typename V::F load_f16_lanes(const uint16_t* p) {
  float all[V::kLanes];
  for (int i = 0; i < V::kLanes; i++) all[i] = f16_to_f32(p[i]);
  return V::load(all);
}
template <class V>
INGOT_INLINE typename V::F load_bf16_lanes(const uint16_t* p) {
  float all[V::kLanes];
  for (int i = 0; i < V::kLanes; i++) all[i] = bf16_to_f32(p[i]);
  return V::load(all);
}
template <class V>
INGOT_INLINE void store_f16_lanes(uint16_t* p, typename V::F v) {
  float all[V::kLanes];
  V::store(all, v);
  for (int i = 0; i < V::kLanes; i++) p[i] = f32_to_f16(all[i]);
}
INGOT_INLINE uint16_t f32_to_bf16(float x) {
  const uint32_t bits = float_bits(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace
}  // namespace ingot::cpu
