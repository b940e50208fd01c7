// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/latent_attention.h - attention whose keys and values come from one latent of
// each token (multi-head latent attention): c and r are parts of one product of x, norm(c) gives
// what differs between heads, r is the end of the key of all of them, and it alone turns.
//
//   key of a head = [r, K norm(c)]; value = V norm(c); queries may have a latent too
//
// Matrices of heads go to the other side of attention (absorbed form, as llama.cpp has it): caches
// have one key [r, norm(c)] of a token for all heads, which is the value too.
//
//   q' = [q_r, K^T q_own] . [r, norm(c)] is the score of the key of a head; y = V (sum of norm(c))
//
// A cached token costs a head 2 * (turned + rank) multiply-adds in place of turned + own + value,
// and memory (turned + rank) numbers in place of heads * (turned + own + value): every layer has
// this form. What turns stands in front here, of queries as of keys: scores are the same.
#pragma once
#include "tools/import/decoder/recurrences.h"
#include "tools/import/decoder/rope.h"

namespace ingot::decoder {

class LatentAttention : protected Recurrences {
 public:
  using Recurrences::Recurrences;

 protected:
  /// [T, heads * (turned + own)], what turns of each head in front.
  ValueId queries(ValueId x, int64_t i) {
    const int64_t heads = n_.layers[size_t(i)].heads, rows = heads * n_.score_width(),
                  rank = l().query_rank;
    const Order order = turned_in_front(heads, n_.score_width());
    if (rank == 0) return linear(x, Role::kQ, i, rows, n_.width, kQkvBias, order);
    const ValueId c = of_latent(linear(x, Role::kQueryLatent, i, rank, n_.width, kQkvBias),
                                Role::kQueryLatentNorm, i, rank);
    return linear(c, Role::kQueriesOfLatent, i, rows, rank, kNoBias, order);
  }
  /// [T, turned + rank], what turns in front.
  ValueId latent_key(ValueId x, int64_t i) {
    const int64_t turned = l().turned, all = turned + l().rank;
    const ValueId both =
                      linear(x, Role::kLatent, i, all, n_.width, kQkvBias, turned_in_front(1, all)),
                  c = of_latent(cut(both, turned, all), Role::kLatentNorm, i, l().rank);
    return b_.emit(op::Concat, {cut(both, 0, turned), c}, {{attr::axis, int64_t(1)}});
  }
  /// Queries whose first elements have turned, as latent keys are compared with them:
  /// [T, heads * (turned + rank)].
  ValueId absorbed(ValueId q, const Matrix& keys) {
    const int64_t heads = heads_of(q, n_.score_width());
    const ValueId split = of_heads(q, heads, n_.score_width()),
                  own = times(cut(split, l().turned, n_.score_width()), keys, l().rank);
    return in_rows(
        b_.emit(op::Concat, {cut(split, 0, l().turned), own}, {{attr::axis, int64_t(2)}}),
        heads * n_.key_width);
  }
  /// [T, heads * value] of sums of latent keys [T, heads * (turned + rank)].
  ValueId values_of_heads(ValueId y, const Matrix& values) {
    const int64_t heads = heads_of(y, n_.key_width);
    const ValueId c = cut(of_heads(y, heads, n_.key_width), l().turned, n_.key_width);
    return in_rows(times(c, values, l().value), heads * l().value);
  }

 private:
  const LatentNumbers& l() const { return n_.latent; }
  int64_t heads_of(ValueId x, int64_t width) { return *b_.dims(x)[1].value() / width; }
  /// Of the last dimension.
  ValueId cut(ValueId x, int64_t begin, int64_t end) {
    return b_.slice(x, b_.rank(x) - 1, Dim(begin), Dim(end));
  }
  ValueId of_latent(ValueId x, Role role, int64_t i, int64_t rank) {
    return rms(x, weights_.vector(role, Part::kWeight, i, rank), l().epsilon);
  }
  /// x [T, heads, in] times the matrix of each head: [T, heads, out].
  ValueId times(ValueId x, const Matrix& matrix, int64_t out) {
    const Dims own = b_.dims(x);
    ValueId y = b_.transpose(x, {1, 0, 2});
    if (matrix.blocks) {
      const ValueId one = whole(DType::kI64, 1), count = b_.extent(own[0]),
                    numbers = b_.emit(op::Add, {b_.counting(own[1]), one}),
                    ends = b_.emit(op::Mul, {numbers, count});
      y = grouped(b_.reshape(y, {own[1] * own[0], own[2]}), kAbsent, ends, matrix);
      y = b_.reshape(y, {own[1], own[0], Dim(out)});
    } else {
      y = b_.emit(op::MatMul, {y, b_.transpose(matrix.id, {0, 2, 1})});
    }
    return b_.transpose(y, {1, 0, 2});
  }

  /// Rows of what turns from `begin` on, in the order of halves.
  void append_turned(Order* order, int64_t begin) const {
    for (int64_t c = 0; c < l().turned; c++) order->push_back(begin + c);
    if (n_.order != Rope::kNeighbors) return;
    const Order halves = halves_of_neighbors(begin, 1, l().turned, l().turned);
    std::copy(halves.begin(), halves.end(), order->end() - l().turned);
  }
  /// Rows of heads of `width`, the last of which turn.
  Order turned_in_front(int64_t heads, int64_t width) const {
    Order order = empty_order(heads * width);
    for (int64_t begin = 0; begin < heads * width; begin += width) {
      append_turned(&order, begin + width - l().turned);
      for (int64_t c = 0; c < width - l().turned; c++) order.push_back(begin + c);
    }
    return order;
  }
};

}  // namespace ingot::decoder
