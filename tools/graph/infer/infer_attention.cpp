// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_attention.cpp - Attention, with past keys and values as Concats of their
// own; rotary embeddings spelled out.
#include "tools/graph/infer/infer_attention.h"

#include <cmath>

#include "runtime/op/attention_blocks.h"

namespace ingot::graph {

ValueId as_heads(NodeContext& context, ValueId x, int64_t heads) {
  const Dims dims = context.run().value(x).dims;
  if (dims.size() == 4) return x;
  const ValueId split = context.reshape(x, {dims[0], dims[1], Dim(heads), dims[2] / Dim(heads)});
  return context.make(op::Transpose, {split}, {{attr::perm, std::vector<int64_t>{0, 2, 1, 3}}});
}

namespace {

/// How many heads an operand of [B, T, heads * D] or [B, heads, T, D] has.
int64_t heads_of(NodeContext& context, size_t input, AttributeName key) {
  const Dims& dims = context.dims(input);
  if (dims.size() != 3 && dims.size() != 4)
    context.corrupt("its operand " + std::to_string(input) + " has shape " + text(dims) +
                    ", expected 3 or 4 dimensions");
  if (dims.size() == 3) {
    const int64_t heads = context.node.integer(key, 0);
    if (heads < 1)
      context.corrupt("lacks " + text(key) + ", which operands of 3 dimensions ask for");
    const auto width = dims[2].value();
    if (!width)
      context.refuse("", "the width " + dims[2].text() + " of its heads is symbolic",
                     "bind it with --dim");
    if (*width % heads != 0)
      context.corrupt(std::to_string(heads) + " heads do not divide its operand " +
                      std::to_string(input) + " of " + text(dims));
    return heads;
  }
  if (!dims[1].value())
    context.refuse("", "its number of heads " + dims[1].text() + " is symbolic",
                   "bind it with --dim");
  return *dims[1].value();
}

/// Keys (or values) with those of the past in front; what output `present` is.
ValueId with_past(NodeContext& context, size_t input, size_t past, int64_t heads, size_t present) {
  const ValueId x = context.in(input);
  if (!context.has(past)) {
    if (present < context.node.outputs.size() && context.node.outputs[present] != kAbsent)
      context.run().replace(context.node.outputs[present], as_heads(context, x, heads));
    return x;
  }
  const ValueId all = context.make(op::Concat, {context.in(past), as_heads(context, x, heads)},
                                   {{attr::axis, int64_t(2)}});
  if (present < context.node.outputs.size() && context.node.outputs[present] != kAbsent)
    context.run().replace(context.node.outputs[present], all);
  return all;
}

Dim length_of(const Dims& dims) { return dims.size() == 4 ? dims[2] : dims[1]; }
Dim width_of(const Dims& dims, int64_t heads) {
  return dims.size() == 4 ? dims[3] : dims[2] / Dim(heads);
}

bool needs_scores(NodeContext& context) {
  const Node& node = context.node;
  return context.has(6) || node.integer(attr::left_window_size, -1) >= 0 ||
         node.integer(attr::right_window_size, -1) >= 0 ||
         (node.outputs.size() > 3 && node.outputs[3] != kAbsent);
}

/// With the matrix of scores, which is output 3 at a step that qk_matmul_output_mode names.
void with_scores(NodeContext& context, ValueId k, ValueId v, double scale) {
  const Node& node = context.node;
  const Dims q = context.dims(0);
  const DType dtype = context.dtype(0);
  ScoreRules rules;
  rules.scale = scale;
  rules.softcap = node.number(attr::softcap, 0);
  rules.causal = node.integer(attr::is_causal, 0) != 0;
  rules.left = node.integer(attr::left_window_size, -1);
  rules.right = node.integer(attr::right_window_size, -1);
  rules.past = context.has(4) ? context.dims(4)[2] : Dim(0);
  rules.mask = context.in(3);
  rules.lengths = context.in(6);
  if (rules.lengths != kAbsent && context.has(4))
    context.corrupt("has lengths of keys beside past keys");
  const int64_t mode = node.integer(attr::qk_matmul_output_mode, 0);
  if (mode < 0 || mode > 3)
    context.refuse("qk_matmul_output_mode", std::to_string(mode) + ", known are 0 to 3");
  const ValueId heads = as_heads(context, context.in(0), heads_of(context, 0, attr::q_num_heads));
  const Scores scores = spell_scores(context, heads, k, v, rules);
  const ValueId shown[] = {scores.product, scores.capped, scores.masked, scores.weights};
  const auto typed = [&](ValueId x) { return dtype == DType::kF32 ? x : context.cast(x, dtype); };
  if (node.outputs.size() > 3 && node.outputs[3] != kAbsent) context.same(3, typed(shown[mode]));
  ValueId y = typed(scores.output);
  if (q.size() == 3) {
    y = context.make(op::Transpose, {y}, {{attr::perm, std::vector<int64_t>{0, 2, 1, 3}}});
    const Dims dims = context.run().value(y).dims;
    y = context.reshape(y, {dims[0], dims[1], dims[2] * dims[3]});
  }
  context.same(0, y);
}

/// In normal form from the importer on, or since an earlier walk.
void normal_attention(NodeContext& context) {
  if (context.settled()) return;
  const Dims q = context.dims(0);
  Dim width = width_of(context.dims(2), context.node.integer(attr::kv_heads, 1));
  if (context.dtype(2) == DType::kU8)
    width = Dim(width.value().value_or(0) / attention::kScaledBytes * attention::kScaledUnit);
  if (q.size() == 4)
    context.set(0, context.dtype(0), {q[0], q[1], q[2], width});
  else
    context.set(0, context.dtype(0),
                {q[0], q[1], Dim(context.node.integer(attr::heads, 1)) * width});
}

void attention(NodeContext& context) {
  if (context.node.has(attr::heads)) return normal_attention(context);
  const int64_t heads = heads_of(context, 0, attr::q_num_heads),
                kv_heads = heads_of(context, 1, attr::kv_num_heads);
  if (heads_of(context, 2, attr::kv_num_heads) != kv_heads || kv_heads < 1 || heads % kv_heads != 0)
    context.corrupt("its " + std::to_string(heads) + " query heads do not share " +
                    std::to_string(kv_heads) + " key heads");
  for (size_t i = 0; i < 3; i++)
    if (context.dtype(i) == DType::kU8)
      context.corrupt("its operand " + std::to_string(i) + " is u8, expected floats");
  const bool has_past = context.has(4);
  if (context.has(6) && context.dtype(6) != DType::kI32 && context.dtype(6) != DType::kI64)
    context.corrupt("its operand 6 is " + std::string(dtype_name(context.dtype(6))) +
                    ", expected lengths of keys as integers");
  const Dims q = context.dims(0);
  const ValueId k = with_past(context, 1, 4, kv_heads, 1),
                v = with_past(context, 2, 5, kv_heads, 2);
  const Dims keys = context.run().value(k).dims, values = context.run().value(v).dims;
  const Dim width = width_of(q, heads);
  if (!width.value())
    context.refuse("", "the width " + width.text() + " of its heads is symbolic",
                   "bind it with --dim");
  const ValueId mask = context.in(3);
  bool is_short = false;
  if (mask != kAbsent) {
    const Dims& dims = context.run().value(mask).dims;
    if (dims.size() > 4)
      context.corrupt("its mask has shape " + text(dims) + ", expected at most 4 dimensions");
    const int64_t given = dims.empty() ? 1 : dims.back().value().value_or(1),
                  whole = length_of(keys).value().value_or(0);
    is_short = given != 1 && given < whole;
  }
  const double scale = context.node.number(attr::scale, 1 / std::sqrt(double(*width.value())));
  if (is_short || needs_scores(context))
    return with_scores(context, as_heads(context, k, kv_heads), as_heads(context, v, kv_heads),
                       scale);
  const bool causal = context.node.integer(attr::is_causal, 0) != 0;
  const double softcap = context.node.number(attr::softcap, 0);
  context.node.inputs = {context.in(0), k, v};
  if (mask != kAbsent) context.node.inputs.push_back(mask);
  context.node.outputs.resize(1);
  context.node.attributes = {{attr::heads, heads},
                             {attr::kv_heads, kv_heads},
                             {attr::scale, scale},
                             {attr::softcap, softcap},
                             {attr::causal, std::string(!causal    ? "none"
                                                        : has_past ? "bottom_right"
                                                                   : "top_left")}};
  const Dim value_width = width_of(values, kv_heads);
  if (q.size() == 4)
    context.set(0, context.dtype(0), {q[0], q[1], q[2], value_width});
  else
    context.set(0, context.dtype(0), {q[0], q[1], Dim(heads) * value_width});
}

class Rotation {
 public:
  explicit Rotation(NodeContext& s) : context(s) {}

  void run() {
    const Dims dims = context.dims(0);
    if (dims.size() != 3 && dims.size() != 4)
      context.corrupt("its input has shape " + text(dims) + ", expected 3 or 4 dimensions");
    const int64_t heads = dims.size() == 3 ? heads_of(context, 0, attr::num_heads) : 0;
    ValueId x = context.in(0);
    if (heads) x = context.reshape(x, {dims[0], dims[1], Dim(heads), dims[2] / Dim(heads)});
    const Dims four = context.run().value(x).dims;
    const auto width = four[3].value();
    if (!width)
      context.refuse("", "the width " + four[3].text() + " of its heads is symbolic",
                     "bind it with --dim");
    const int64_t asked = context.node.integer(attr::rotary_embedding_dim, 0),
                  turned = asked > 0 ? asked : *width;
    if (turned > *width || turned % 2 != 0)
      context.corrupt("rotary_embedding_dim is " + std::to_string(turned) + " of " +
                      std::to_string(*width));
    const ValueId cos = angles(1, heads != 0, turned / 2), sin = angles(2, heads != 0, turned / 2);
    const bool interleaved = context.node.integer(attr::interleaved, 0) != 0;
    const ValueId a = interleaved ? part(x, 0, turned, 2) : part(x, 0, turned / 2, 1),
                  b = interleaved ? part(x, 1, turned, 2) : part(x, turned / 2, turned, 1);
    const ValueId real =
        context.make(op::Sub, {context.make(op::Mul, {cos, a}), context.make(op::Mul, {sin, b})});
    const ValueId imaginary =
        context.make(op::Add, {context.make(op::Mul, {sin, a}), context.make(op::Mul, {cos, b})});
    ValueId y = interleaved
                    ? woven(real, imaginary)
                    : context.make(op::Concat, {real, imaginary}, {{attr::axis, int64_t(3)}});
    if (turned < *width)
      y = context.make(op::Concat, {y, part(x, turned, *width, 1)}, {{attr::axis, int64_t(3)}});
    context.same(0, context.reshape(y, dims));
  }

 private:
  NodeContext& context;

  ValueId part(ValueId x, int64_t from, int64_t to, int64_t step) {
    return context.make(op::Slice, {x},
                        {{attr::starts, Dims{Dim(from)}},
                         {attr::ends, Dims{Dim(to)}},
                         {attr::axes, std::vector<int64_t>{3}},
                         {attr::steps, std::vector<int64_t>{step}}});
  }
  ValueId woven(ValueId a, ValueId b) {
    Dims apart = context.run().value(a).dims, together = apart;
    apart.push_back(Dim(1));
    together[3] = together[3] * Dim(2);
    const ValueId both =
        context.make(op::Concat, {context.reshape(a, apart), context.reshape(b, apart)},
                     {{attr::axis, int64_t(4)}});
    return context.reshape(both, together);
  }
  /// cos or sin as it is multiplied: of the positions asked for, a 1 where the heads are.
  ValueId angles(size_t input, bool heads_last, int64_t half) {
    ValueId x = context.in(input);
    if (context.has(3))
      x = context.make(op::Gather, {x, context.in(3)}, {{attr::axis, int64_t(0)}});
    Dims dims = context.run().value(x).dims;
    if (dims.size() != 3 || (dims[2].value() && *dims[2].value() != half))
      context.corrupt("its table of angles has shape " + text(context.dims(input)) + ", expected " +
                      std::to_string(half) + " at the end");
    dims.insert(dims.begin() + (heads_last ? 2 : 1), Dim(1));
    return context.reshape(x, dims);
  }
};

void rotary_embedding(NodeContext& context) { Rotation(context).run(); }

}  // namespace

void add_attention_rules(InferTable& table) {
  table[op::Attention] = attention;
  table[op::RotaryEmbedding] = rotary_embedding;
}

}  // namespace ingot::graph
