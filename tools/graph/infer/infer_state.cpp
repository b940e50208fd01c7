// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_state.cpp - operators that carry a state from call to call: linear
// attention, causal convolution, a cache that is written at a place.
#include <cmath>

#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;

/// Nodes of a body that is written by hand, inferred when its loop is.
class BodyWriter {
 public:
  BodyWriter(Model& model, std::string name) : model_(model), name_(std::move(name)) {}
  ValueId input(const char* name) {
    const ValueId id = model_.add_value(name_ + "/" + name);
    graph->inputs.push_back(id);
    return id;
  }
  ValueId operator()(Operator op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    Node node;
    node.op = op;
    node.name = name_;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    const ValueId id =
        model_.add_value(name_ + "/" + text(op) + std::to_string(model_.values.size()));
    node.outputs = {id};
    graph->nodes.push_back(std::move(node));
    return id;
  }
  ValueId with_axis(ValueId x, int64_t axis) {
    return (*this)(op::Unsqueeze, {x}, {{attr::axes, Integers{axis}}});
  }

  const std::shared_ptr<Graph> graph = std::make_shared<Graph>();

 private:
  Model& model_;
  const std::string name_;
};

/// state = exp(decay) state + k v; what is read is q state. Computed in f32, along the tokens.
class LinearRecurrence {
 public:
  explicit LinearRecurrence(NodeContext& s) : context(s) {}

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
    const ValueId q = context.make(op::Mul, {split(0, heads_), context.scalar(DType::kF32, scale)});
    std::vector<ValueId> operands = {
        first_state({in[0], Dim(kv_heads_), keys, values}),
        context.reshape(q, {in[0], in[1], Dim(kv_heads_), Dim(heads_ / kv_heads_), keys}),
        split(1, kv_heads_), split(2, kv_heads_)};
    if (gated) operands.push_back(split(4, kv_heads_));
    if (corrected) operands.push_back(split(5, context.dims(5)[2] == Dim(1) ? 1 : kv_heads_));
    const int64_t sequences = int64_t(operands.size()) - 1;
    const std::vector<ValueId> made =
        context.make_many(op::Scan, std::move(operands),
                          {{attr::body, body(gated, corrected)},
                           {attr::num_scan_inputs, sequences},
                           {attr::scan_input_axes, Integers(size_t(sequences), 1)},
                           {attr::scan_output_axes, Integers{1}}},
                          2);
    context.same(
        0, context.cast(context.reshape(made[1], {in[0], in[1], Dim(heads_) * values}), dtype));
    context.same(1, context.cast(made[0], state_type));
  }

 private:
  /// [B, T, heads, width] in f32.
  ValueId split(size_t input, int64_t heads) {
    const Dims dims = context.dims(input);
    return context.reshape(context.cast(context.in(input), DType::kF32),
                           {dims[0], dims[1], Dim(heads), dims[2] / Dim(heads)});
  }
  ValueId first_state(const Dims& dims) {
    if (context.has(3)) return context.cast(context.in(3), DType::kF32);
    return context.expand(context.scalar(DType::kF32, 0), dims);
  }
  std::shared_ptr<Graph> body(bool gated, bool corrected) {
    BodyWriter b(context.model(), context.node.name + "/token");
    ValueId state = b.input("state");
    const ValueId q = b.input("q"), k = b.input("k");
    ValueId v = b.input("v");
    if (gated) {
      const ValueId decay = b(op::Exp, {b.input("decay")});
      state = b(op::Mul, {state, b.with_axis(decay, 3)});
    }
    if (corrected) {
      const ValueId known = b(op::MatMul, {b.with_axis(k, 2), state}),
                    flat = b(op::Squeeze, {known}, {{attr::axes, Integers{2}}});
      v = b(op::Mul, {b.input("beta"), b(op::Sub, {v, flat})});
    }
    const ValueId next = b(op::Add, {state, b(op::Mul, {b.with_axis(k, 3), b.with_axis(v, 2)})});
    b.graph->outputs = {next, b(op::MatMul, {q, next})};
    return b.graph;
  }

  NodeContext& context;
  int64_t heads_ = 0, kv_heads_ = 0;
};
void linear_attention(NodeContext& context) { LinearRecurrence(context).run(); }

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
  table[op::CausalConvWithState] = causal_conv;
  table[op::TensorScatter] = tensor_scatter;
}

}  // namespace ingot::graph
