// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_state.cpp - operators that carry a state from call to call: linear
// attention, causal convolution, a cache that is written at a place.
#include <algorithm>
#include <cmath>

#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;

/// A row a token, of f32: states of the heads are changed and read in the order of tokens.
void linear_recurrence(NodeContext& context) {
  const Node& node = context.node;
  const int64_t heads = node.integer(attr::heads, 1), key_heads = node.integer(attr::key_heads, 1),
                query_heads = node.integer(attr::query_heads, 1);
  if (heads < 1 || key_heads < 1 || query_heads < 1 || heads % key_heads != 0 ||
      (heads % query_heads != 0 && query_heads % heads != 0))
    context.corrupt(std::to_string(heads) + " heads do not share " + std::to_string(key_heads) +
                    " key heads and " + std::to_string(query_heads) + " query heads");
  const Dims v = context.dims(2);
  context.set(0, DType::kF32, context.dims(3));
  context.set(1, DType::kF32, {v[0], v[1] / Dim(heads) * Dim(std::max(heads, query_heads))});
}

/// ONNX's: state = exp(decay) state + k v; what is read is q state. Computed in f32.
class LinearAttention {
 public:
  explicit LinearAttention(NodeContext& s) : context(s) {}

  void run() {
    const Node& node = context.node;
    heads_ = node.integer(attr::q_num_heads, 0), kv_heads_ = node.integer(attr::kv_num_heads, 0);
    if (heads_ < 1 || kv_heads_ < 1 || heads_ % kv_heads_ != 0)
      context.corrupt(std::to_string(heads_) + " query heads do not share " +
                      std::to_string(kv_heads_) + " key heads");
    const std::string rule = node.text(attr::update_rule, "gated_delta");
    const bool gated = rule == "gated" || rule == "gated_delta",
               corrected = rule == "delta" || rule == "gated_delta";
    if (!gated && !corrected && rule != "linear")
      context.refuse("update_rule", "'" + rule + "', known are linear, gated, delta, gated_delta");
    if (gated != context.has(4) || corrected != context.has(5))
      context.corrupt("its update_rule '" + rule + "' takes " + (gated ? "a" : "no") +
                      " decay and " + (corrected ? "a" : "no") + " beta");
    for (size_t i = 0; i < 3; i++)
      if (context.rank(i) != 3)
        context.corrupt("its operand " + std::to_string(i) + " has shape " + text(context.dims(i)) +
                        ", expected [B, T, heads * width]");
    const DType dtype = context.dtype(0), state_type = context.has(3) ? context.dtype(3) : dtype;
    const Dims in = context.dims(0);
    const Dim keys = in[2] / Dim(heads_), values = context.dims(2)[2] / Dim(kv_heads_);
    const auto width = keys.value();
    const double given = node.number(attr::scale, 0);
    if (given == 0 && !width)
      context.refuse("", "the width " + keys.text() + " of its heads is symbolic",
                     "bind it with --dim");
    const double scale = given != 0 ? given : 1 / std::sqrt(double(*width));
    const Dim row = Dim(kv_heads_) * keys * values;
    const ValueId batch = batch_of_tokens(in[0], in[1]);
    std::vector<ValueId> operands = {
        context.make(op::Mul, {rows(0), context.scalar(DType::kF32, scale)}),
        rows(1),
        rows(2),
        context.has(3) ? context.reshape(context.cast(context.in(3), DType::kF32), {in[0], row})
                       : context.expand(context.scalar(DType::kF32, 0), {in[0], row}),
        batch,
        batch};
    operands.push_back(gated ? context.make(op::Exp, {rows(4)}) : kAbsent);
    operands.push_back(corrected ? rows(5) : kAbsent);
    while (operands.back() == kAbsent) operands.pop_back();
    const std::vector<ValueId> made = context.make_many(
        op::LinearRecurrence, std::move(operands),
        {{attr::heads, kv_heads_}, {attr::key_heads, kv_heads_}, {attr::query_heads, heads_}}, 2);
    context.same(
        0, context.cast(context.reshape(made[1], {in[0], in[1], Dim(heads_) * values}), dtype));
    context.same(1, context.cast(context.reshape(made[0], {in[0], Dim(kv_heads_), keys, values}),
                                 state_type));
  }

 private:
  /// [B * T, columns] in f32.
  ValueId rows(size_t input) {
    const Dims dims = context.dims(input);
    return context.reshape(context.cast(context.in(input), DType::kF32),
                           {dims[0] * dims[1], dims[2]});
  }
  /// i64 [B * T]: each sequence has a state of its own.
  ValueId batch_of_tokens(const Dim& batch, const Dim& tokens) {
    const ValueId column = context.reshape(context.counting(batch), {batch, Dim(1)});
    return context.reshape(context.expand(column, {batch, tokens}), {batch * tokens});
  }

  NodeContext& context;
  int64_t heads_ = 0, kv_heads_ = 0;
};
void linear_attention(NodeContext& context) { LinearAttention(context).run(); }

/// A convolution along the last dimension, each channel by itself, that sees what was before.
void causal_conv(NodeContext& context) {
  const Dims in = context.dims(0), weight = context.dims(1);
  const int64_t taps = weight.size() == 3 ? weight[2].value().value_or(0) : 0,
                channels = in.size() == 3 ? in[1].value().value_or(0) : 0;
  if (taps < 1 || channels < 1)
    context.corrupt("its input has shape " + text(in) + ", its weight " + text(weight) +
                    ", expected [B, channels, T] and [channels, 1, k]");
  const std::string activation = context.node.text(attr::activation, "none");
  const bool has_silu = activation == "silu" || activation == "swish";
  if (!has_silu && activation != "none")
    context.refuse("activation", "'" + activation + "', known are none, silu and swish");
  ValueId before = context.in(3);
  if (before == kAbsent)
    before = context.expand(context.scalar(context.dtype(0), 0), {in[0], in[1], Dim(taps - 1)});
  const ValueId all =
      taps == 1 ? context.in(0)
                : context.make(op::Concat, {before, context.in(0)}, {{attr::axis, int64_t(2)}});
  std::vector<ValueId> operands = {all, context.in(1)};
  if (context.has(2)) operands.push_back(context.in(2));
  ValueId y = context.make(op::Conv, operands, {{attr::group, channels}});
  if (has_silu) y = context.make(op::Mul, {y, context.make(op::Sigmoid, {y})});
  const ValueId kept = context.make(op::Slice, {all},
                                    {{attr::starts, Dims{in[2]}},
                                     {attr::ends, Dims{in[2] + Dim(taps - 1)}},
                                     {attr::axes, Integers{2}}});
  context.same(0, y);
  context.same(1, kept);
}

/// Rows of an update at places of a cache, which every batch has its own of.
void tensor_scatter(NodeContext& context) {
  const Dims cache = context.dims(0), update = context.dims(1);
  const int64_t axis = context.axis(context.node.integer(attr::axis, -2), context.rank(0));
  const std::string mode = context.node.text(attr::mode, "linear");
  if (mode != "linear" && mode != "circular")
    context.refuse("mode", "'" + mode + "', known are linear and circular");
  if (axis == 0 || update.size() != cache.size())
    context.corrupt("its cache has shape " + text(cache) + ", its update " + text(update) +
                    ", its axis is " + std::to_string(axis));
  Dims along(cache.size(), Dim(1)), each(cache.size(), Dim(1));
  along[size_t(axis)] = update[size_t(axis)];
  each[0] = cache[0];
  ValueId at = context.reshape(context.counting(update[size_t(axis)]), along);
  if (context.has(2))
    at = context.make(op::Add,
                      {at, context.reshape(context.cast(context.in(2), DType::kI64), each)});
  if (mode == "circular")
    at = context.make(op::Mod, {at, context.extent(cache[size_t(axis)])},
                      {{attr::fmod, int64_t(0)}});
  context.finish(op::ScatterElements, {context.in(0), context.expand(at, update), context.in(1)},
                 {{attr::axis, axis}, {attr::reduction, std::string("none")}});
}

}  // namespace

void add_state_rules(InferTable& table) {
  table[op::LinearAttention] = linear_attention;
  table[op::LinearRecurrence] = linear_recurrence;
  table[op::CausalConvWithState] = causal_conv;
  table[op::TensorScatter] = tensor_scatter;
}

}  // namespace ingot::graph
