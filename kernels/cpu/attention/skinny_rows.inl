// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/attention/skinny_rows.inl - products of few queries with keys and values as they lie
// in memory: to pack them takes longer than the products. A sum is one chain of fma, as in a tile
// of packed ones: the bits are the same.
#pragma once
#include "kernels/cpu/attention/pack.inl"

namespace ingot::cpu {
namespace {

constexpr int64_t kSkinnyRows = 4;
/// One lane gains nothing, and SSE2 alone is rare: both stay small.
template <class V>
#if defined(INGOT_SIMD_SSE2)
constexpr bool kReadsSkinny = false;
#else
constexpr bool kReadsSkinny = V::kLanes > 1;
#endif

/// Scores of R queries of `keys.dim` floats each, by G vectors of keys at once: as many chains of
/// fma as that are under way. Lanes past the last key are written too, up to a multiple of 16.
template <class V, int R, class T>
void score_rows(const StoredRows<V, T>& keys, int64_t count, const float* queries, float* scores,
                int64_t stride) {
  using F = typename V::F;
  constexpr int L = V::kLanes, G = L == kPanel ? 1 : R < 4 ? 2 : 1;
  static_assert(kPanel % (G * L) == 0);
  const int64_t dim = keys.dim;
  for (int64_t first = 0; first < count; first += G * L) {
    F sums[G][R];
    INGOT_UNROLL for (int g = 0; g < G; g++) INGOT_UNROLL for (int r = 0; r < R; r++) sums[g][r] =
        V::zero();
    for (int64_t d = 0; d < dim; d += L) {
      const int64_t left = min_of(dim - d, L);
      INGOT_UNROLL for (int g = 0; g < G; g++) {
        const auto add = [&](int64_t i, F column) __attribute__((always_inline)) {
          INGOT_UNROLL for (int r = 0; r < R; r++) sums[g][r] =
              V::fma(V::splat(queries[r * dim + d + i]), column, sums[g][r]);
        };
        const int64_t from = first + g * L;
        F columns[L];
        load_columns(keys, from, max_of(0, min_of(count - from, L)), d, left, columns);
        if (left == L) {
          INGOT_UNROLL for (int i = 0; i < L; i++) add(i, columns[i]);
        } else {
          for (int64_t i = 0; i < left; i++) add(i, columns[i]);
        }
      }
    }
    INGOT_UNROLL for (int g = 0; g < G; g++) INGOT_UNROLL for (int r = 0; r < R; r++)
        V::store(scores + r * stride + first + g * L, sums[g][r]);
  }
}

/// Sums of `left` columns from d on, in C vectors, of values by the weights of R rows.
template <class V, int R, int C, class T>
INGOT_INLINE void weigh_columns(const StoredRows<V, T>& values, int64_t count, const float* weights,
                                int64_t weights_stride, int64_t d, int64_t left, float* out,
                                int64_t stride) {
  using F = typename V::F;
  constexpr int L = V::kLanes;
  F sums[R][C];
  INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int c = 0; c < C; c++) sums[r][c] =
      V::zero();
  for (int64_t i = 0; i < count; i++) {
    F factors[R];
    INGOT_UNROLL for (int r = 0; r < R; r++) factors[r] = V::splat(weights[r * weights_stride + i]);
    INGOT_UNROLL for (int c = 0; c < C; c++) {
      if ((d + c * L) % kPanel == 0) values.fetch(i + kRowsAhead, d + c * L);
      const F v = left == C * L ? values.load(i, d + c * L) : values.load_partial(i, d, left);
      INGOT_UNROLL for (int r = 0; r < R; r++) sums[r][c] = V::fma(factors[r], v, sums[r][c]);
    }
  }
  INGOT_UNROLL for (int r = 0; r < R; r++) INGOT_UNROLL for (int c = 0; c < C; c++)
      V::store_partial(out + r * stride + d + c * L, sums[r][c], min_of(left - c * L, L));
}

/// out[r] = the values' sums by weights[r], for R rows.
template <class V, int R, class T>
void weigh_rows(const StoredRows<V, T>& values, int64_t count, const float* weights,
                int64_t weights_stride, float* out, int64_t stride) {
  constexpr int L = V::kLanes, C = R < 4 ? 4 : 2;  // sums fit 16 registers
  int64_t d = 0;
  for (; d + C * L <= values.dim; d += C * L)
    weigh_columns<V, R, C>(values, count, weights, weights_stride, d, C * L, out, stride);
  for (; d < values.dim; d += L)
    weigh_columns<V, R, 1>(values, count, weights, weights_stride, d, min_of(values.dim - d, L),
                           out, stride);
}

/// Both of R rows, by R - 1.
template <class V, class T>
struct SkinnyRows {
  using Score = void (*)(const StoredRows<V, T>& keys, int64_t count, const float* queries,
                         float* scores, int64_t stride);
  using Weigh = void (*)(const StoredRows<V, T>& values, int64_t count, const float* weights,
                         int64_t weights_stride, float* out, int64_t stride);
  static constexpr Score kScore[kSkinnyRows] = {score_rows<V, 1, T>, score_rows<V, 2, T>,
                                                score_rows<V, 3, T>, score_rows<V, 4, T>};
  static constexpr Weigh kWeigh[kSkinnyRows] = {weigh_rows<V, 1, T>, weigh_rows<V, 2, T>,
                                                weigh_rows<V, 3, T>, weigh_rows<V, 4, T>};
};

}  // namespace
}  // namespace ingot::cpu
