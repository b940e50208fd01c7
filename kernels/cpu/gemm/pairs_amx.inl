// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/pairs_amx.inl - products of bf16 by AMX: two tiles of rows times two panels.
#pragma once
#include "kernels/cpu/gemm/pairs_gemm.inl"
#include "kernels/cpu/simd/amx.h"

namespace ingot::cpu {
namespace {

template <int sums, int a, int b>
INGOT_INLINE void multiply_tiles() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(b) : "memory");
}

constexpr int kLinesAhead = 8;  // fetched with each step; what two tiles of 49 rows need is 16

template <int tiles, int panels>
void amx_tiles(const PairTile& t) {
  constexpr bool kTwo = tiles == 2, kBoth = panels == 2;
  constexpr int64_t kLine = kPairStep * sizeof(uint16_t);
  load_tile<0>(t.bias, 0);
  if constexpr (kBoth) load_tile<1>(t.bias + kPanel, 0);
  if constexpr (kTwo) load_tile<2>(t.bias, 0);
  if constexpr (kTwo && kBoth) load_tile<3>(t.bias + kPanel, 0);
  const uint16_t *a = t.a[0], *second = t.a[1], *b = t.b;
  const int64_t step = t.rows[0] * kPairStep, second_step = t.rows[1] * kPairStep;
  const char* ahead = t.ahead;
  for (int64_t i = t.steps; i > 0; i--) {
    INGOT_UNROLL
    for (int l = 0; l < kLinesAhead; l++) _mm_prefetch(ahead + 64 * l, _MM_HINT_T1);
    ahead += t.ahead_bytes;
    load_tile<4>(a, kLine), load_tile<6>(b, kLine), multiply_tiles<0, 4, 6>();
    if constexpr (kBoth) load_tile<7>(b + t.panel_elements, kLine), multiply_tiles<1, 4, 7>();
    if constexpr (kTwo) load_tile<5>(second, kLine), multiply_tiles<2, 5, 6>();
    if constexpr (kTwo && kBoth) multiply_tiles<3, 5, 7>();
    a += step, second += second_step, b += kPairStep * kPanel;
  }
  const int64_t stride = t.stride * int64_t{sizeof(float)};
  float* const second_to = t.to + t.rows[0] * t.stride;
  store_tile<0>(t.to, stride);
  if constexpr (kBoth) store_tile<1>(t.to + kPanel, stride);
  if constexpr (kTwo) store_tile<2>(second_to, stride);
  if constexpr (kTwo && kBoth) store_tile<3>(second_to + kPanel, stride);
}

class AmxFormat : public PairFormat {
 public:
  static bool may_run() { return may_use_tiles(); }

  INGOT_INLINE void multiply(const PairTile& t) {
    tiles_.shape(t.rows[0], t.rows[1], kAmxBytes);
    if (t.rows[1])
      t.panels == 2 ? amx_tiles<2, 2>(t) : amx_tiles<2, 1>(t);
    else
      t.panels == 2 ? amx_tiles<1, 2>(t) : amx_tiles<1, 1>(t);
  }

 private:
  AmxTiles tiles_;
};

}  // namespace
}  // namespace ingot::cpu
