#include "tools/diagnose/precision/round.h"

#include <cstdint>
#include <cstring>

namespace ingot::precision {
namespace {

constexpr float kTf32Nudge = 1.00035226f;      // 1 + 0.7213 / 2^11, as device code has it
constexpr uint32_t kDropped = (1u << 13) - 1;  // of 23 bits; f16 and tf32 keep 10

uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

float near_tf32(float x) { return float_of(bits_of(x * kTf32Nudge) & ~kDropped); }

float near_f16(float x) {
  const uint32_t bits = bits_of(x), sign = bits & 0x80000000u, rest = bits ^ sign;
  const uint32_t normal = (rest + (kDropped >> 1) + (rest >> 13 & 1)) & ~kDropped;
  // Below 2^-14 the last place is 2^-24, that of 0.5 in f32.
  const uint32_t small = bits_of((float_of(rest) + 0.5f) - 0.5f);
  uint32_t near = rest < 0x38800000u ? small : normal;
  near = rest >= 0x477ff000u ? 0x7f800000u : near;
  near = rest > 0x7f800000u ? rest : near;
  return float_of(near | sign);
}

}  // namespace

void round_to(Format format, float* numbers, size_t count) {
  if (format == Format::kTf32)
    for (size_t i = 0; i < count; i++) numbers[i] = near_tf32(numbers[i]);
  else
    for (size_t i = 0; i < count; i++) numbers[i] = near_f16(numbers[i]);
}

}  // namespace ingot::precision
