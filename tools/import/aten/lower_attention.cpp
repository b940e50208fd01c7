// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_attention.cpp - scaled products of queries, keys and values.
#include "tools/import/aten/operands.h"

namespace ingot::aten {
namespace {

/// [..., T, D] as [B, H, T, D].
ValueId in_heads(Builder& b, ValueId x) {
  Dims dims = b.dims(x);
  if (dims.size() == 4) return x;
  if (dims.size() == 3) return b.reshape(x, {dims[0], Dim(1), dims[1], dims[2]});
  if (dims.size() == 2) return b.reshape(x, {Dim(1), Dim(1), dims[0], dims[1]});
  const Dims lead(dims.begin(), dims.end() - 3);
  return b.reshape(
      x, {graph::product(lead), dims[dims.size() - 3], dims[dims.size() - 2], dims.back()});
}

Results attention(Operands& o) {
  const ValueId q = o.read("query"), k = o.read("key"), v = o.read("value");
  const Dims in = o.b.dims(q), values = o.b.dims(v);
  if (in.size() < 2 || in.size() > size_t(kMaxRank) || o.b.rank(k) != int64_t(in.size()) ||
      values.size() != in.size())
    o.corrupt("its query " + graph::text(in) + ", key " + graph::text(o.b.dims(k)) + " and value " +
              graph::text(values) + " differ in rank");
  if (o.number("dropout_p") != 0)
    o.b.note(
        "attention was saved with dropout; converted in inference form, where it does nothing");
  std::vector<ValueId> inputs = {in_heads(o.b, q), in_heads(o.b, k), in_heads(o.b, v)};
  const bool causal = o.flag("is_causal");
  if (o.given("attn_mask")) {
    ValueId mask = o.read("attn_mask");
    if (in.size() == 3 && o.b.rank(mask) == 3) {
      const Dims dims = o.b.dims(mask);
      mask = o.b.reshape(mask, {dims[0], Dim(1), dims[1], dims[2]});
    }
    if (in.size() > 4 && o.b.rank(mask) > 2) {
      Dims wide(in.begin(), in.end() - 1);
      wide.push_back(o.b.dims(k)[in.size() - 2]);
      mask = in_heads(o.b, o.b.expand(mask, wide));
    }
    inputs.push_back(mask);
  }
  Attributes attributes = {{attr::is_causal, int64_t(causal)},
                           {attr::q_num_heads, int64_t(0)},
                           {attr::kv_num_heads, int64_t(0)},
                           {attr::softcap, 0.0}};
  if (o.given("scale")) attributes[attr::scale] = o.number("scale");
  Dims out = in;
  out.back() = values.back();
  Results results = o.result(o.b.reshape(o.b.emit(op::Attention, inputs, attributes), out));
  if (o.op() != "scaled_dot_product_attention")
    results.push_back(Value::unavailable("the logarithms of sums of an attention are not made"));
  return results;
}

}  // namespace

void add_attention(Table& table) {
  table.add(
      "scaled_dot_product_attention",
      "Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool "
      "is_causal=False, float? scale=None, bool "
      "enable_gqa=False",
      attention);
  table.add(
      "_scaled_dot_product_flash_attention_for_cpu",
      "Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, Tensor? "
      "attn_mask=None, float? scale=None",
      attention);
}

}  // namespace ingot::aten
