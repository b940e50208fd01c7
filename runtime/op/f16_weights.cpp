// SPDX-License-Identifier: Apache-2.0
// runtime/op/f16_weights.cpp - rounds and interleaves, from front to back.
#include "runtime/op/f16_weights.h"

#include <cstring>

#include "runtime/base/checked_math.h"
#include "runtime/op/conv2d.h"

namespace ingot {
namespace {

constexpr size_t kColumns = 16, kRowBytes = kColumns * 4;

/// To nearest, ties to even; NaN stays one.
uint32_t round_f16(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  // Below 2^-14 the sum with 0.5, whose last place is 2^-24, rounds.
  float small;
  std::memcpy(&small, &rest, sizeof small);
  small += 0.5f;
  uint32_t subnormal;
  std::memcpy(&subnormal, &small, sizeof subnormal);
  const uint32_t normal = (rest + 0xfffu + (rest >> 13 & 1) - (112u << 23)) >> 13;
  const uint32_t finite = rest < 0x38800000u   ? subnormal - 0x3f000000u
                          : rest < 0x477ff000u ? normal
                                               : 0x7c00u;
  return sign | (rest > 0x7f800000u ? 0x7e00u : finite);
}

}  // namespace

bool takes_f16_weights(OpCode op, const void* attributes, uint32_t operand, Packing weights,
                       Packing bias) {
  if (weights != Packing::kPanels16 || bias != Packing::kVector16) return false;
  switch (op) {
    case OpCode::kLinear: return operand == 1;
    case OpCode::kConv2d:
      return operand == 1 &&
             static_cast<const Conv2dAttributes*>(attributes)->method == ConvMethod::kDirect;
    case OpCode::kChain: {
      const ChainAttributes& t = *static_cast<const ChainAttributes*>(attributes);
      const uint32_t stage = operand / 2;  // x, then (w, bias) of each
      return operand % 2 == 1 && stage < t.stage_count &&
             t.stages[stage].method == ConvMethod::kDirect;
    }
    default: return false;
  }
}

uint64_t f16_weight_bytes(const int64_t* dims, int rank) {
  int64_t k = 1, bytes;
  for (int i = 1; i < rank; i++)
    if (!checked_mul(k, dims[i], &k)) return 0;
  if (!checked_mul(ceil_div(k, 2), ceil_div(dims[0], kPanel), &bytes) ||
      !checked_mul(bytes, int64_t(kRowBytes), &bytes))
    return 0;
  return uint64_t(bytes);
}

void make_f16_weights(const uint8_t* from, size_t rows, uint8_t* to) {
  for (size_t r = 0; r < rows; r += 2, to += kRowBytes) {
    uint32_t words[2][kColumns] = {};
    std::memcpy(words, from + r * kRowBytes, rows - r > 1 ? 2 * kRowBytes : kRowBytes);
    uint32_t pairs[kColumns];
    for (size_t i = 0; i < kColumns; i++)
      pairs[i] = round_f16(words[0][i]) | round_f16(words[1][i]) << 16;
    std::memcpy(to, pairs, kRowBytes);
  }
}

}  // namespace ingot
