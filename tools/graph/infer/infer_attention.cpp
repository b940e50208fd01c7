// tools/graph/infer/infer_attention.cpp - Attention, with past keys and values as Concats of their
// own; rotary embeddings spelled out.
#include <cmath>

#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

/// How many heads an operand of [B, T, heads * D] or [B, heads, T, D] has.
int64_t heads_of(Site& site, size_t input, const char* key) {
  const Dims& dims = site.dims(input);
  if (dims.size() != 3 && dims.size() != 4)
    site.corrupt("its operand " + std::to_string(input) + " has shape " + text(dims) +
                 ", expected 3 or 4 dimensions");
  if (dims.size() == 3) {
    const int64_t heads = site.node.integer(key, 0);
    if (heads < 1)
      site.corrupt(std::string("lacks ") + key + ", which operands of 3 dimensions ask for");
    const auto width = dims[2].value();
    if (!width)
      site.refuse("", "the width " + dims[2].text() + " of its heads is symbolic",
                  "bind it with --dim");
    if (*width % heads != 0)
      site.corrupt(std::to_string(heads) + " heads do not divide its operand " +
                   std::to_string(input) + " of " + text(dims));
    return heads;
  }
  if (!dims[1].value())
    site.refuse("", "its number of heads " + dims[1].text() + " is symbolic", "bind it with --dim");
  return *dims[1].value();
}

/// [B, heads, T, D].
ValueId as_heads(Site& site, ValueId x, int64_t heads) {
  const Dims dims = site.run().value(x).dims;
  if (dims.size() == 4) return x;
  const ValueId split = site.reshape(x, {dims[0], dims[1], Dim(heads), dims[2] / Dim(heads)});
  return site.make("Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

/// Keys (or values) with those of the past in front; what output `present` is.
ValueId with_past(Site& site, size_t input, size_t past, int64_t heads, size_t present) {
  const ValueId x = site.in(input);
  if (!site.has(past)) {
    if (present < site.node.outputs.size() && site.node.outputs[present] != kAbsent)
      site.run().replace(site.node.outputs[present], as_heads(site, x, heads));
    return x;
  }
  const ValueId all =
      site.make("Concat", {site.in(past), as_heads(site, x, heads)}, {{"axis", int64_t(2)}});
  if (present < site.node.outputs.size() && site.node.outputs[present] != kAbsent)
    site.run().replace(site.node.outputs[present], all);
  return all;
}

Dim length_of(const Dims& dims) { return dims.size() == 4 ? dims[2] : dims[1]; }
Dim width_of(const Dims& dims, int64_t heads) {
  return dims.size() == 4 ? dims[3] : dims[2] / Dim(heads);
}

void attention(Site& site) {
  if (site.node.has("heads")) return;  // in normal form since an earlier walk
  const int64_t heads = heads_of(site, 0, "q_num_heads"),
                kv_heads = heads_of(site, 1, "kv_num_heads");
  if (heads_of(site, 2, "kv_num_heads") != kv_heads || kv_heads < 1 || heads % kv_heads != 0)
    site.corrupt("its " + std::to_string(heads) + " query heads do not share " +
                 std::to_string(kv_heads) + " key heads");
  const bool has_past = site.has(4);
  const Dims q = site.dims(0);
  const ValueId k = with_past(site, 1, 4, kv_heads, 1), v = with_past(site, 2, 5, kv_heads, 2);
  const Dims keys = site.run().value(k).dims, values = site.run().value(v).dims;
  const Dim width = width_of(q, heads);
  if (!width.value())
    site.refuse("", "the width " + width.text() + " of its heads is symbolic",
                "bind it with --dim");
  const ValueId mask = site.in(3);
  if (mask != kAbsent) {
    const Dims& dims = site.run().value(mask).dims;
    if (dims.size() > 4)
      site.corrupt("its mask has shape " + text(dims) + ", expected at most 4 dimensions");
    const int64_t given = dims.empty() ? 1 : dims.back().value().value_or(1),
                  whole = length_of(keys).value().value_or(0);
    if (given != 1 && given < whole)
      site.refuse(
          "", "its mask " + text(dims) + " is shorter than its " + std::to_string(whole) + " keys");
  }
  const double scale = site.node.number("scale", 1 / std::sqrt(double(*width.value())));
  const bool causal = site.node.integer("is_causal", 0) != 0;
  const double softcap = site.node.number("softcap", 0);
  site.node.inputs = {site.in(0), k, v};
  if (mask != kAbsent) site.node.inputs.push_back(mask);
  site.node.outputs.resize(1);
  site.node.attributes = {{"heads", heads},
                          {"kv_heads", kv_heads},
                          {"scale", scale},
                          {"softcap", softcap},
                          {"causal", std::string(!causal    ? "none"
                                                 : has_past ? "bottom_right"
                                                            : "top_left")}};
  const Dim value_width = width_of(values, kv_heads);
  if (q.size() == 4)
    site.set(0, site.dtype(0), {q[0], q[1], q[2], value_width});
  else
    site.set(0, site.dtype(0), {q[0], q[1], Dim(heads) * value_width});
}

class Rotation {
 public:
  explicit Rotation(Site& s) : site(s) {}

  void run() {
    const Dims dims = site.dims(0);
    if (dims.size() != 3 && dims.size() != 4)
      site.corrupt("its input has shape " + text(dims) + ", expected 3 or 4 dimensions");
    const int64_t heads = dims.size() == 3 ? heads_of(site, 0, "num_heads") : 0;
    ValueId x = site.in(0);
    if (heads) x = site.reshape(x, {dims[0], dims[1], Dim(heads), dims[2] / Dim(heads)});
    const Dims four = site.run().value(x).dims;
    const auto width = four[3].value();
    if (!width)
      site.refuse("", "the width " + four[3].text() + " of its heads is symbolic",
                  "bind it with --dim");
    const int64_t asked = site.node.integer("rotary_embedding_dim", 0),
                  turned = asked > 0 ? asked : *width;
    if (turned > *width || turned % 2 != 0)
      site.corrupt("rotary_embedding_dim is " + std::to_string(turned) + " of " +
                   std::to_string(*width));
    const ValueId cos = angles(1, heads != 0, turned / 2), sin = angles(2, heads != 0, turned / 2);
    const bool interleaved = site.node.integer("interleaved", 0) != 0;
    const ValueId a = interleaved ? part(x, 0, turned, 2) : part(x, 0, turned / 2, 1),
                  b = interleaved ? part(x, 1, turned, 2) : part(x, turned / 2, turned, 1);
    const ValueId real = site.make("Sub", {site.make("Mul", {cos, a}), site.make("Mul", {sin, b})});
    const ValueId imaginary =
        site.make("Add", {site.make("Mul", {sin, a}), site.make("Mul", {cos, b})});
    ValueId y = interleaved ? woven(real, imaginary)
                            : site.make("Concat", {real, imaginary}, {{"axis", int64_t(3)}});
    if (turned < *width)
      y = site.make("Concat", {y, part(x, turned, *width, 1)}, {{"axis", int64_t(3)}});
    site.same(0, site.reshape(y, dims));
  }

 private:
  Site& site;

  ValueId part(ValueId x, int64_t from, int64_t to, int64_t step) {
    return site.make("Slice", {x},
                     {{"starts", Dims{Dim(from)}},
                      {"ends", Dims{Dim(to)}},
                      {"axes", std::vector<int64_t>{3}},
                      {"steps", std::vector<int64_t>{step}}});
  }
  ValueId woven(ValueId a, ValueId b) {
    Dims apart = site.run().value(a).dims, together = apart;
    apart.push_back(Dim(1));
    together[3] = together[3] * Dim(2);
    const ValueId both = site.make("Concat", {site.reshape(a, apart), site.reshape(b, apart)},
                                   {{"axis", int64_t(4)}});
    return site.reshape(both, together);
  }
  /// cos or sin as it is multiplied: of the positions asked for, a 1 where the heads are.
  ValueId angles(size_t input, bool heads_last, int64_t half) {
    ValueId x = site.in(input);
    if (site.has(3)) x = site.make("Gather", {x, site.in(3)}, {{"axis", int64_t(0)}});
    Dims dims = site.run().value(x).dims;
    if (dims.size() != 3 || (dims[2].value() && *dims[2].value() != half))
      site.corrupt("its table of angles has shape " + text(site.dims(input)) + ", expected " +
                   std::to_string(half) + " at the end");
    dims.insert(dims.begin() + (heads_last ? 2 : 1), Dim(1));
    return site.reshape(x, dims);
  }
};

void rotary_embedding(Site& site) { Rotation(site).run(); }

}  // namespace

void add_attention_rules(InferTable& table) {
  table["Attention"] = attention;
  table["RotaryEmbedding"] = rotary_embedding;
}

}  // namespace ingot::graph
