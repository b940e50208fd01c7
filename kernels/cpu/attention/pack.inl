// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/attention/pack.inl - keys and values of one block as panels of 16, whatever lies
// between their rows: parts of rows of a cache, which processors' own prefetchers do not follow.
// Rows are floats, f16, which is widened, or codes of 8 bits with scales.
#pragma once
#include <cstring>

#include "kernels/cpu/gemm/tile.inl"
#include "runtime/op/attention_blocks.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kRowsAhead = 32;  // fetched while a row is packed

/// Rows of floats or f16, `stride` elements apart.
template <class V, class T>
struct StoredRows {
  using F = typename V::F;
  const T* data;
  int64_t stride, dim;
  INGOT_INLINE void fetch(int64_t row, int64_t d) const { V::prefetch(data + row * stride + d); }
  INGOT_INLINE F load(int64_t row, int64_t d) const { return load(data + row * stride + d); }
  INGOT_INLINE F load_partial(int64_t row, int64_t d, int64_t n) const {
    return load_partial(data + row * stride + d, n);
  }

 private:
  static INGOT_INLINE F load(const float* p) { return V::load(p); }
  static INGOT_INLINE F load(const uint16_t* p) { return V::load_f16(p); }
  static INGOT_INLINE F load_partial(const float* p, int64_t n) { return V::load_partial(p, n); }
  static INGOT_INLINE F load_partial(const uint16_t* p, int64_t n) {
    uint16_t all[V::kLanes] = {};
    for (int64_t i = 0; i < n; i++) all[i] = p[i];
    return V::load_f16(all);
  }
};
/// Of codes with scales, `stride` bytes apart. dim is a multiple of 32: a vector is whole or begins
/// where the row ends.
template <class V>
struct StoredRows<V, uint8_t> {
  using F = typename V::F;
  static_assert(attention::kScaledUnit % V::kLanes == 0, "a vector has one scale");
  const uint8_t* data;
  int64_t stride, dim;
  INGOT_INLINE void fetch(int64_t row, int64_t d) const { V::prefetch(data + row * stride + d); }
  INGOT_INLINE F load(int64_t row, int64_t d) const {
    const uint8_t* const p = data + row * stride;
    float scale;
    std::memcpy(&scale, p + dim + d / attention::kScaledUnit * 4, 4);
    return V::mul(V::load_i8(reinterpret_cast<const int8_t*>(p) + d), V::splat(scale));
  }
  INGOT_INLINE F load_partial(int64_t row, int64_t d, int64_t n) const {
    return n > 0 ? load(row, d) : V::zero();
  }
};

/// Columns [d, d + left) of `n` rows from `first` on, a lane for each row; other lanes are zero.
template <class V, class T>
INGOT_INLINE void load_columns(const StoredRows<V, T>& rows, int64_t first, int64_t n, int64_t d,
                               int64_t left, typename V::F (&columns)[V::kLanes]) {
  constexpr int L = V::kLanes;
  if (n == L && left == L) {
    INGOT_UNROLL for (int i = 0; i < L; i++) {
      columns[i] = rows.load(first + i, d);
      if (d % kPanel == 0) rows.fetch(first + i + kRowsAhead, d);
    }
  } else {
    for (int i = 0; i < L; i++)
      columns[i] = i < n ? rows.load_partial(first + i, d, left) : V::zero();
  }
  V::transpose(columns);
}

/// Rows -> [ceil(count / 16)][dim][16]; lanes past the last row are zero.
template <class V, class T>
void pack_keys(StoredRows<V, T> rows, int64_t count, float* panels) {
  constexpr int L = V::kLanes;
  const int64_t dim = rows.dim;
  for (int64_t first = 0; first < count; first += L) {
    float* to = panels + first / kPanel * dim * kPanel + first % kPanel;
    for (int64_t d = 0; d < dim; d += L) {
      const int64_t left = min_of(dim - d, L);
      typename V::F columns[L];
      load_columns(rows, first, min_of(count - first, L), d, left, columns);
      if (left == L) {
        INGOT_UNROLL for (int i = 0; i < L; i++) V::store(to + (d + i) * kPanel, columns[i]);
      } else {
        for (int64_t i = 0; i < left; i++) V::store(to + (d + i) * kPanel, columns[i]);
      }
    }
  }
  // vectors without a row
  for (int64_t first = round_up(count, L); first < round_up(count, kPanel); first += L)
    for (int64_t d = 0; d < dim; d++)
      V::store(panels + first / kPanel * dim * kPanel + first % kPanel + d * kPanel, V::zero());
}

/// Rows -> [ceil(dim / 16)][block][16]; lanes past the last column are zero.
template <class V, class T>
void pack_values(StoredRows<V, T> rows, int64_t count, int64_t block, float* panels) {
  const int64_t dim = rows.dim;
  constexpr int kVecs = kPanel / V::kLanes;
  constexpr int64_t kTogether = 4 * kPanel;  // whose stores do not crowd a set of the cache
  for (int64_t begin = 0; begin < dim; begin += kTogether)
    for (int64_t i = 0; i < count; i++)
      for (int64_t c = begin; c < min_of(dim, begin + kTogether); c += kPanel) {
        float* const to = panels + c * block + i * kPanel;
        const int64_t left = dim - c;
        rows.fetch(i + kRowsAhead, c);
        INGOT_UNROLL for (int j = 0; j < kVecs; j++) V::store(
            to + j * V::kLanes,
            left >= kPanel ? rows.load(i, c + j * V::kLanes)
                           : rows.load_partial(i, c + j * V::kLanes,
                                               max_of(0, min_of(left - j * V::kLanes, V::kLanes))));
      }
}

}  // namespace
}  // namespace ingot::cpu
