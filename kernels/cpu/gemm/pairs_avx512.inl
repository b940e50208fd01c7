// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/gemm/pairs_avx512.inl - products of bf16 by the dot products of AVX512-BF16: up to
// eight rows times two panels in registers. Two products are added to a sum at a time, k upward.
#pragma once
#include "kernels/cpu/gemm/pairs_gemm.inl"

namespace ingot::cpu {
namespace {

/// Rows of a tile whose steps lie `step` elements apart.
template <int n, int panels>
void bf16_dots(const PairTile& t, const uint16_t* a, int64_t step, float* to) {
  __m512 acc[n][panels];
  INGOT_UNROLL for (int i = 0; i < n; i++) INGOT_UNROLL for (int p = 0; p < panels; p++) acc[i][p] =
      V::load(t.bias + p * kPanel);
  const uint16_t* b = t.b;
  for (int64_t s = 0; s < t.steps; s++, a += step)
    for (int64_t k = 0; k < kPairStep; k += 2, b += 2 * kPanel) {
      __m512i column[panels];
      INGOT_UNROLL for (int p = 0; p < panels; p++) column[p] =
          _mm512_loadu_si512(b + p * t.panel_elements);
      INGOT_UNROLL for (int i = 0; i < n; i++) {
        int32_t pair;
        std::memcpy(&pair, a + i * kPairStep + k, sizeof pair);
        const __m512i both = _mm512_set1_epi32(pair);
        INGOT_UNROLL for (int p = 0; p < panels; p++) acc[i][p] =
            _mm512_dpbf16_ps(acc[i][p], (__m512bh)both, (__m512bh)column[p]);
      }
    }
  INGOT_UNROLL for (int i = 0; i < n; i++) INGOT_UNROLL for (int p = 0; p < panels; p++)
      V::store(to + i * t.stride + p * kPanel, acc[i][p]);
}

struct Bf16Format : PairFormat {
  void multiply(const PairTile& t) const {
    using Dots = void (*)(const PairTile&, const uint16_t*, int64_t, float*);
    static constexpr Dots kDots[2][8] = {
        {bf16_dots<1, 1>, bf16_dots<2, 1>, bf16_dots<3, 1>, bf16_dots<4, 1>, bf16_dots<5, 1>,
         bf16_dots<6, 1>, bf16_dots<7, 1>, bf16_dots<8, 1>},
        {bf16_dots<1, 2>, bf16_dots<2, 2>, bf16_dots<3, 2>, bf16_dots<4, 2>, bf16_dots<5, 2>,
         bf16_dots<6, 2>, bf16_dots<7, 2>, bf16_dots<8, 2>}};
    float* to = t.to;
    for (int h = 0; h < 2; h++)
      for (int64_t i = 0; i < t.rows[h];) {  // one half, then the other
        const int64_t n = i > 0 ? t.rows[h] - i : (t.rows[h] + 1) / 2;
        kDots[t.panels - 1][n - 1](t, t.a[h] + i * kPairStep, t.rows[h] * kPairStep, to);
        i += n, to += n * t.stride;
      }
  }
};

}  // namespace
}  // namespace ingot::cpu
