// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/dot_scalar.inl - struct Dot of dot.inl for one lane.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/inline.h"

namespace ingot::cpu {
namespace {

struct Dot {
  static constexpr int kRows = 1, kPanels = 1, kTall = 1, kWide = 1, kChunks = 16;
  static constexpr int kGroups = 1;
  static constexpr bool kWidens = false, kSigned = false;
  static constexpr int64_t kShortWindow = 0;
  static constexpr bool kPacksFour = false, kFinishesBytes = false;
  struct A {
    int32_t sums[16];
  };
  using W = const int8_t*;
  using X = const uint8_t*;
  static INGOT_INLINE A start(const int32_t* bias) {
    A a;
    std::memcpy(a.sums, bias, sizeof a.sums);
    return a;
  }
  static INGOT_INLINE void finish(const A& a, const int32_t*, int32_t (&out)[16]) {
    std::memcpy(out, a.sums, sizeof out);
  }
  static INGOT_INLINE W weights(const int8_t* p) { return p; }
  static INGOT_INLINE X bytes(const uint8_t* p) { return p; }
  static INGOT_INLINE void dot(A& a, X x, W w) {
    for (int o = 0; o < 16; o++) {
      const int32_t four =
          x[0] * w[4 * o] + x[1] * w[4 * o + 1] + x[2] * w[4 * o + 2] + x[3] * w[4 * o + 3];
      a.sums[o] = int32_t(uint32_t(a.sums[o]) + uint32_t(four));
    }
  }
  static INGOT_INLINE void dot_pair(int32_t (&sums)[16], const uint8_t* a, const uint8_t* b,
                                    const int16_t* pair) {
    for (int i = 0; i < 16; i++)
      sums[i] = int32_t(uint32_t(sums[i]) + uint32_t(a[i] * pair[2 * i] + b[i] * pair[2 * i + 1]));
  }
  static INGOT_INLINE void store(uint8_t* p, const int32_t (&v)[16], int64_t n) {
    for (int i = 0; i < 16 && i < n; i++) p[i] = uint8_t(v[i]);
  }
};

}  // namespace
}  // namespace ingot::cpu
