// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/attention/pack.inl - keys and values of one block as panels of 16, whatever lies
// between their rows: parts of rows of a cache, which processors' own prefetchers do not follow.
// Rows are floats or f16, which is widened.
#pragma once
#include "kernels/cpu/gemm/tile.inl"

namespace ingot::cpu {
namespace {

constexpr int64_t kRowsAhead = 32;  // fetched while a row is packed

template <class V>
INGOT_INLINE typename V::F load_row(const float* p) {
  return V::load(p);
}
template <class V>
INGOT_INLINE typename V::F load_row(const uint16_t* p) {
  return V::load_f16(p);
}
template <class V>
INGOT_INLINE typename V::F load_row_partial(const float* p, int64_t n) {
  return V::load_partial(p, n);
}
template <class V>
INGOT_INLINE typename V::F load_row_partial(const uint16_t* p, int64_t n) {
  uint16_t all[V::kLanes] = {};
  for (int64_t i = 0; i < n; i++) all[i] = p[i];
  return V::load_f16(all);
}

/// Rows of `dim` elements, `stride` apart -> [ceil(count / 16)][dim][16]; lanes past the last row
/// are zero.
template <class V, class T>
void pack_keys(const T* rows, int64_t stride, int64_t count, int64_t dim, float* panels) {
  using F = typename V::F;
  constexpr int L = V::kLanes;
  for (int64_t first = 0; first < count; first += L) {
    float* to = panels + first / kPanel * dim * kPanel + first % kPanel;
    const int64_t n = min_of(count - first, L);
    for (int64_t d = 0; d < dim; d += L) {
      const int64_t left = min_of(dim - d, L);
      F square[L];
      if (n == L && left == L) {
        INGOT_UNROLL for (int i = 0; i < L; i++) {
          const T* const from = rows + (first + i) * stride + d;
          square[i] = load_row<V>(from);
          if (d % kPanel == 0) V::prefetch(from + kRowsAhead * stride);
        }
        V::transpose(square);
        INGOT_UNROLL for (int i = 0; i < L; i++) V::store(to + (d + i) * kPanel, square[i]);
        continue;
      }
      for (int i = 0; i < L; i++)
        square[i] = i < n ? load_row_partial<V>(rows + (first + i) * stride + d, left) : V::zero();
      V::transpose(square);
      for (int64_t i = 0; i < left; i++) V::store(to + (d + i) * kPanel, square[i]);
    }
  }
  // vectors without a row
  for (int64_t first = round_up(count, L); first < round_up(count, kPanel); first += L)
    for (int64_t d = 0; d < dim; d++)
      V::store(panels + first / kPanel * dim * kPanel + first % kPanel + d * kPanel, V::zero());
}

/// Rows of `dim` elements, `stride` apart -> [ceil(dim / 16)][block][16]; lanes past the last
/// column are zero.
template <class V, class T>
void pack_values(const T* rows, int64_t stride, int64_t count, int64_t dim, int64_t block,
                 float* panels) {
  constexpr int kVecs = kPanel / V::kLanes;
  constexpr int64_t kTogether = 4 * kPanel;  // whose stores do not crowd a set of the cache
  for (int64_t begin = 0; begin < dim; begin += kTogether)
    for (int64_t i = 0; i < count; i++)
      for (int64_t c = begin; c < min_of(dim, begin + kTogether); c += kPanel) {
        const T* const from = rows + i * stride + c;
        float* const to = panels + c * block + i * kPanel;
        const int64_t left = dim - c;
        V::prefetch(from + kRowsAhead * stride);
        INGOT_UNROLL for (int j = 0; j < kVecs; j++)
            V::store(to + j * V::kLanes,
                     left >= kPanel
                         ? load_row<V>(from + j * V::kLanes)
                         : load_row_partial<V>(from + j * V::kLanes,
                                               max_of(0, min_of(left - j * V::kLanes, V::kLanes))));
      }
}

}  // namespace
}  // namespace ingot::cpu
