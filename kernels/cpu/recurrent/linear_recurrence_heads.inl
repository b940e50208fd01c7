// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/recurrent/linear_recurrence_heads.inl - heads whose matrices have one column, and all
// of them one key and one query (Mamba): a vector has keys of a head where the matrix changes, and
// heads in the chain of y. The bits are those of linear_recurrence_columns.inl.
#pragma once
#include "kernels/cpu/recurrent/linear_recurrence_columns.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class V>
INGOT_INLINE bool has_columns_of_one(const linear_recurrence::Plan& p) {
  const linear_recurrence::Shape& shape = p.shape;
  return shape.values == 1 && shape.key_heads == 1 && shape.query_heads == 1 &&
         shape.decay_by_key && !p.beta.data && shape.keys % V::kLanes == 0;
}

/// kLanes heads through all tokens. @pre has_columns_of_one()
template <class V>
INGOT_FN void recur_heads(const linear_recurrence::Plan& p, int64_t first) {
  using F = typename V::F;
  constexpr int kHeads = V::kLanes;
  const int64_t keys = p.shape.keys, row = p.shape.heads * keys, own = first * keys;
  float* const after = p.after + own;
  if (p.states != p.after)
    for (int64_t r = 0; r < p.shape.rows; r++)
      copy_columns(p.states + own + r * row, after + r * row, 1, 0, kHeads * keys);
  for (int64_t t = 0; t < p.shape.tokens; t++) {
    F y = V::zero();
    if (has_rows(p, t)) {
      float* const to = after + p.to[t] * row;
      const float* const from = p.from[t] < 0 ? nullptr : after + p.from[t] * row;
      const float *const q = token_row(p.q, t, 0), *const k = token_row(p.k, t, 0),
                         *const u = token_row(p.v, t, first),
                         *const decay = token_row(p.decay, t, own);
      for (int64_t i = 0; i < keys; i += V::kLanes) {
        const F key = V::load(k + i);
        F square[V::kLanes];
        INGOT_UNROLL for (int h = 0; h < kHeads; h++) {
          const int64_t at = h * keys + i;
          const F before = from ? V::load(from + at) : V::zero();
          square[h] = V::fma(key, V::splat(u[h]), V::mul(V::load(decay + at), before));
          V::store(to + at, square[h]);
        }
        V::transpose(square);
        INGOT_UNROLL for (int j = 0; j < V::kLanes; j++) y =
            V::fma(V::splat(q[i + j]), square[j], y);
      }
    }
    V::store(p.y + t * p.y_stride + first, y);
  }
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
