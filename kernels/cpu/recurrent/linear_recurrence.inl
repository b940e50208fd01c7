// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/recurrent/linear_recurrence.inl - contract: runtime/op/linear_recurrence.h. A member
// takes columns of a head's matrix through all tokens, so that they stay in the nearest cache.
#pragma once
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/linear_recurrence.h"

namespace ingot::cpu {
namespace {
namespace tensors {

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

inline void copy_columns(const float* from, float* to, int64_t rows, int64_t stride,
                         int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t c = 0; c < columns; c++) to[i * stride + c] = from ? from[i * stride + c] : 0.0f;
}

/// Columns [first, first + columns) of head h, through all tokens.
template <class V, int vectors>
void recur(const OpArguments& a, const linear_recurrence::Shape& shape, int64_t h, int64_t first,
           int64_t columns) {
  using namespace linear_recurrence;
  const TensorView &q = a.inputs[kQuery], &k = a.inputs[kKey], &v = a.inputs[kValue],
                   &states = a.inputs[kStates], &y = a.outputs[1];
  const TensorView *const decay = a.optional(kDecay), *const beta = a.optional(kBeta);
  const int64_t* const from = a.inputs[kFrom].as<const int64_t>();
  const int64_t* const to = a.inputs[kTo].as<const int64_t>();
  const int64_t row = states.row_length(), own = h * shape.keys * shape.values + first;
  const float* const given = states.as<const float>() + own;
  float* const kept = a.outputs[0].as<float>() + own;
  if (given != kept)
    for (int64_t r = 0; r < shape.rows; r++)
      copy_columns(given + r * row, kept + r * row, shape.keys, shape.values, columns);
  RecurrenceStep s = {};
  s.keys = shape.keys, s.stride = shape.values;
  s.queries = shape.y_heads / shape.heads, s.q_step = shape.keys, s.y_step = shape.values;
  s.has_decay_by_key = shape.decay_by_key;
  const int64_t y_head = h * s.queries, q_head = y_head / (shape.y_heads / shape.query_heads),
                k_head = h / (shape.heads / shape.key_heads);
  for (int64_t t = 0; t < shape.tokens; t++) {
    s.y = y.as<float>() + t * y.row_stride + y_head * shape.values + first;
    if (from[t] < -1 || from[t] >= shape.rows || to[t] < 0 || to[t] >= shape.rows) {
      copy_columns(nullptr, s.y, s.queries, s.y_step, columns);
      continue;
    }
    s.after = kept + to[t] * row;
    if (from[t] < 0) copy_columns(nullptr, s.after, shape.keys, shape.values, columns);
    s.before = from[t] < 0 ? s.after : kept + from[t] * row;
    s.q = q.as<const float>() + t * q.row_stride + q_head * shape.keys;
    s.k = k.as<const float>() + t * k.row_stride + k_head * shape.keys;
    s.v = v.as<const float>() + t * v.row_stride + h * shape.values + first;
    if (decay)
      s.decay = decay->as<const float>() + t * decay->row_stride +
                h * (shape.decay_by_key ? shape.keys : 1);
    if (beta) s.beta = beta->as<const float>() + t * beta->row_stride + (shape.one_beta ? 0 : h);
    if (columns == vectors * V::kLanes)
      RecurrenceColumns<V, vectors, true>::run(s, columns);
    else
      RecurrenceColumns<V, 1, false>::run(s, columns);
  }
}

template <class V>
Status linear_recurrence(const OpArguments& a, const Team& team) {
  using namespace ingot::linear_recurrence;
  constexpr int kVectors = 4, kColumns = kVectors * V::kLanes;
  const Shape shape = shape_of(a);
  const int64_t* const from = a.inputs[kFrom].as<const int64_t>();
  const int64_t* const to = a.inputs[kTo].as<const int64_t>();
  bool good = true;
  for (int64_t t = 0; t < shape.tokens; t++)
    good = good && from[t] >= -1 && from[t] < shape.rows && to[t] >= 0 && to[t] < shape.rows;
  const int64_t pieces = (shape.values + kColumns - 1) / kColumns;
  const int64_t products = shape.tokens * shape.keys * kColumns;
  const Part mine = part_of(team, shape.heads * pieces, 1, most_of(1, 16384 / (products + 1)));
  for (int64_t at = mine.begin; at < mine.end; at++) {
    const int64_t h = at / pieces, first = at % pieces * kColumns,
                  end = least_of(first + kColumns, shape.values);
    if (end - first == kColumns) {
      recur<V, kVectors>(a, shape, h, first, kColumns);
      continue;
    }
    for (int64_t c = first; c < end; c += V::kLanes)
      recur<V, 1>(a, shape, h, c, least_of(V::kLanes, end - c));
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
