// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/reduce/lanes.inl - sums (or maxima, ...) in 16 virtual lanes and the fixed tree 8, 4,
// 2, 1: element i of a row goes to lane i % 16, whatever the instruction set.
#pragma once
#include "kernels/cpu/simd/share.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

/// lanes[i % 16] = fn(lanes[i % 16], x[i]) for i ascending.
template <class V, class Fn>
INGOT_INLINE void fold_row(float (&lanes)[kPanel], const float* x, int64_t n, Fn fn) {
  constexpr int kVecs = kPanel / V::kLanes;
  int64_t i = 0;
  if (n >= kPanel) {
    typename V::F acc[kVecs];
    INGOT_UNROLL for (int k = 0; k < kVecs; k++) acc[k] = V::load(lanes + k * V::kLanes);
    for (; i + kPanel <= n; i += kPanel)
      INGOT_UNROLL for (int k = 0; k < kVecs; k++) acc[k] =
          fn(acc[k], V::load(x + i + k * V::kLanes));
    INGOT_UNROLL for (int k = 0; k < kVecs; k++) V::store(lanes + k * V::kLanes, acc[k]);
  }
  for (int k = 0; i + k * V::kLanes < n; k++) {  // lanes beyond the tail keep their value
    const int64_t left = n - i - k * V::kLanes;
    const int64_t count = left < V::kLanes ? left : V::kLanes;
    float* own = lanes + k * V::kLanes;
    V::store_partial(own, fn(V::load(own), V::load_partial(x + i + k * V::kLanes, count)), count);
  }
}

template <class Fn>
INGOT_INLINE float fold_tree(float (&lanes)[kPanel], Fn fn) {
  for (int half = kPanel / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lanes[i] = fn(lanes[i], lanes[i + half]);
  return lanes[0];
}
INGOT_INLINE float sum_tree(float (&lanes)[kPanel]) {
  return fold_tree(lanes, [](float a, float b) { return a + b; });
}

/// out[r] = the tree 8, 4, 2, 1 over lanes[r][16], for rows up to a multiple of 16; `out` has room
/// for that.
template <class V, class Fn>
INGOT_INLINE void fold_rows(const float* lanes, int64_t rows, float* out, Fn fn) {
  using F = typename V::F;
  constexpr int L = V::kLanes, kVecs = kPanel / L;
  for (int64_t r = 0; r < rows; r += L) {
    F square[L];
    INGOT_UNROLL for (int i = 0; i < L; i++) {
      const float* row = lanes + least_of(r + i, rows - 1) * kPanel;
      F v[kVecs];
      INGOT_UNROLL for (int j = 0; j < kVecs; j++) v[j] = V::load(row + j * L);
      INGOT_UNROLL for (int half = kVecs / 2; half > 0; half /= 2)
          INGOT_UNROLL for (int j = 0; j < half; j++) v[j] = fn(v[j], v[j + half]);
      square[i] = v[0];
    }
    V::transpose(square);
    INGOT_UNROLL for (int half = L / 2; half > 0; half /= 2)
        INGOT_UNROLL for (int j = 0; j < half; j++) square[j] = fn(square[j], square[j + half]);
    V::store(out + r, square[0]);
  }
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
