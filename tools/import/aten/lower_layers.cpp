// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_layers.cpp - whole layers that PyTorch has fused into one call: attention
// with its projections, the layer of an encoder. A trace in inference form holds these where the
// module that was traced is made of many.
#include <cmath>

#include "tools/import/aten/operands.h"

namespace ingot::aten {
namespace {

ValueId turned(Builder& b, ValueId matrix) {
  if (b.rank(matrix) != 2)
    throw Refused{"", "has a weight of shape " + graph::text(b.dims(matrix)), ""};
  return b.transpose(matrix, {1, 0});
}
ValueId projected(Builder& b, ValueId x, ValueId weight, ValueId bias) {
  return b.emit(op::Add, {b.emit(op::MatMul, {x, turned(b, weight)}), bias});
}
/// [B, T, D] as [B, H, T, D / H].
ValueId in_heads(Builder& b, ValueId x, int64_t heads) {
  const Dims in = b.dims(x);
  return b.transpose(b.reshape(x, {in[0], in[1], Dim(heads), in[2] / Dim(heads)}), {0, 2, 1, 3});
}
/// True where a key is left out, over [B, H, T, S].
ValueId excluded(Operands& o) {
  if (!o.given("mask")) return graph::kAbsent;
  constexpr int64_t kOfQueries = 0, kOfKeys = 1, kOfBoth = 2;
  if (!o.given("mask_type")) o.refuse("mask_type", "must be given with a mask");
  const int64_t type = o.integer("mask_type");
  const ValueId mask = o.b.cast(o.read("mask"), DType::kBool);  // what is added as -inf is left out
  const Dims dims = o.b.dims(mask);
  if (type == kOfQueries && dims.size() == 2) return mask;
  if (type == kOfKeys && dims.size() == 2)
    return o.b.reshape(mask, {dims[0], Dim(1), Dim(1), dims[1]});
  if (type == kOfBoth && dims.size() == 4) return mask;
  o.refuse("mask_type", "is " + std::to_string(type) + " for a mask of " + graph::text(dims));
}

struct Attended {
  ValueId out, weights;
};
Attended attend(Operands& o, ValueId query, ValueId key, ValueId value, int64_t width,
                int64_t heads, ValueId left_out) {
  Builder& b = o.b;
  const ValueId weight = o.read("qkv_weight"), bias = o.read("qkv_bias");
  const auto parts = [&](ValueId whole) {
    return b.emit_many(op::Split, {whole},
                       {{attr::axis, int64_t(0)}, {attr::split, Dims(3, Dim(width))}}, 3);
  };
  if (heads < 1 || width < 1 || width > int64_t(1) << 30 || width % heads != 0)
    o.corrupt("has " + std::to_string(heads) + " heads over " + std::to_string(width) + " numbers");
  for (const ValueId id : {query, key, value})
    if (b.rank(id) != 3 || b.dims(id)[2] != Dim(width))
      o.corrupt("reads " + graph::text(b.dims(id)));
  if (b.dims(weight) != Dims{Dim(3 * width), Dim(width)} || b.dims(bias) != Dims{Dim(3 * width)})
    o.corrupt("has a weight of shape " + graph::text(b.dims(weight)));
  ValueId q, k, v;
  if (query == key && key == value) {
    const auto all = b.emit_many(op::Split, {projected(b, query, weight, bias)},
                                 {{attr::axis, int64_t(2)}, {attr::split, Dims(3, Dim(width))}}, 3);
    q = all[0], k = all[1], v = all[2];
  } else {
    const auto weights = parts(weight), biases = parts(bias);
    q = projected(b, query, weights[0], biases[0]);
    k = projected(b, key, weights[1], biases[1]);
    v = projected(b, value, weights[2], biases[2]);
  }
  const double scale = 1 / std::sqrt(double(width / heads));
  q = in_heads(b, b.emit(op::Mul, {q, b.scalar(b.dtype(q), scale)}), heads);
  const ValueId keys = b.transpose(in_heads(b, k, heads), {0, 1, 3, 2});
  ValueId scores = b.emit(op::MatMul, {q, keys});
  if (left_out != graph::kAbsent)
    scores = b.emit(op::Where, {left_out, b.scalar(b.dtype(scores), -INFINITY), scores});
  Attended made;
  made.weights = b.emit(op::Softmax, {scores}, {{attr::axis, int64_t(3)}});
  const ValueId mixed =
      b.transpose(b.emit(op::MatMul, {made.weights, in_heads(b, v, heads)}), {0, 2, 1, 3});
  made.out =
      projected(b, b.reshape(mixed, b.dims(query)), o.read("proj_weight"), o.read("proj_bias"));
  return made;
}
Results native_attention(Operands& o) {
  const Attended made = attend(o, o.read("query"), o.read("key"), o.read("value"),
                               o.integer("embed_dim"), o.integer("num_head"), excluded(o));
  Results results = o.result(made.out);
  const bool mean = o.flag("average_attn_weights");
  if (!o.flag("need_weights"))
    results.push_back(Value::unavailable("the weights of an attention were not asked for"));
  else
    results.push_back(Value::of(
        o.b.own(mean ? o.b.reduce(op::ReduceMean, made.weights, {1}, false) : made.weights)));
  return results;
}
Results encoder_layer(Operands& o) {
  Builder& b = o.b;
  const int64_t width = o.integer("embed_dim");
  const bool first = o.flag("norm_first");
  const double epsilon = o.number("eps");
  const auto norm = [&](ValueId x, const char* weight, const char* bias) {
    return b.emit(op::LayerNormalization, {x, o.read(weight), o.read(bias)},
                  {{attr::axis, int64_t(-1)}, {attr::epsilon, epsilon}});
  };
  const auto sequences = Builder::nested(o.tensor("src"));
  if (sequences && o.given("mask")) o.refuse("mask", "of a nested tensor is not supported");
  const ValueId source = sequences ? sequences->padded : o.read("src");
  ValueId left_out = sequences ? b.emit(op::Not, {sequences->kept}) : excluded(o);
  if (sequences)
    left_out = b.reshape(left_out, {b.dims(left_out)[0], Dim(1), Dim(1), b.dims(left_out)[1]});
  ValueId x = first ? norm(source, "norm_weight_1", "norm_bias_1") : source;
  x = b.emit(op::Add, {attend(o, x, x, x, width, o.integer("num_heads"), left_out).out, source});
  if (!first) x = norm(x, "norm_weight_1", "norm_bias_1");
  const ValueId kept = x;
  if (first) x = norm(x, "norm_weight_2", "norm_bias_2");
  x = projected(b, x, o.read("ffn_weight_1"), o.read("ffn_bias_1"));
  x = o.flag("use_gelu") ? b.emit(op::Gelu, {x}, {{attr::approximate, std::string("none")}})
                         : b.emit(op::Relu, {x});
  x = b.emit(op::Add, {projected(b, x, o.read("ffn_weight_2"), o.read("ffn_bias_2")), kept});
  if (!first) x = norm(x, "norm_weight_2", "norm_bias_2");
  return sequences ? Results{Value::of(b.nested(x, sequences->kept))} : o.result(x);
}

/// Each sequence has as many rows as its mask holds, from the first one.
Results sequences_of(Operands& o) {
  Builder& b = o.b;
  const ValueId padded = o.read("t"), mask = o.read("mask");
  const Dims dims = b.dims(mask);
  if (b.rank(padded) != 3 || dims.size() != 2) o.corrupt("has a mask of " + graph::text(dims));
  const ValueId lengths = b.reduce(op::ReduceSum, b.cast(mask, DType::kI64), {1}, true);
  return {Value::of(b.nested(
      padded, b.emit(op::Less, {b.reshape(b.counting(dims[1]), {Dim(1), dims[1]}), lengths})))};
}
Results padded_sequences(Operands& o) {
  Builder& b = o.b;
  const auto sequences = Builder::nested(o.tensor("self"));
  if (!sequences) o.refuse("self", "is no nested tensor, which is not converted");
  const Dims dims = b.dims(sequences->padded);
  if (!o.given("output_size") || o.dims("output_size") != dims)
    o.refuse("output_size", "must be the size of the tensor that the nested one was made of, " +
                                graph::text(dims));
  const ValueId kept = b.reshape(sequences->kept, {dims[0], dims[1], Dim(1)});
  const ValueId padding = b.scalar(b.dtype(sequences->padded), o.number("padding"));
  return o.result(b.emit(op::Where, {kept, sequences->padded, padding}));
}

}  // namespace

void add_layers(Table& table) {
  table.add("_native_multi_head_attention",
            "Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor "
            "qkv_weight, Tensor qkv_bias, "
            "Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool "
            "average_attn_weights=True, int? mask_type=None",
            native_attention);
  table.add("_transformer_encoder_layer_fwd",
            "Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor "
            "proj_weight, Tensor "
            "proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor "
            "norm_bias_1, Tensor "
            "norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor "
            "ffn_weight_2, Tensor "
            "ffn_bias_2, Tensor? mask=None, int? mask_type=None",
            encoder_layer);
  table.add("_nested_tensor_from_mask", "Tensor t, Tensor mask, bool mask_check=True",
            sequences_of);
  table.add("to_padded_tensor", "Tensor self, float padding, int[]? output_size=None",
            padded_sequences);
}

}  // namespace ingot::aten
