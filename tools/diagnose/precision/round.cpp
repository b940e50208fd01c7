// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/precision/round.h"

#include <bit>
#include <cstdint>

#include "tools/files/half.h"

namespace ingot::precision {
namespace {

constexpr float kTf32Nudge = 1.00035226f;      // 1 + 0.7213 / 2^11, as device code has it
constexpr uint32_t kDropped = (1u << 13) - 1;  // of 23 bits; tf32 keeps 10

float near_tf32(float x) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x * kTf32Nudge) & ~kDropped);
}

float rounded(Format format, float x) {
  switch (format) {
    case Format::kTf32: return near_tf32(x);
    case Format::kF16: return host::widen_f16(host::narrow_f16(x));
    case Format::kBf16: return host::widen_bf16(host::narrow_bf16(x));
  }
  return x;
}

}  // namespace

void round_to(Format format, float* numbers, size_t count) {
  for (size_t i = 0; i < count; i++) numbers[i] = rounded(format, numbers[i]);
}

}  // namespace ingot::precision
