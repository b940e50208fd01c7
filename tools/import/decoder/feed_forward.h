// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/feed_forward.h - the part of a layer behind attention: dense, or a mixture
// of experts, each of which multiplies the rows of the tokens that chose it. Gemma 4 has both:
//   y = norm(dense(norm(x))) + norm(experts(norm(x))), with norms of their own; the router reads
//   norm(x) / sqrt(width)
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "tools/import/decoder/parts.h"

namespace ingot::decoder {

class FeedForwardParts : protected Parts {
 public:
  using Parts::Parts;

 protected:
  ValueId feed_forward(ValueId x, int64_t i) {
    // A layer without a router is dense. If no layer has one, the last names what is missing.
    const LayerNumbers& at = n_.layers[size_t(i)];
    const bool has_router = at.has_experts || weights_.has(Role::kRouter, Part::kWeight, i);
    any_router_ |= has_router;
    const bool is_last = i + 1 == int64_t(n_.layers.size());
    if (n_.experts.count && !row_.has_experts_beside &&
        (has_router || (is_last && !any_router_ && !row_.has_one_part)))
      return experts(x, x, i);
    const int64_t hidden = at.hidden;
    ValueId y;
    if (row_.feed_forward == FeedForward::kPlain) {
      y = plain(x, Role::kUp, i, hidden);
    } else if (row_.feed_forward == FeedForward::kGatedInOne) {
      const ValueId both = linear(x, Role::kUp, i, 2 * hidden, n_.width, kFeedForwardBias);
      y = b_.emit(op::Mul, {activated(b_.slice(both, 1, Dim(0), Dim(hidden)), i),
                            b_.slice(both, 1, Dim(hidden), Dim(2 * hidden))});
    } else {
      y = gated(x, Role::kGate, Role::kUp, i, hidden);
    }
    y = inner_norm(y, Role::kFeedForwardInnerNorm, i, hidden);
    return scaled(linear(y, Role::kDown, i, n_.width, hidden, kFeedForwardBias), n_.scales.down);
  }
  /// `y`, what the dense part gives, with what experts give beside it. `x`: what neither normed.
  ValueId with_experts_beside(ValueId y, ValueId x, int64_t i) {
    if (!row_.has_experts_beside || !n_.experts.count) return y;
    const ValueId read =
        scaled(norm(x, Role::kRouterScale, i, n_.width), 1 / std::sqrt(double(n_.width)));
    const ValueId own = experts(norm(x, Role::kExpertsNorm, i, n_.width), read, i);
    return b_.emit(op::Add, {norm(y, Role::kDenseOutNorm, i, n_.width),
                             norm(own, Role::kExpertsOutNorm, i, n_.width)});
  }
  ValueId taken(ValueId x, ValueId rows) {
    return b_.emit(op::Gather, {x, rows}, {{attr::axis, int64_t(0)}});
  }
  /// `rows` of x, or all in their order, times the matrices of their groups.
  ValueId grouped(ValueId x, ValueId rows, ValueId ends, const Matrix& matrix) {
    if (matrix.blocks) x = quantized(x, *matrix.blocks);
    if (rows != kAbsent) x = taken(x, rows);
    return b_.emit(op::GroupedLinear, {x, matrix.id, ends},
                   matrix.blocks ? typed(*matrix.blocks) : graph::Attributes());
  }

 private:
  bool has_gates() const { return row_.feed_forward != FeedForward::kPlain; }
  ValueId plain(ValueId x, Role up, int64_t i, int64_t hidden) {
    return activated(linear(x, up, i, hidden, n_.width, kFeedForwardBias), i);
  }
  /// Where the rows of x go: pairs of a token and an expert, those of the first expert first.
  struct Routing {
    ValueId rows = kAbsent, ends = kAbsent;  // token of each pair; where each expert's pairs end
    ValueId owners = kAbsent;                // expert of each pair
    ValueId back = kAbsent;                  // place of each pair, tokens in their order
    ValueId shares = kAbsent;                // [T, 1, used]
  };
  /// The `count` first of a sort along the last dimension, and where they were.
  std::vector<ValueId> first_of(ValueId x, const Dim& count, bool largest) {
    return b_.emit_many(op::TopK, {x},
                        {{attr::k, Dims{count}},
                         {attr::axis, b_.rank(x) - 1},
                         {attr::largest, int64_t(largest)},
                         {attr::sorted, int64_t(1)}},
                        2);
  }
  ValueId scattered(ValueId into, ValueId places, ValueId values, const char* reduction) {
    return b_.emit(op::ScatterElements, {into, places, values},
                   {{attr::axis, int64_t(0)}, {attr::reduction, std::string(reduction)}});
  }
  /// Scores [T, experts]; those of experts that are in none of the best groups are below all.
  ValueId of_best_groups(ValueId scores) {
    constexpr double kBelowAll = -1e38;
    const ExpertNumbers& e = n_.experts;
    const Dim tokens = b_.dims(scores)[0];
    const ValueId split = b_.reshape(scores, {tokens, Dim(e.groups), Dim(e.count / e.groups)}),
                  best = first_of(split, Dim(e.kind == Experts::kSigmoid ? 2 : 1), true)[0],
                  groups = first_of(b_.reduce(op::ReduceSum, best, {2}, false), Dim(e.used_groups),
                                    true)[1],
                  none = b_.expand(net_.scalar(kBelowAll), {tokens, Dim(e.groups)}),
                  zero = b_.expand(net_.scalar(0), {tokens, Dim(e.used_groups)}),
                  least =
                      b_.emit(op::ScatterElements, {none, groups, zero},
                              {{attr::axis, int64_t(1)}, {attr::reduction, std::string("none")}});
    const ValueId column = b_.reshape(least, {tokens, Dim(e.groups), Dim(1)});
    return b_.reshape(b_.emit(op::Add, {split, column}), {tokens, Dim(e.count)});
  }
  Routing routing(ValueId x, int64_t i) {
    const ExpertNumbers& e = n_.experts;
    const Dim tokens = b_.dims(x)[0], pairs = tokens * Dim(e.used);
    const auto softmax = [&](ValueId of) {
      return b_.emit(op::Softmax, {of}, {{attr::axis, int64_t(-1)}});
    };
    const bool of_chosen = e.kind == Experts::kOfChosen, of_sigmoid = e.kind == Experts::kSigmoid;
    const ValueId logits = linear(x, Role::kRouter, i, e.count, n_.width, kExpertBias);
    const ValueId scores = of_sigmoid  ? b_.emit(op::Sigmoid, {logits})
                           : of_chosen ? logits
                                       : softmax(logits);
    const bool may_add = of_sigmoid || e.kind == Experts::kNormalized;
    const ValueId added =
        may_add ? weights_.bias(Role::kExpertChoice, i, e.count, e.has_choice_bias) : kAbsent;
    const ValueId choice = added == kAbsent ? scores : b_.emit(op::Add, {scores, added});
    const std::vector<ValueId> chosen =
        first_of(e.used_groups < e.groups ? of_best_groups(choice) : choice, Dim(e.used), true);
    ValueId shares = of_chosen ? softmax(chosen[0]) : chosen[0];
    if (added != kAbsent)
      shares = b_.emit(op::GatherElements, {scores, chosen[1]}, {{attr::axis, int64_t(1)}});
    if (e.is_normalized) {
      ValueId sum = b_.reduce(op::ReduceSum, shares, {1}, true);
      if (of_sigmoid) sum = b_.emit(op::Add, {sum, net_.scalar(e.added_sum)});
      shares = b_.emit(op::Div, {shares, sum});
    }
    if (row_.has_experts_beside)
      shares = b_.emit(
          op::Mul, {shares, taken(weights_.vector(Role::kExpertScale, Part::kWeight, i, e.count),
                                  chosen[1])});
    const ValueId owner = b_.reshape(chosen[1], {pairs});
    const std::vector<ValueId> sorted = first_of(owner, pairs, false);
    const ValueId order = sorted[1];
    const ValueId none = b_.expand(whole(DType::kI64, 0), {Dim(e.count)}),
                  one = b_.expand(whole(DType::kI64, 1), {pairs}), all = b_.counting(pairs);
    return {
        b_.emit(op::Div, {order, whole(DType::kI64, e.used)}),
        b_.emit(
            op::CumSum, {scattered(none, owner, one, "add")},
            {{attr::axis, int64_t(0)}, {attr::exclusive, int64_t(0)}, {attr::reverse, int64_t(0)}}),
        sorted[0], scattered(all, order, all, "none"),
        b_.reshape(scaled(shares, e.scale), {tokens, Dim(1), Dim(e.used)})};
  }
  /// `read`: by the router.
  ValueId experts(ValueId x, ValueId read, int64_t i) {
    const ExpertNumbers& e = n_.experts;
    const Dim tokens = b_.dims(x)[0];
    const Routing r = routing(read, i);
    const auto product = [&](ValueId of, ValueId rows, Role role, int64_t out, int64_t in) {
      const ValueId y = grouped(of, rows, r.ends, weights_.experts(role, i, e.count, out, in));
      if (!(row_.biases & kExpertBias) && !weights_.has(role, Part::kBias, i)) return y;
      const ValueId biases = weights_.table(role, Part::kBias, i, e.count, out);
      return b_.emit(op::Add, {y, taken(biases, r.owners)});
    };
    const int64_t width = e.latent ? e.latent : n_.width;
    const ValueId in = e.latent ? linear(x, Role::kExpertsIn, i, width, n_.width, kNoBias) : x;
    const auto part = [&](Role role) { return product(in, r.rows, role, e.hidden, width); };
    const ValueId open = has_gates()
                             ? opened(activated(part(Role::kExpertGate), i), part(Role::kExpertUp))
                             : activated(part(Role::kExpertUp), i);
    const ValueId down = product(open, kAbsent, Role::kExpertDown, width, e.hidden),
                  parts = b_.reshape(taken(down, r.back), {tokens, Dim(e.used), Dim(width)});
    ValueId y = b_.reshape(b_.emit(op::MatMul, {r.shares, parts}), {tokens, Dim(width)});
    if (e.latent) y = linear(y, Role::kExpertsOut, i, n_.width, width, kNoBias);
    return e.shared_hidden ? b_.emit(op::Add, {y, shared_expert(x, i)}) : y;
  }
  ValueId shared_expert(ValueId x, int64_t i) {
    const int64_t hidden = n_.experts.shared_hidden;
    const ValueId open = has_gates() ? gated(x, Role::kSharedGate, Role::kSharedUp, i, hidden)
                                     : plain(x, Role::kSharedUp, i, hidden);
    const ValueId y = linear(open, Role::kSharedDown, i, n_.width, hidden, kNoBias);
    if (!weights_.has(Role::kSharedRouter, Part::kWeight, i)) return y;
    const ValueId row = b_.reshape(weights_.vector(Role::kSharedRouter, Part::kWeight, i, n_.width),
                                   {Dim(1), Dim(n_.width)});
    return b_.emit(op::Mul, {y, b_.emit(op::Sigmoid, {product(x, {row, std::nullopt}, kAbsent)})});
  }

  bool any_router_ = false;
};

}  // namespace ingot::decoder
