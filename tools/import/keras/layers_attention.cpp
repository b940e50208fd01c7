// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_attention.cpp - attention in all its forms, products over named
// dimensions (EinsumDense) and over chosen ones (Dot).
#include "tools/import/aten/arithmetic.h"
#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

using aten::Term;
using graph::Dim;
using graph::Dims;

/// x [B, T, D] times a kernel [D, heads, width], as [B, heads, T, width].
Term heads_of(LayerCall& call, const Term& x, const char* part, int64_t heads, int64_t width,
              bool bias) {
  const std::vector<Weight> w = call.weights(bias ? 2 : 1, part);
  const auto depth = x.dims().back().value();
  if (!depth) call.refuse("", "has inputs of a symbolic width", "bind it with --dim");
  call.expect_dims(w[0], {*depth, heads, width}, part);
  Weight flat = w[0];
  flat.dims = {*depth, heads * width};
  Term made = product(x, x.of(call.net.constant(flat)));
  if (bias) {
    call.expect_dims(w[1], {heads, width}, "bias");
    made = made + x.of(call.net.constant(w[1].values, {heads * width}));
  }
  const Dims dims = x.dims();
  return swapped(made.reshape({dims[0], dims[1], Dim(heads), Dim(width)}), 1, 2);
}
/// bool [batch, 1, 1, keys]: which keys and values are there; kAbsent: all of them.
ValueId held_keys(LayerCall& call) {
  ValueId held = call.mask(1);
  if (call.inputs().size() == 3 && call.inputs()[2] != call.inputs()[1] && call.mask(2) != kAbsent)
    held = held == kAbsent ? call.mask(2) : call.b.emit(op::And, {held, call.mask(2)});
  if (held == kAbsent) return held;
  const Dims dims = call.b.dims(held);
  return call.b.reshape(held, {dims[0], Dim(1), Dim(1), dims[1]});
}
/// Queries, values and, where they differ from the values, keys.
void attention_of_heads(LayerCall& call, int64_t heads, int64_t kv_heads, int64_t width,
                        int64_t value_width, const std::string& mark) {
  const std::vector<ValueId>& given = call.inputs();
  if (given.size() < 2 || given.size() > 3)
    call.corrupt("has " + std::to_string(given.size()) + " inputs, expected query, value and key");
  for (const ValueId id : given)
    if (call.b.rank(id) != 3) call.refuse("", "of other than sequences is not built");
  if (heads < 1 || kv_heads < 1 || width < 1 || value_width < 1)
    call.corrupt("has " + std::to_string(heads) + " heads of " + std::to_string(width));
  const bool bias = call.truth("use_bias", true);
  if (const Json* axes = call.field("attention_axes"); axes && axes->dump() != "[1]")
    call.refuse("attention_axes", "is " + axes->dump() + ", built is [1]");
  const auto name = [&](const char* part) { return mark + part; };
  const Term query = {&call.b, given[0]}, value = {&call.b, given[1]},
             key = {&call.b, given.size() == 3 ? given[2] : given[1]};
  const Term q = heads_of(call, query, name("query_dense").c_str(), heads, width, bias),
             k = heads_of(call, key, name("key_dense").c_str(), kv_heads, width, bias),
             v = heads_of(call, value, name("value_dense").c_str(), kv_heads, value_width, bias);
  std::vector<ValueId> operands = {q.id, k.id, v.id};
  if (const ValueId held = held_keys(call); held != kAbsent) operands.push_back(held);
  call.output_masks = {call.mask(0)};
  const Term mixed = {&call.b, call.b.emit(op::Attention, operands,
                                           {{attr::is_causal, int64_t(0)},
                                            {attr::q_num_heads, int64_t(0)},
                                            {attr::kv_num_heads, int64_t(0)},
                                            {attr::softcap, 0.0}})};
  const Dims dims = query.dims();
  const Term rows = swapped(mixed, 1, 2).reshape({dims[0], dims[1], Dim(heads * value_width)});
  const std::vector<Weight> w = call.weights(bias ? 2 : 1, name("output_dense"));
  if (w[0].dims.size() != 3 || w[0].dims[0] != heads || w[0].dims[1] != value_width)
    call.corrupt("its output kernel has " + std::to_string(w[0].dims.size()) + " dimensions");
  Weight flat = w[0];
  flat.dims = {heads * value_width, w[0].dims[2]};
  Term out = product(rows, rows.of(call.net.constant(flat)));
  if (bias) out = out + rows.of(call.net.constant(w[1]));
  call.give(out.id);
}
void multi_head_attention(LayerCall& call) {
  const int64_t heads = call.integer("num_heads", 0), width = call.integer("key_dim", 0);
  attention_of_heads(call, heads, heads, width, call.integer("value_dim", width), "");
}
void group_query_attention(LayerCall& call) {
  const int64_t heads = call.integer("num_query_heads", 0), width = call.integer("head_dim", 0);
  attention_of_heads(call, heads, call.integer("num_key_value_heads", 0), width, width, "_");
}

/// softmax(scores of query and key) value; scores by products, or by sums under tanh.
void attention(LayerCall& call) {
  const std::vector<ValueId>& given = call.inputs();
  if (given.size() < 2 || given.size() > 3)
    call.corrupt("has " + std::to_string(given.size()) + " inputs, expected query, value and key");
  const Term q = {&call.b, given[0]}, v = {&call.b, given[1]},
             k = {&call.b, given.size() == 3 ? given[2] : given[1]};
  if (q.rank() != 3 || v.rank() != 3 || k.rank() != 3)
    call.refuse("", "of other than sequences is not built");
  const bool additive = call.layer.kind == "AdditiveAttention",
             scaled = call.truth("use_scale", additive);
  const std::string mode = additive ? "concat" : call.text("score_mode", "dot");
  if (mode != "dot" && mode != "concat") call.refuse("score_mode", "'" + mode + "' is not known");
  const std::vector<Weight> w =
      call.weights(size_t(scaled) + size_t(mode == "concat" && !additive));
  const auto weight = [&](size_t i) { return q.of(call.net.constant(w[i])); };
  Term scores = q;
  if (mode == "dot") {
    scores = product(q, swapped(k, 1, 2));
    if (scaled) scores = scores * weight(0);
  } else {
    const Dims rows = q.dims(), columns = k.dims();
    Term sum = q.reshape({rows[0], rows[1], Dim(1), rows[2]}) +
               k.reshape({columns[0], Dim(1), columns[1], columns[2]});
    if (scaled && !additive) sum = sum * weight(0);
    Term bent = aten::call(op::Tanh, sum);
    if (additive && scaled) bent = bent * weight(0);
    scores = bent.reduce(op::ReduceSum, {3});
    if (!additive) scores = scores * weight(scaled ? 1 : 0);
  }
  if (const ValueId held = call.mask(1); held != kAbsent) {
    const Dims dims = call.b.dims(held);
    scores = where(q.of(held).reshape({dims[0], Dim(1), dims[1]}), scores, scores - 1e9);
  }
  const Term part = aten::call(op::Softmax, scores, {{attr::axis, int64_t(2)}});
  Term out = product(part, v);
  if (const ValueId held = call.mask(0); held != kAbsent) {
    const Dims dims = call.b.dims(held);
    out = where(q.of(held).reshape({dims[0], dims[1], Dim(1)}), out, 0);
  }
  call.give(out.id);
  call.output_masks = {call.mask(0)};
}

/// "ab,bcd->acd" over the input and a kernel; a bias along some of the output's.
void einsum_dense(LayerCall& call) {
  std::string equation = call.text("equation", "");
  const std::string activation = call.activation("activation");
  const bool bias = call.field("bias_axes") != nullptr;
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    call.corrupt("its equation is '" + equation + "'");
  const size_t dots = equation.find("...");
  if (dots != std::string::npos) {
    const int64_t named = int64_t(comma) - 3, open = call.rank() - named;
    std::string letters;
    for (char c = 'A'; c <= 'Z' && int64_t(letters.size()) < open; c++)
      if (equation.find(c) == std::string::npos) letters += c;
    if (open < 0 || int64_t(letters.size()) < open)
      call.corrupt("its equation '" + equation + "' does not fit its input");
    for (size_t at = dots; at != std::string::npos; at = equation.find("..."))
      equation.replace(at, 3, letters);
  }
  call.text("bias_axes", "");
  const std::vector<Weight> w = call.weights(bias ? 2 : 1);
  Term made = {&call.b, call.b.emit(op::Einsum, {call.input(), call.net.constant(w[0])},
                                    {{attr::equation, equation}})};
  if (bias) made = made + made.of(call.net.constant(w[1]));
  call.give(call.net.activation(made.id, activation, made.rank() - 1));
}

/// Sums of products along one dimension of each, for each of the batch.
void dot(LayerCall& call) {
  const std::vector<ValueId>& given = call.inputs();
  if (given.size() != 2) call.corrupt("has " + std::to_string(given.size()) + " inputs");
  const std::vector<double> axes = call.numbers_of("axes");
  if (axes.empty() || axes.size() > 2) call.corrupt("lacks its axes");
  Term x = {&call.b, given[0]}, y = {&call.b, given[1]};
  const auto axis_of = [&](const Term& t, double axis) {
    const int64_t at = int64_t(axis) < 0 ? int64_t(axis) + t.rank() : int64_t(axis);
    if (at < 1 || at >= t.rank()) call.corrupt("its axes are out of range");
    return at;
  };
  const int64_t a = axis_of(x, axes[0]), b = axis_of(y, axes.back());
  if (call.truth("normalize", false)) {
    const auto unit = [](const Term& t, int64_t axis) {
      return t / larger(t.reduce(op::ReduceL2, {axis}, true), 1e-6);
    };
    x = unit(x, a);
    y = unit(y, b);
  }
  x = moved(x, a, x.rank() - 1);
  y = moved(y, b, 1);
  Dims rows = x.dims(), columns = y.dims(), out;
  const Dim batch = rows[0], n = rows.back();
  rows.erase(rows.begin());
  rows.pop_back();
  columns.erase(columns.begin(), columns.begin() + 2);
  const Term made = product(x.reshape({batch, graph::product(rows), n}),
                            y.reshape({batch, n, graph::product(columns)}));
  out = {batch};
  out.insert(out.end(), rows.begin(), rows.end());
  out.insert(out.end(), columns.begin(), columns.end());
  if (out.size() == 1) out.push_back(Dim(1));
  call.give(made.reshape(out).id);
}

}  // namespace

void add_attention(TranslateTable& table) {
  table["MultiHeadAttention"] = multi_head_attention;
  table["GroupQueryAttention"] = table["GroupedQueryAttention"] = group_query_attention;
  table["Attention"] = table["AdditiveAttention"] = attention;
  table["EinsumDense"] = einsum_dense;
  table["Dot"] = dot;
}

}  // namespace ingot::keras
