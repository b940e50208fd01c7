// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/recurrent/linear_recurrence_columns.inl - columns of one head's matrix through all
// tokens. Contract: runtime/op/linear_recurrence.h. Device code as well.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/linear_recurrence.h"

namespace ingot::cpu {
namespace {
namespace tensors {

INGOT_INLINE const float* token_row(const linear_recurrence::TokenRows& x, int64_t token,
                                    int64_t column) {
  return x.data + token * x.stride + column;
}
INGOT_INLINE bool has_rows(const linear_recurrence::Plan& p, int64_t token) {
  const int64_t from = p.from[token], to = p.to[token], rows = p.shape.rows;
  return from >= -1 && from < rows && to >= 0 && to < rows;
}

/// One token and columns of one head, at their first column.
struct RecurrenceStep {
  const float *q, *k, *v;
  const float* before;  // S [keys, stride]
  float *after, *y;
  int64_t keys, stride;
  const float *decay, *beta;  // null: none
  bool has_decay_by_key;
  int64_t queries, q_step, y_step;
};

/// `vectors` of columns, or the first `columns` of one.
template <class V, int vectors, bool whole>
struct RecurrenceColumns {
  using F = typename V::F;
  static INGOT_INLINE F load(const float* p, int v, int64_t columns) {
    return whole ? V::load(p + v * V::kLanes) : V::load_partial(p, columns);
  }
  static INGOT_INLINE void store(float* p, int v, F x, int64_t columns) {
    if (whole)
      V::store(p + v * V::kLanes, x);
    else
      V::store_partial(p, x, columns);
  }
  /// `decay` becomes that of row i of the matrix.
  static INGOT_INLINE void begin(const RecurrenceStep& s, int64_t i, F* decay) {
    if (s.has_decay_by_key) *decay = V::splat(s.decay[i]);
  }
  static INGOT_INLINE F decayed(const RecurrenceStep& s, F decay, int64_t i, int v,
                                int64_t columns) {
    return V::mul(decay, load(s.before + i * s.stride, v, columns));
  }

  static INGOT_INLINE void run(const RecurrenceStep& s, int64_t columns) {
    F u[vectors], y[vectors];
    F decay = V::splat(s.decay && !s.has_decay_by_key ? *s.decay : 1.0f);
    INGOT_UNROLL for (int v = 0; v < vectors; v++) u[v] = load(s.v, v, columns);
    if (s.beta) {
      F known[vectors];
      INGOT_UNROLL for (int v = 0; v < vectors; v++) known[v] = V::zero();
      for (int64_t i = 0; i < s.keys; i++) {
        const F k = V::splat(s.k[i]);
        begin(s, i, &decay);
        INGOT_UNROLL for (int v = 0; v < vectors; v++) known[v] =
            V::fma(k, decayed(s, decay, i, v, columns), known[v]);
      }
      const F beta = V::splat(*s.beta);
      INGOT_UNROLL for (int v = 0; v < vectors; v++) u[v] = V::mul(beta, V::sub(u[v], known[v]));
    }
    INGOT_UNROLL for (int v = 0; v < vectors; v++) y[v] = V::zero();
    for (int64_t i = 0; i < s.keys; i++) {
      const F k = V::splat(s.k[i]), q = V::splat(s.q[i]);
      begin(s, i, &decay);
      INGOT_UNROLL for (int v = 0; v < vectors; v++) {
        const F state = V::fma(k, u[v], decayed(s, decay, i, v, columns));
        store(s.after + i * s.stride, v, state, columns);
        y[v] = V::fma(q, state, y[v]);
      }
    }
    INGOT_UNROLL for (int v = 0; v < vectors; v++) store(s.y, v, y[v], columns);
    for (int64_t n = 1; n < s.queries; n++) {
      INGOT_UNROLL for (int v = 0; v < vectors; v++) y[v] = V::zero();
      for (int64_t i = 0; i < s.keys; i++) {
        const F q = V::splat(s.q[n * s.q_step + i]);
        INGOT_UNROLL for (int v = 0; v < vectors; v++) y[v] =
            V::fma(q, load(s.after + i * s.stride, v, columns), y[v]);
      }
      INGOT_UNROLL for (int v = 0; v < vectors; v++) store(s.y + n * s.y_step, v, y[v], columns);
    }
  }
};

/// `from` null: zeros.
INGOT_INLINE void copy_columns(const float* from, float* to, int64_t rows, int64_t stride,
                               int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < columns; c++) to[i * stride + c] = from ? from[i * stride + c] : 0.0f;
}

/// Columns [first, first + columns) of head h, through all tokens.
template <class V, int vectors>
INGOT_FN void recur(const linear_recurrence::Plan& p, int64_t h, int64_t first, int64_t columns) {
  const linear_recurrence::Shape& shape = p.shape;
  const int64_t row = shape.heads * shape.keys * shape.values,
                own = h * shape.keys * shape.values + first;
  float* const after = p.after + own;
  if (p.states != p.after)
    for (int64_t r = 0; r < shape.rows; r++)
      copy_columns(p.states + own + r * row, after + r * row, shape.keys, shape.values, columns);
  RecurrenceStep s = {};
  s.keys = shape.keys, s.stride = shape.values, s.has_decay_by_key = shape.decay_by_key;
  s.queries = shape.y_heads / shape.heads, s.q_step = shape.keys, s.y_step = shape.values;
  const int64_t y_head = h * s.queries, q_head = y_head / (shape.y_heads / shape.query_heads),
                k_head = h / (shape.heads / shape.key_heads);
  for (int64_t t = 0; t < shape.tokens; t++) {
    s.y = p.y + t * p.y_stride + y_head * shape.values + first;
    if (!has_rows(p, t)) {
      copy_columns(nullptr, s.y, s.queries, s.y_step, columns);
      continue;
    }
    s.after = after + p.to[t] * row;
    if (p.from[t] < 0) copy_columns(nullptr, s.after, shape.keys, shape.values, columns);
    s.before = p.from[t] < 0 ? s.after : after + p.from[t] * row;
    s.q = token_row(p.q, t, q_head * shape.keys);
    s.k = token_row(p.k, t, k_head * shape.keys);
    s.v = token_row(p.v, t, h * shape.values + first);
    if (p.decay.data) s.decay = token_row(p.decay, t, h * (shape.decay_by_key ? shape.keys : 1));
    if (p.beta.data) s.beta = token_row(p.beta, t, shape.one_beta ? 0 : h);
    if (columns == vectors * V::kLanes)
      RecurrenceColumns<V, vectors, true>::run(s, columns);
    else
      RecurrenceColumns<V, 1, false>::run(s, columns);
  }
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
