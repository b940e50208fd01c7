// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_contrib_attention.cpp - attention in the forms of com.microsoft: with its
// projection, with its bias, with rotary positions. Each becomes ONNX's.
#include <cmath>

#include "tools/graph/infer/infer_attention.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;

ValueId part_of(NodeContext& context, ValueId x, const Dim& from, const Dim& to, int64_t axis) {
  return context.make(
      op::Slice, {x},
      {{attr::starts, Dims{from}}, {attr::ends, Dims{to}}, {attr::axes, Integers{axis}}});
}

/// A mask of onnxruntime as what is added to scores [B, N, S, T]: lengths [B], the ends of the keys
/// and then their starts [2 B], or 1 for keys that count as [B, T], [B, S, T] or [B, 1, S, T].
ValueId added_mask(NodeContext& context, size_t input, const Dim& batch, const Dim& keys) {
  if (!context.has(input)) return kAbsent;
  const Dims dims = context.dims(input);
  ValueId counts = kAbsent;
  if (dims.size() == 1) {
    const bool has_starts = dims[0] == batch + batch;
    if (dims[0] != batch && !has_starts)
      context.refuse("mask_index", "its mask has shape " + text(dims) +
                                       "; lengths [B], ends and starts [2 B] and masks of keys "
                                       "are built");
    const ValueId numbers = context.cast(context.in(input), DType::kI64);
    const auto column = [&](const Dim& from, const Dim& to) {
      return context.reshape(has_starts ? part_of(context, numbers, from, to, 0) : numbers,
                             {batch, Dim(1), Dim(1), Dim(1)});
    };
    const ValueId key = context.counting(keys);
    counts = context.make(op::Less, {key, column(Dim(0), batch)});
    if (has_starts)
      counts = context.make(
          op::And, {counts, context.make(op::GreaterOrEqual, {key, column(batch, batch + batch)})});
  } else {
    Dims four = dims;
    if (dims.size() == 2) four = {dims[0], Dim(1), Dim(1), dims[1]};
    if (dims.size() == 3) four = {dims[0], Dim(1), dims[1], dims[2]};
    if (four.size() != 4) context.corrupt("its mask has shape " + text(dims));
    const ValueId whole = context.cast(context.in(input), DType::kI64);
    counts =
        context.make(op::Greater, {context.reshape(whole, four), context.scalar(DType::kI64, 0)});
  }
  const double filter = context.node.number(attr::mask_filter_value, -10000);
  return context.make(
      op::Where, {counts, context.scalar(DType::kF32, 0), context.scalar(DType::kF32, filter)});
}
ValueId both(NodeContext& context, ValueId a, ValueId b) {
  if (a == kAbsent || b == kAbsent) return a == kAbsent ? b : a;
  return context.make(op::Add, {a, context.cast(b, DType::kF32)});
}

struct Projected {
  ValueId q, k, v;
};
/// input [.., I] times weights [I, Q + K + V], plus a bias. Without weights the input is projected.
Projected project(NodeContext& context, int64_t heads) {
  const bool is_projected = !context.has(1);
  const Dims weights = context.dims(is_projected ? 0 : 1);
  const bool has_width = weights.size() == (is_projected ? 3u : 2u);
  const int64_t all = has_width ? weights.back().value().value_or(0) : 0;
  if (all < 3 || heads < 1)
    context.corrupt("its weights have shape " + text(weights) + ", its heads are " +
                    std::to_string(heads));
  Integers sizes = context.node.integers(attr::qkv_hidden_sizes);
  if (sizes.empty()) sizes.assign(3, all / 3);
  if (sizes.size() != 3 || sizes[0] < 1 || sizes[2] < 1 || sizes[0] != sizes[1] ||
      sizes[0] + sizes[1] + sizes[2] != all || sizes[0] % heads != 0 || sizes[2] % heads != 0)
    context.corrupt("its " + std::to_string(heads) + " heads and qkv_hidden_sizes do not fit " +
                    text(weights));
  ValueId made = context.in(0);
  if (!is_projected) made = context.make(op::MatMul, {made, context.in(1)});
  if (context.has(2)) made = context.make(op::Add, {made, context.in(2)});
  const int64_t axis = context.rank(0) - 1, one = sizes[0], two = sizes[0] + sizes[1];
  return {part_of(context, made, 0, one, axis), part_of(context, made, one, two, axis),
          part_of(context, made, two, all, axis)};
}

/// ONNX's Attention over operands [B, T, heads * D], or [B, heads, T, D].
struct AttentionCall {
  Projected operands;
  ValueId mask = kAbsent, past_key = kAbsent, past_value = kAbsent;
  bool causal = false;
};
std::vector<ValueId> attend(NodeContext& context, const AttentionCall& c, int64_t heads) {
  Attributes attributes = {{attr::q_num_heads, heads},
                           {attr::kv_num_heads, heads},
                           {attr::is_causal, int64_t(c.causal)},
                           {attr::softcap, 0.0}};
  const double scale = context.node.number(attr::scale, 0);
  if (scale != 0) attributes[attr::scale] = scale;
  return context.make_many(
      op::Attention, {c.operands.q, c.operands.k, c.operands.v, c.mask, c.past_key, c.past_value},
      attributes, c.past_key == kAbsent ? 1 : 3);
}
Dim keys_of(NodeContext& context, ValueId k, ValueId past) {
  const Dims dims = context.run().value(k).dims;
  const Dim own = dims.size() == 4 ? dims[2] : dims[1];
  if (past == kAbsent) return own;
  const Dims& before = context.run().value(past).dims;
  if (before.size() != 4)
    context.corrupt("its earlier keys have shape " + text(before) + ", expected [B, heads, T, D]");
  return own + before[2];
}

/// One operand projected to queries, keys and values; past and present are [2, B, N, T, D].
void contrib_attention(NodeContext& context) {
  const int64_t heads = context.node.integer(attr::num_heads, 0);
  AttentionCall c;
  c.operands = project(context, heads);
  c.causal = context.node.integer(attr::unidirectional, 0) != 0;
  if (context.has(4)) {
    if (context.rank(4) != 5)
      context.corrupt("its past has shape " + text(context.dims(4)) +
                      ", expected [2, B, heads, T, D]");
    const auto pick = [&](int64_t i) {
      return context.make(op::Gather, {context.in(4), context.scalar(DType::kI64, double(i))},
                          {{attr::axis, int64_t(0)}});
    };
    c.past_key = pick(0), c.past_value = pick(1);
  }
  const Dim keys = keys_of(context, c.operands.k, c.past_key);
  c.mask = both(context, added_mask(context, 3, context.dims(0)[0], keys), context.in(5));
  const std::vector<ValueId> made = attend(context, c, heads);
  context.same(0, made[0]);
  if (context.node.outputs.size() < 2 || context.node.outputs[1] == kAbsent) return;
  ValueId present[2] = {as_heads(context, c.operands.k, heads),
                        as_heads(context, c.operands.v, heads)};
  for (size_t i = 0; i < 2; i++) {
    if (made.size() > 1) present[i] = made[i + 1];
    present[i] = context.make(op::Unsqueeze, {present[i]}, {{attr::axes, Integers{0}}});
  }
  context.same(1, context.make(op::Concat, {present[0], present[1]}, {{attr::axis, int64_t(0)}}));
}

/// Tokens of several texts behind each other: a token sees those of its own text.
void packed_attention(NodeContext& context) {
  if (context.has(5)) context.refuse("attention_bias", "a bias over texts of several lengths");
  const Dims in = context.dims(0), ends = context.dims(4);
  if (in.size() != 2 || ends.size() != 1)
    context.corrupt("its tokens have shape " + text(in) + ", its lengths " + text(ends));
  const int64_t heads = context.node.integer(attr::num_heads, 0);
  AttentionCall c;
  c.operands = project(context, heads);
  const ValueId token = context.reshape(context.counting(in[0]), {in[0], Dim(1)}),
                starts = context.cast(context.in(4), DType::kI64);
  const ValueId text_of = context.make(
      op::ReduceSum, {context.cast(context.make(op::GreaterOrEqual, {token, starts}), DType::kI64)},
      {{attr::axes, Integers{1}}, {attr::keepdims, int64_t(1)}});
  const ValueId other = context.reshape(text_of, {Dim(1), in[0]});
  c.mask = context.make(op::Equal, {text_of, other});
  for (ValueId* each : {&c.operands.q, &c.operands.k, &c.operands.v})
    *each = context.make(op::Unsqueeze, {*each}, {{attr::axes, Integers{0}}});
  const ValueId y = attend(context, c, heads)[0];
  context.same(0, context.make(op::Squeeze, {y}, {{attr::axes, Integers{0}}}));
}

/// query [B, S, N * D], or all three of them as [B, S, N, 3, D]; keys and values as queries, with
/// the values beside the keys as [B, T, N, 2, D], or as they are kept: [B, N, T, D].
Projected separate(NodeContext& context, int64_t heads) {
  const auto piece = [&](size_t input, int64_t at) {
    const ValueId one = part_of(context, context.in(input), at, at + 1, 3);
    const Dims dims = context.dims(input);
    return context.reshape(one, {dims[0], dims[1], dims[2] * dims[4]});
  };
  if (context.rank(0) == 5) return {piece(0, 0), piece(0, 1), piece(0, 2)};
  if (context.has(1) && context.rank(1) == 5) return {context.in(0), piece(1, 0), piece(1, 1)};
  if (context.rank(0) != 3 || !context.has(1) || !context.has(2) || heads < 1)
    context.corrupt("its query has shape " + text(context.dims(0)) +
                    ", and keys and values must be given");
  return {context.in(0), context.in(1), context.in(2)};
}
void multi_head_attention(NodeContext& context) {
  const int64_t heads = context.node.integer(attr::num_heads, 0);
  AttentionCall c;
  c.operands = separate(context, heads);
  if (context.has(3)) {
    ValueId* const all[] = {&c.operands.q, &c.operands.k, &c.operands.v};
    Dim from(0);
    for (ValueId* each : all) {
      const Dims dims = context.run().value(*each).dims;
      const Dim width = dims.size() == 4 ? dims[1] * dims[3] : dims[2];
      const ValueId bias = part_of(context, context.in(3), from, from + width, 0);
      // keys that are kept have theirs already
      if (dims.size() == 3) *each = context.make(op::Add, {*each, bias});
      from = from + width;
    }
  }
  c.operands.q = as_heads(context, c.operands.q, heads);
  c.operands.k = as_heads(context, c.operands.k, heads);
  c.operands.v = as_heads(context, c.operands.v, heads);
  c.causal = context.node.integer(attr::unidirectional, 0) != 0;
  c.past_key = context.in(6), c.past_value = context.in(7);
  const Dims q = context.run().value(c.operands.q).dims;
  const Dim keys = keys_of(context, c.operands.k, c.past_key);
  c.mask = both(context, added_mask(context, 4, q[0], keys), context.in(5));
  const std::vector<ValueId> made = attend(context, c, heads);
  const ValueId y = context.make(op::Transpose, {made[0]}, {{attr::perm, Integers{0, 2, 1, 3}}});
  const Dims dims = context.run().value(y).dims;
  context.same(0, context.reshape(y, {dims[0], dims[1], dims[2] * dims[3]}));
  context.same(1, made.size() > 1 ? made[1] : c.operands.k);
  context.same(2, made.size() > 1 ? made[2] : c.operands.v);
}

/// Heads of keys that several heads of queries share, rotary positions, a window; `seqlens_k` is
/// the number of keys of each text less one.
class GroupedAttention {
 public:
  explicit GroupedAttention(NodeContext& s) : context(s) {}

  void run() {
    heads_ = context.node.integer(attr::num_heads, 0);
    kv_heads_ = context.node.integer(attr::kv_num_heads, 0);
    if (heads_ < 1 || kv_heads_ < 1 || heads_ % kv_heads_ != 0 || context.rank(0) != 3)
      context.corrupt("its query has shape " + text(context.dims(0)) + ", its heads are " +
                      std::to_string(heads_) + " and " + std::to_string(kv_heads_));
    const Dims in = context.dims(0);
    const bool packed = !context.has(1);
    width_ = in[2].value().value_or(0) / (packed ? heads_ + 2 * kv_heads_ : heads_);
    if (width_ < 1) context.refuse("", "the width of its heads is symbolic");
    const int64_t q_end = heads_ * width_, k_end = q_end + kv_heads_ * width_;
    Projected all = {context.in(0), context.in(1), context.in(2)};
    if (packed)
      all = {part_of(context, context.in(0), 0, q_end, 2),
             part_of(context, context.in(0), q_end, k_end, 2),
             part_of(context, context.in(0), k_end, k_end + kv_heads_ * width_, 2)};
    ValueId q = as_heads(context, all.q, heads_), k = as_heads(context, all.k, kv_heads_);
    const ValueId v = as_heads(context, all.v, kv_heads_);
    const Dim tokens = in[1];
    has_past_ = context.has(3) && context.dims(3)[2] != Dim(0);
    const ValueId lengths = context.make(
        op::Add, {context.cast(context.in(5), DType::kI64), context.scalar(DType::kI64, 1)});
    if (context.node.integer(attr::do_rotary, 0) != 0) {
      const ValueId places = positions(in[0], tokens, lengths);
      q = rotated(q, places), k = rotated(k, places);
    }
    const ValueId keys = joined(3, k), values = joined(4, v);
    ScoreRules rules;
    const double scale = context.node.number(attr::scale, 0);
    rules.scale = scale != 0 ? scale : 1 / std::sqrt(double(width_));
    rules.softcap = context.node.number(attr::softcap, 0);
    rules.causal = true;
    const int64_t window = context.node.integer(attr::local_window_size, -1);
    if (window > 0) rules.left = window - 1;
    rules.mask = context.in(10);
    if (has_past_) rules.lengths = context.reshape(lengths, {in[0]});
    const ValueId y =
        context.make(op::Transpose, {spell_scores(context, q, keys, values, rules).output},
                     {{attr::perm, Integers{0, 2, 1, 3}}});
    const ValueId flat = context.reshape(y, {in[0], tokens, Dim(q_end)});
    context.same(0, context.cast(flat, context.dtype(0)));
    context.same(1, keys);
    context.same(2, values);
  }

 private:
  ValueId joined(size_t past, ValueId x) {
    return has_past_ ? context.make(op::Concat, {context.in(past), x}, {{attr::axis, int64_t(2)}})
                     : x;
  }
  /// [B, S]: where the tokens stand in their texts.
  ValueId positions(const Dim& batch, const Dim& tokens, ValueId lengths) {
    if (context.has(9)) return context.in(9);
    const ValueId along = context.reshape(context.counting(tokens), {Dim(1), tokens});
    if (!has_past_) return context.expand(along, {batch, tokens});
    const ValueId first =
        context.make(op::Sub, {context.reshape(lengths, {batch, Dim(1)}), context.extent(tokens)});
    return context.make(op::Add, {along, first});
  }
  ValueId rotated(ValueId x, ValueId places) {
    if (!context.has(7) || !context.has(8)) context.corrupt("lacks its tables of cos and sin");
    const int64_t half = context.dims(7).size() == 2 ? context.dims(7)[1].value().value_or(0) : 0;
    return context.make(op::RotaryEmbedding, {x, context.in(7), context.in(8), places},
                        {{attr::interleaved, context.node.integer(attr::rotary_interleaved, 0)},
                         {attr::num_heads, int64_t(0)},
                         {attr::rotary_embedding_dim, 2 * half}});
  }

  NodeContext& context;
  int64_t heads_ = 0, kv_heads_ = 0, width_ = 0;
  bool has_past_ = false;
};
void group_query_attention(NodeContext& context) { GroupedAttention(context).run(); }

void contrib_rotary(NodeContext& context) {
  const Dims in = context.dims(0), table = context.dims(2);
  const int64_t half = table.size() == 2 ? table[1].value().value_or(0) : 0;
  if (half < 1 || (in.size() != 3 && in.size() != 4))
    context.corrupt("its input has shape " + text(in) + ", its table " + text(table));
  const Dim tokens = in.size() == 4 ? in[2] : in[1];
  ValueId places = context.in(1);
  if (product(context.dims(1)) == Dim(1)) {
    const ValueId along = context.reshape(context.counting(tokens), {Dim(1), tokens});
    const ValueId first = context.reshape(context.cast(places, DType::kI64), {Dim(1), Dim(1)});
    places = context.expand(context.make(op::Add, {along, first}), {in[0], tokens});
  }
  int64_t heads = context.node.integer(attr::num_heads, 0);
  if (in.size() == 3 && heads == 0) heads = in[2].value().value_or(0) / (2 * half);
  context.finish(op::RotaryEmbedding, {context.in(0), context.in(2), context.in(3), places},
                 {{attr::interleaved, context.node.integer(attr::interleaved, 0)},
                  {attr::num_heads, heads},
                  {attr::rotary_embedding_dim, 2 * half}});
}

}  // namespace

void add_contrib_attention_rules(InferTable& table) {
  table[op::ContribAttention] = contrib_attention;
  table[op::PackedAttention] = packed_attention;
  table[op::MultiHeadAttention] = multi_head_attention;
  table[op::GroupQueryAttention] = group_query_attention;
  table[op::ContribRotaryEmbedding] = contrib_rotary;
}

}  // namespace ingot::graph
