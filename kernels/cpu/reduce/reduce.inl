// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/reduce/reduce.inl - Reduce. Contract and order: runtime/op/reduce.h.
//   last dimension kept     columns fill the lanes of a vector, one chain each down the reduced
//   dimensions
//   last dimension reduced  16 virtual lanes along it, kept through the outer reduced dimensions,
//   then the tree
//   short rows reduced      the same order with neighbouring rows in the lanes of a vector: joining
//   a lane that no element
//                           reached changes nothing
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "kernels/cpu/elementwise/convert.inl"
#include "kernels/cpu/reduce/folds.inl"
#include "kernels/cpu/reduce/lanes.inl"
#include "runtime/op/reduce.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// The dimensions but the last, sorted: outputs run over `kept`, each sums over `reduced`. Strides
/// in elements of x.
struct ReducePlan {
  Move kept, reduced;
  int64_t outputs = 1, positions = 1;  // products of the two
  int64_t length = 1;                  // of the last dimension
  bool last_reduced = false;
  // Between rows of at most kShortRow elements that are outputs of their own; 0: no such rows.
  int64_t short_stride = 0;
};
constexpr int kShortRow = 8;

inline ReducePlan make_reduce_plan(const TensorView& x, uint32_t axes) {
  ReducePlan p;
  for (int i = 0; i + 1 < x.rank; i++) {
    const bool reduced = axes >> i & 1;
    (reduced ? p.reduced : p.kept).push(x.dims[i], stride_of(x, i), stride_of(x, i));
    (reduced ? p.positions : p.outputs) *= x.dims[i];
  }
  p.length = x.row_length();
  p.last_reduced = x.rank > 0 && (axes >> (x.rank - 1) & 1);
  merge_move(&p.kept);
  merge_move(&p.reduced);
  const bool is_short =
      p.last_reduced && p.positions == 1 && p.length >= 1 && p.length <= kShortRow;
  if (is_short && p.kept.rank == 1) p.short_stride = p.kept.from[0];
  return p;
}

inline int64_t kept_offset(const Move& m, int64_t n) {
  int64_t at = 0;
  for (int i = m.rank - 1; i >= 0; i--) {
    at += n % m.dims[i] * m.from[i];
    n /= m.dims[i];
  }
  return at;
}

/// fn(offset) for every reduced position in row-major order. @pre positions > 0.
template <class Fn>
INGOT_INLINE void for_each_position(const Move& m, Fn fn) {
  const int last = m.rank - 1;
  int64_t index[kMoveRank] = {}, base = 0;
  for (;;) {
    for (int64_t i = 0; i < m.dims[last]; i++) fn(base + i * m.from[last]);
    int d = last - 1;
    for (; d >= 0; d--) {
      base += m.from[d];
      if (++index[d] < m.dims[d]) break;
      base -= m.from[d] * m.dims[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

/// NV vectors of neighbouring outputs, the last of `count` lanes. shift: a value for each, or null.
template <class V, class Fold, int NV>
INGOT_INLINE void fold_columns(const ReducePlan& p, const float* x, float* out, const float* shift,
                               int64_t count) {
  using F = typename V::F;
  F acc[NV], shifts[NV];
  const auto part = [&](const float* from, int k) {
    return k + 1 < NV || count == V::kLanes ? V::load(from) : V::load_partial(from, count);
  };
  for (int k = 0; k < NV; k++)
    acc[k] = V::splat(Fold::kStart), shifts[k] = shift ? part(shift + k * V::kLanes, k) : V::zero();
  for_each_position(
      p.reduced, [&](int64_t at) __attribute__((always_inline)) {
        for (int k = 0; k < NV; k++)
          acc[k] = Fold::step(acc[k], part(x + at + k * V::kLanes, k), shifts[k]);
      });
  for (int k = 0; k + 1 < NV; k++) V::store(out + k * V::kLanes, acc[k]);
  V::store_partial(out + (NV - 1) * V::kLanes, acc[NV - 1], count);
}

/// `n` outputs, each of a short row.
template <class V, class Fold>
void fold_short_rows(const ReducePlan& p, const float* x, int64_t n, float* out,
                     const float* shift) {
  using F = typename V::F;
  int half = 1;
  while (half < p.length) half *= 2;
  for (int64_t row = 0; row < n; row += V::kLanes, x += V::kLanes * p.short_stride) {
    const int64_t count = least_of(V::kLanes, n - row);
    const F s = shift ? V::load_partial(shift + row, count) : V::zero();
    F lanes[kShortRow];
    for (int e = 0; e < half; e++) {
      lanes[e] = V::splat(Fold::kStart);
      if (e >= p.length) continue;
      float column[V::kLanes] = {};
      for (int64_t r = 0; r < count; r++) column[r] = x[r * p.short_stride + e];
      lanes[e] = Fold::step(lanes[e], V::load(column), s);
    }
    for (int h = half / 2; h > 0; h /= 2)
      for (int i = 0; i < h; i++) lanes[i] = Fold::join_lanes(lanes[i], lanes[i + h]);
    V::store_partial(out + row, lanes[0], count);
  }
}

/// `n` neighbouring outputs from x.
template <class V, class Fold>
void fold_outputs(const ReducePlan& p, const float* x, int64_t n, float* out, const float* shift) {
  if (p.short_stride != 0) return fold_short_rows<V, Fold>(p, x, n, out, shift);
  if (p.last_reduced) {
    float lanes[kPanel];
    for (float& lane : lanes) lane = Fold::kStart;
    const typename V::F s = V::splat(shift ? *shift : 0);
    for_each_position(p.reduced, [&](int64_t at) {
      fold_row<V>(lanes, x + at, p.length,
                  [&](typename V::F a, typename V::F b) { return Fold::step(a, b, s); });
    });
    *out = fold_tree(lanes, Fold::join);
    return;
  }
  constexpr int kWide = V::kLanes == 1 ? 16 : 4;
  int64_t j = 0;
  const auto shifted = [&](int64_t at) { return shift ? shift + at : nullptr; };
  for (; j + kWide * V::kLanes <= n; j += kWide * V::kLanes)
    fold_columns<V, Fold, kWide>(p, x + j, out + j, shifted(j), V::kLanes);
  for (; j < n; j += V::kLanes)
    fold_columns<V, Fold, 1>(p, x + j, out + j, shifted(j), least_of(V::kLanes, n - j));
}

constexpr int kReduceColumns = 64;  // outputs worked on at a time

template <class V>
void reduce_outputs(ReduceKind kind, const ReducePlan& p, const float* x, int64_t n, float* out) {
  const float count = float(p.positions * (p.last_reduced ? p.length : 1));
  const auto each = [&](auto fn) {
    for (int64_t i = 0; i < n; i += V::kLanes) {
      const int64_t part = least_of(V::kLanes, n - i);
      V::store_partial(out + i, fn(V::load_partial(out + i, part)), part);
    }
  };
  using F = typename V::F;
  switch (kind) {
    case ReduceKind::kMean:
      fold_outputs<V, FoldSum<V>>(p, x, n, out, nullptr);
      return each([&](F v) { return V::div(v, V::splat(count)); });
    case ReduceKind::kMax: return fold_outputs<V, FoldMax<V>>(p, x, n, out, nullptr);
    case ReduceKind::kMin: return fold_outputs<V, FoldMin<V>>(p, x, n, out, nullptr);
    case ReduceKind::kProd: return fold_outputs<V, FoldProd<V>>(p, x, n, out, nullptr);
    case ReduceKind::kL1: return fold_outputs<V, FoldL1<V>>(p, x, n, out, nullptr);
    case ReduceKind::kSumSquare: return fold_outputs<V, FoldSquare<V>>(p, x, n, out, nullptr);
    case ReduceKind::kL2:
      fold_outputs<V, FoldSquare<V>>(p, x, n, out, nullptr);
      return each([](F v) { return V::sqrt(v); });
    case ReduceKind::kLogSum:
      fold_outputs<V, FoldSum<V>>(p, x, n, out, nullptr);
      return each([](F v) { return Math<V>::log(v); });
    case ReduceKind::kLogSumExp: {
      float top[kReduceColumns];
      fold_outputs<V, FoldMax<V>>(p, x, n, top, nullptr);
      for (int64_t i = 0; i < n; i++)
        // exp(inf), exp(-inf) and NaN go their own way
        if (!(__builtin_fabsf(top[i]) < __builtin_inff())) top[i] = 0;
      fold_outputs<V, FoldExp<V>>(p, x, n, out, top);
      each([](F v) { return Math<V>::log(v); });
      for (int64_t i = 0; i < n; i++) out[i] += top[i];
      return;
    }
    case ReduceKind::kSum: return fold_outputs<V, FoldSum<V>>(p, x, n, out, nullptr);
  }
}

template <class V>
void reduce_f32(const ReducePlan& p, const OpArguments& a, const Team& team) {
  const ReduceKind kind = a.as<ReduceAttributes>().kind;
  const float* x = a.inputs[0].as<const float>();
  float* y = a.outputs[0].as<float>();
  if (p.short_stride != 0) {
    const Part mine =
        part_of(team, p.outputs, kReduceColumns, most_of(kReduceColumns, 8192 / p.length));
    for (int64_t i = mine.begin; i < mine.end; i += kReduceColumns)
      reduce_outputs<V>(kind, p, x + i * p.short_stride, least_of(kReduceColumns, mine.end - i),
                        y + i);
    return;
  }
  const int64_t columns = p.last_reduced ? 1 : p.length,
                pieces = (columns + kReduceColumns - 1) / kReduceColumns;
  const int64_t work =
      most_of(1, p.positions * (p.last_reduced ? p.length : least_of(columns, kReduceColumns)));
  const Part mine = part_of(team, p.outputs * pieces, 1, most_of(1, 8192 / work));
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const int64_t output = i / pieces, column = i % pieces * kReduceColumns,
                  n = least_of(kReduceColumns, columns - column);
    reduce_outputs<V>(kind, p, x + kept_offset(p.kept, output) + column, n,
                      y + output * columns + column);
  }
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
