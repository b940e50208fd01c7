// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/streams.h - tokens that have several rows x[0], x[1], .., of which a layer
// reads the active one, x[a], and predicts and corrects all (AltUp, arXiv:2301.13310); beside its
// attention is a product of low rank (LAuReL, arXiv:2411.07501). As Gemma 3n has them:
//
//   h(r) = tanh(R norm(r) / width)
//   p[j] = x[j] + sum of P[j, k] x[k], where h(x[a]) gives P
//   z = norm(p[a]), s = (p[a] + norm(attention(z)) + z + norm(B A z)) / sqrt(2)
//   y = s + norm(feed_forward(norm(s)))
//   c[j] = p[j] + (1 + C h(y))[j] (y - p[a])
//   x[0] = c[0], x[j] = c[j] + d, where layer_inputs.h gives d of c[a] times a vector
//
// In front of the layers x[j] is a product of the embedding x[0], behind them the answer is the
// mean of x[0] and of a product of each x[j]; products have the root mean square of x[0].
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "tools/import/decoder/layer_inputs.h"

namespace ingot::decoder {

class Streams : protected LayerInputs {
 public:
  using LayerInputs::LayerInputs;

 protected:
  /// [T, streams, width] of the embedding [T, width]; as it is where there is one stream.
  ValueId in_streams(ValueId x) {
    if (count() == 0) return x;
    const ValueId size = b_.emit(op::Sqrt, {mean_square(x)});
    std::vector<ValueId> all = {as_stream(x)};
    for (int64_t j = 1; j < count(); j++)
      all.push_back(as_stream(of_size(square(x, Role::kStreamIn, j), size)));
    return b_.emit(op::Concat, std::move(all), {{attr::axis, int64_t(1)}});
  }
  /// The inverse.
  ValueId out_of_streams(ValueId x) {
    if (count() == 0) return x;
    ValueId sum = stream(x, 0);
    const ValueId size = b_.emit(op::Sqrt, {mean_square(sum)});
    for (int64_t j = 1; j < count(); j++)
      sum = b_.emit(op::Add, {sum, of_size(square(stream(x, j), Role::kStreamOut, j), size)});
    return scaled(sum, 1 / double(count()));
  }
  /// x [T, streams, width] behind layer i. `attention(z)`: of tokens that go on; `wanted(rows)`:
  /// theirs.
  template <class Attention, class Wanted>
  ValueId streamed_layer(ValueId x, int64_t i, const Attention& attention, const Wanted& wanted) {
    const ValueId all = predicted(x, i), active = stream(all, n_.streams.active),
                  z = norm(active, Role::kAttentionNorm, i, n_.width),
                  a = norm(attention(z), Role::kAttentionOutNorm, i, n_.width);
    choose_layer_inputs(wanted);
    const ValueId p = wanted(active), sum = b_.emit(op::Add, {p, a}),
                  s = scaled(b_.emit(op::Add, {sum, low_rank(wanted(z), i)}), std::sqrt(0.5));
    begin("feed_forward", "layer." + std::to_string(i) + ".feed_forward");
    const ValueId f = feed_forward(norm(s, Role::kFeedForwardNorm, i, n_.width), i),
                  y = b_.emit(op::Add, {s, norm(f, Role::kFeedForwardOutNorm, i, n_.width)}),
                  c = corrected(wanted(all), y, b_.emit(op::Sub, {y, p}), i),
                  d = of_layer_input(scaled_active(stream(c, n_.streams.active), i), i),
                  rest = b_.emit(op::Add, {b_.slice(c, 1, Dim(1), Dim(count())), as_stream(d)});
    return b_.emit(op::Concat, {b_.slice(c, 1, Dim(0), Dim(1)), rest}, {{attr::axis, int64_t(1)}});
  }

 private:
  int64_t count() const { return n_.streams.count; }
  ValueId as_stream(ValueId x) { return b_.reshape(x, {b_.dims(x)[0], Dim(1), Dim(n_.width)}); }
  ValueId stream(ValueId x, int64_t j) {
    return b_.reshape(b_.slice(x, 1, Dim(j), Dim(j + 1)), {b_.dims(x)[0], Dim(n_.width)});
  }
  ValueId square(ValueId x, Role role, int64_t j) {
    return linear(x, role, j - 1, n_.width, n_.width, kNoBias);
  }
  /// x with that root mean square.
  ValueId of_size(ValueId x, ValueId size) {
    constexpr double kLeast = 1e-5;  // mean square
    const ValueId own = b_.emit(op::Max, {mean_square(x), net_.scalar(kLeast)});
    return b_.emit(op::Div, {b_.emit(op::Mul, {x, size}), b_.emit(op::Sqrt, {own})});
  }
  /// h [T, streams]
  ValueId routed(ValueId x, int64_t i) {
    const ValueId in = scaled(norm(x, Role::kStreamRouterNorm, i, n_.width), 1 / double(n_.width));
    return b_.emit(op::Tanh, {linear(in, Role::kStreamRouter, i, count(), n_.width, kNoBias)});
  }
  ValueId predicted(ValueId x, int64_t i) {
    const int64_t all = count() * count();
    const ValueId h = routed(stream(x, n_.streams.active), i),
                  shares = b_.reshape(linear(h, Role::kPredictions, i, all, count(), kNoBias),
                                      {b_.dims(x)[0], Dim(count()), Dim(count())});
    return b_.emit(op::Add, {x, b_.emit(op::MatMul, {shares, x})});
  }
  ValueId corrected(ValueId x, ValueId y, ValueId change, int64_t i) {
    const ValueId shares = b_.emit(op::Add, {linear(routed(y, i), Role::kCorrections, i, count(),
                                                    count(), kNoBias),
                                             net_.scalar(1)}),
                  column = b_.reshape(shares, {b_.dims(x)[0], Dim(count()), Dim(1)});
    return b_.emit(op::Add, {x, b_.emit(op::Mul, {column, as_stream(change)})});
  }
  ValueId scaled_active(ValueId x, int64_t i) {
    if (n_.streams.scales_active)
      return b_.emit(op::Mul, {x, weights_.vector(Role::kActiveScale, Part::kWeight, i, n_.width)});
    weights_.pass_over(Role::kActiveScale, i);
    return x;
  }
  ValueId low_rank(ValueId z, int64_t i) {
    const int64_t rank = n_.streams.rank;
    const ValueId in = linear(z, Role::kLowRankIn, i, rank, n_.width, kNoBias),
                  y = linear(in, Role::kLowRankOut, i, n_.width, rank, kNoBias);
    return b_.emit(op::Add, {z, norm(y, Role::kLowRankNorm, i, n_.width)});
  }
};

}  // namespace ingot::decoder
