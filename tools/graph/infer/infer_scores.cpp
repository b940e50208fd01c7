// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_scores.cpp - attention as products, masks and a softmax.
#include <cmath>
#include <limits>

#include "tools/graph/infer/infer_attention.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;
constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Which keys a query sees, and what is added to its scores for it.
class ScoreMask {
 public:
  ScoreMask(NodeContext& s, const ScoreRules& rules, const Dim& queries, const Dim& keys)
      : context(s), rules_(rules), queries_(queries), keys_(keys) {}

  /// Absent where nothing is added.
  ValueId run() {
    ValueId bias = added();
    const ValueId seen = visible();
    if (seen == kAbsent) return bias;
    const ValueId hidden = context.make(op::Where, {seen, number(0), number(kNever)});
    return bias == kAbsent ? hidden : context.make(op::Add, {bias, hidden});
  }

 private:
  ValueId number(double x) { return context.scalar(DType::kF32, x); }
  ValueId added() {
    if (rules_.mask == kAbsent) return kAbsent;
    const Value given = context.run().value(rules_.mask);
    const ValueId bias = given.dtype == DType::kBool
                             ? context.make(op::Where, {rules_.mask, number(0), number(kNever)})
                             : context.cast(rules_.mask, DType::kF32);
    if (given.dims.empty()) return bias;
    const Dim missing = keys_ - given.dims.back();
    if (given.dims.back() == Dim(1) || missing == Dim(0) || !missing.is_static()) return bias;
    Dims pads(given.dims.size() * 2, Dim(0));
    pads.back() = missing;  // keys that the mask is too short for are not seen
    return context.make(
        op::Pad, {bias},
        {{attr::pads, pads}, {attr::mode, std::string("constant")}, {attr::value, kNever}});
  }
  ValueId visible() {
    const bool windowed = rules_.causal || rules_.left >= 0 || rules_.right >= 0;
    if (!windowed && rules_.lengths == kAbsent) return kAbsent;
    const ValueId key = context.reshape(context.counting(keys_), {Dim(1), keys_});
    ValueId seen = kAbsent;
    const auto also = [&](ValueId condition) {
      seen = seen == kAbsent ? condition : context.make(op::And, {seen, condition});
    };
    ValueId lengths = kAbsent;
    if (rules_.lengths != kAbsent) {
      const Dims dims = context.run().value(rules_.lengths).dims;
      lengths = context.reshape(context.cast(rules_.lengths, DType::kI64),
                                {product(dims), Dim(1), Dim(1), Dim(1)});
      also(context.make(op::Less, {key, lengths}));
    }
    if (!windowed) return seen;
    const ValueId first = lengths == kAbsent
                              ? context.extent(rules_.past)
                              : context.make(op::Sub, {lengths, context.extent(queries_)});
    const ValueId at = context.make(
        op::Add, {context.reshape(context.counting(queries_), {queries_, Dim(1)}), first});
    const ValueId ahead = context.make(op::Sub, {key, at});
    const auto limit = [&](int64_t n) { return context.scalar(DType::kI64, double(n)); };
    if (rules_.causal) also(context.make(op::LessOrEqual, {ahead, limit(0)}));
    if (rules_.right >= 0) also(context.make(op::LessOrEqual, {ahead, limit(rules_.right)}));
    if (rules_.left >= 0) also(context.make(op::GreaterOrEqual, {ahead, limit(-rules_.left)}));
    return seen;
  }

  NodeContext& context;
  const ScoreRules& rules_;
  const Dim queries_, keys_;
};

}  // namespace

ValueId shared_heads(NodeContext& context, ValueId k, const Dim& heads) {
  const Dims dims = context.run().value(k).dims;
  if (dims[1] == heads) return k;
  const Dim group = heads / dims[1];
  const ValueId apart = context.reshape(k, {dims[0], dims[1], Dim(1), dims[2], dims[3]});
  const ValueId each = context.expand(apart, {dims[0], dims[1], group, dims[2], dims[3]});
  return context.reshape(each, {dims[0], heads, dims[2], dims[3]});
}

Scores spell_scores(NodeContext& context, ValueId q, ValueId k, ValueId v,
                    const ScoreRules& rules) {
  const Dims queries = context.run().value(q).dims, keys = context.run().value(k).dims;
  const auto floats = [&](ValueId x) {
    return context.run().value(x).dtype == DType::kF32 ? x : context.cast(x, DType::kF32);
  };
  const auto number = [&](double x) { return context.scalar(DType::kF32, x); };
  const ValueId turned = context.make(op::Transpose, {floats(shared_heads(context, k, queries[1]))},
                                      {{attr::perm, Integers{0, 1, 3, 2}}});
  Scores all;
  all.product =
      context.make(op::MatMul, {context.make(op::Mul, {floats(q), number(rules.scale)}), turned});
  all.capped = all.product;
  if (rules.softcap > 0)
    all.capped = context.make(
        op::Mul,
        {context.make(op::Tanh, {context.make(op::Div, {all.product, number(rules.softcap)})}),
         number(rules.softcap)});
  const ValueId bias = ScoreMask(context, rules, queries[2], keys[2]).run();
  all.masked = bias == kAbsent ? all.capped : context.make(op::Add, {all.capped, bias});
  all.weights = context.make(op::Softmax, {all.masked}, {{attr::axis, int64_t(3)}});
  if (bias != kAbsent) {  // a query that sees no key
    const int64_t last = int64_t(context.run().value(bias).dims.size()) - 1;
    if (last >= 0) {
      const ValueId most = context.make(
          op::ReduceMax, {bias}, {{attr::axes, Integers{last}}, {attr::keepdims, int64_t(1)}});
      const ValueId blind = context.make(op::Equal, {most, number(kNever)});
      all.weights = context.make(op::Where, {blind, number(0), all.weights});
    }
  }
  all.output =
      context.make(op::MatMul, {all.weights, floats(shared_heads(context, v, queries[1]))});
  return all;
}

namespace {

void flex_scores(NodeContext& context) {
  const Dims q = context.dims(0), k = context.dims(1);
  if (q.size() != 4 || k.size() != 4)
    context.corrupt("its queries are " + text(q) + ", its keys " + text(k) +
                    ", expected 4 dimensions each");
  const bool in_f64 = context.dtype(0) == DType::kF64;
  const auto width = q[3].value();
  if (!width && !context.node.has(attr::scale))
    context.refuse("", "the width " + q[3].text() + " of its heads is symbolic",
                   "bind it with --dim");
  const double scale = context.node.number(attr::scale, width ? 1 / std::sqrt(double(*width)) : 1);
  const DType dtype = in_f64 ? DType::kF64 : DType::kF32;
  const ValueId turned =
      context.make(op::Transpose, {context.cast(shared_heads(context, context.in(1), q[1]), dtype)},
                   {{attr::perm, Integers{0, 1, 3, 2}}});
  const ValueId scaled =
      context.make(op::Mul, {context.cast(context.in(0), dtype), context.scalar(dtype, scale)});
  context.finish(op::MatMul, {scaled, turned});
}
void flex_values(NodeContext& context) {
  const DType dtype = context.dtype(0), wanted = context.dtype(2);
  const ValueId v = context.cast(shared_heads(context, context.in(1), context.dims(0)[1]), dtype);
  context.finish(op::Cast, {context.make(op::MatMul, {context.in(0), v})},
                 {{attr::to, int64_t(wanted)}});
}

}  // namespace

void add_score_rules(InferTable& table) {
  table[op::FlexScores] = flex_scores;
  table[op::FlexValues] = flex_values;
}

}  // namespace ingot::graph
