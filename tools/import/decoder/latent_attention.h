// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/latent_attention.h - attention whose keys and values come from one latent of
// each token (multi-head latent attention): c and r are parts of one product of x, norm(c) gives
// what differs between heads, r is the end of the key of all of them, and it alone turns.
//
//   key of a head = [r, keys_h norm(c)]; value = values_h norm(c); queries may have a latent too
//
// What turns stands in front here, of queries as of keys: scores are the same. Caches have keys and
// values of each head.
#pragma once
#include "tools/import/decoder/recurrences.h"
#include "tools/import/decoder/rope.h"

namespace ingot::decoder {

class LatentAttention : protected Recurrences {
 public:
  using Recurrences::Recurrences;

 protected:
  struct Latent {
    ValueId q;       // [T, heads * key width], what turns of each head in front
    ValueId k, v;    // [T, heads * what does not turn], [T, heads * value width]
    ValueId turned;  // [T, what turns], of the key of all heads
  };
  Latent latent(ValueId x, int64_t i) {
    const int64_t rank = l().rank, heads = n_.layers[size_t(i)].heads, k = heads * own_width(),
                  v = heads * n_.value_width;
    const ValueId both =
        linear(x, Role::kLatent, i, rank + l().turned, n_.width, kQkvBias, latent_rows());
    const ValueId c = of_latent(cut(both, 0, rank), Role::kLatentNorm, i, rank);
    Latent made = {queries(x, i, heads), kAbsent, kAbsent, cut(both, rank, l().turned)};
    if (weights_.has(Role::kKeysOfLatent, Part::kWeight, i)) {
      made.k = linear(c, Role::kKeysOfLatent, i, k, rank, kNoBias);
      made.v = linear(c, Role::kValuesOfLatent, i, v, rank, kNoBias);
    } else {
      const ValueId all =
          linear(c, Role::kKeysValuesOfLatent, i, k + v, rank, kNoBias, keys_in_front(heads));
      made.k = cut(all, 0, k), made.v = cut(all, k, v);
    }
    return made;
  }
  /// [T, heads * key width] of what turned and what differs between heads.
  ValueId keys_of_heads(ValueId turned, ValueId k, int64_t heads) {
    const Dim tokens = b_.dims(k)[0];
    const ValueId front = b_.expand(b_.reshape(turned, {tokens, Dim(1), Dim(l().turned)}),
                                    {tokens, Dim(heads), Dim(l().turned)}),
                  own = b_.reshape(k, {tokens, Dim(heads), Dim(own_width())});
    return b_.reshape(b_.emit(op::Concat, {front, own}, {{attr::axis, int64_t(2)}}),
                      {tokens, Dim(heads * n_.key_width)});
  }

 private:
  const LatentNumbers& l() const { return n_.latent; }
  int64_t own_width() const { return n_.key_width - l().turned; }
  ValueId cut(ValueId x, int64_t begin, int64_t count) {
    return b_.slice(x, 1, Dim(begin), Dim(begin + count));
  }
  ValueId of_latent(ValueId x, Role role, int64_t i, int64_t rank) {
    return b_.emit(op::RMSNormalization, {x, weights_.vector(role, Part::kWeight, i, rank)},
                   {{attr::axis, int64_t(-1)}, {attr::epsilon, l().epsilon}});
  }
  ValueId queries(ValueId x, int64_t i, int64_t heads) {
    const int64_t rows = heads * n_.key_width, rank = l().query_rank;
    const Order order = query_rows(heads);
    if (rank == 0) return linear(x, Role::kQ, i, rows, n_.width, kQkvBias, order);
    const ValueId c = of_latent(linear(x, Role::kQueryLatent, i, rank, n_.width, kQkvBias),
                                Role::kQueryLatentNorm, i, rank);
    return linear(c, Role::kQueriesOfLatent, i, rows, rank, kNoBias, order);
  }

  /// Rows of what turns from `begin` on, in the order of halves.
  void append_turned(Order* order, int64_t begin) const {
    for (int64_t c = 0; c < l().turned; c++) order->push_back(begin + c);
    if (n_.order != Rope::kNeighbors) return;
    const Order halves = halves_of_neighbors(begin, 1, l().turned, l().turned);
    std::copy(halves.begin(), halves.end(), order->end() - l().turned);
  }
  Order latent_rows() const {
    Order order = empty_order(l().rank + l().turned);
    for (int64_t c = 0; c < l().rank; c++) order.push_back(c);
    append_turned(&order, l().rank);
    return order;
  }
  Order query_rows(int64_t heads) const {
    Order order = empty_order(heads * n_.key_width);
    for (int64_t begin = 0; begin < heads * n_.key_width; begin += n_.key_width) {
      append_turned(&order, begin + own_width());
      for (int64_t c = 0; c < own_width(); c++) order.push_back(begin + c);
    }
    return order;
  }
  /// Rows of keys, which lie in front of those of the value of each head, in front of all values.
  Order keys_in_front(int64_t heads) const {
    const int64_t row = own_width() + n_.value_width;
    Order order = empty_order(heads * row);
    for (const bool is_key : {true, false})
      for (int64_t head = 0; head < heads; head++)
        for (int64_t c = is_key ? 0 : own_width(); c < (is_key ? own_width() : row); c++)
          order.push_back(head * row + c);
    return order;
  }
};

}  // namespace ingot::decoder
