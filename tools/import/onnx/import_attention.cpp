// tools/import/onnx/import_attention.cpp - Attention and RotaryEmbedding of opset 23, QAttention of
// com.microsoft.
#include <cmath>

#include "tools/graph/tensor_math.h"
#include "tools/import/onnx/call.h"
#include "tools/import/onnx/scaled_sums.h"

namespace ingot::onnx {
namespace {

void attention(Call& call) {
  call.expect_inputs(3, call.opset() >= 24 ? 7 : 6);
  graph::Node& made = call.emit("Attention");
  for (const char* key : {"left_window_size", "right_window_size"})
    if (call.opset() >= 25) made.attributes[key] = call.integer(key, -1);
  made.attributes["qk_matmul_output_mode"] = call.integer("qk_matmul_output_mode", 0);
  made.attributes["is_causal"] = call.integer("is_causal", 0);
  made.attributes["q_num_heads"] = call.integer("q_num_heads", 0);
  made.attributes["kv_num_heads"] = call.integer("kv_num_heads", 0);
  made.attributes["softcap"] = call.number("softcap", 0);
  if (call.attribute("scale", 1)) made.attributes["scale"] = call.number("scale", 1);
}

/// A graph with one input and one output, inlined at `x`; `x` itself where there is none.
ValueId modified(Call& call, const char* name, ValueId x) {
  const Attribute* attribute = call.attribute(name, kAttributeGraph);
  if (!attribute) return x;
  const Graph& source = *attribute->graph;
  if (source.inputs.size() != 1 || source.outputs.size() != 1)
    call.translator().corrupt(describe(call.node()) + ": its " + name +
                              " must have one input and one output");
  graph::Graph apart;
  Scope inner;
  inner.parent = &call.scope();
  inner.graph = &apart;
  inner.opsets = call.scope().opsets;
  inner.arguments = call.scope().arguments;
  inner.prefix = call.scope().prefix + name + "/";
  inner.depth = call.scope().depth;
  inner.names[source.inputs[0].name] = x;
  call.translator().translate_graph(source, inner);
  for (graph::Node& node : apart.nodes) call.scope().graph->nodes.push_back(std::move(node));
  return apart.outputs[0];
}

/// Attention whose scores and weights the model's own graphs change.
void flex_attention(Call& call) {
  call.expect_inputs(3, 3);
  const ValueId scores = call.temporary("scores"), weights = call.temporary("weights");
  graph::Node& made = call.emit("FlexScores", {call.input(0), call.input(1)}, {scores});
  if (call.attribute("scale", kAttributeFloat)) made.attributes["scale"] = call.number("scale", 1);
  call.integer("softmax_precision", 1);
  const ValueId changed = modified(call, "score_mod", scores);
  call.emit("Softmax", {changed}, {weights}).attributes["axis"] = int64_t(-1);
  const ValueId used = modified(call, "prob_mod", weights);
  call.emit("FlexValues", {used, call.input(2), call.input(0)}, {call.output(0)});
}

void rotary_embedding(Call& call) {
  call.expect_inputs(3, 4);
  graph::Node& made = call.emit("RotaryEmbedding");
  made.attributes["interleaved"] = call.integer("interleaved", 0);
  made.attributes["num_heads"] = call.integer("num_heads", 0);
  made.attributes["rotary_embedding_dim"] = call.integer("rotary_embedding_dim", 0);
}

ValueId constant_i64(Call& call, const std::vector<int64_t>& all) {
  return call.translator().model.add_constant(
      "numbers", graph::make_constant(DType::kI64, {int64_t(all.size())}, all.data()));
}
/// A mask of 1 and 0 [B, T] as what is added to scores [B, heads, S, T].
ValueId added_mask(Call& call, ValueId mask, double filter) {
  graph::Model& model = call.translator().model;
  const graph::Value& given = model.values[size_t(mask)];
  if (!given.shape_known || given.dims.size() != 2) {
    call.refuse("mask_index", "lengths or a mask that is not [batch, keys]",
                "pass a mask of the valid keys as an input of the model");
    return kAbsent;
  }
  const float one = 1, by = float(filter);
  const auto number = [&](const float& x) {
    return model.add_constant("number", graph::make_constant(DType::kF32, {}, &x));
  };
  const ValueId kept = call.temporary("kept"), left = call.temporary("left_out"),
                scaled = call.temporary("mask"), y = call.temporary("added_mask");
  call.emit("Cast", {mask}, {kept}).attributes["to"] = int64_t(DType::kF32);
  call.emit("Sub", {number(one), kept}, {left});
  call.emit("Mul", {left, number(by)}, {scaled});
  call.emit("Unsqueeze", {scaled, constant_i64(call, {1, 2})}, {y});
  return y;
}

/// One product of bytes for queries, keys and values, then attention in f32.
void quantized_attention(Call& call) {
  call.expect_inputs(5, 9);
  const int64_t heads = call.integer("num_heads", 0);
  const double filter = call.number("mask_filter_value", -10000.0), scale = call.number("scale", 0);
  const bool causal = call.integer("unidirectional", 0) != 0;
  if (call.integer("do_rotary", 0) != 0) return call.refuse("do_rotary", "rotary embeddings");
  if (call.input(8) != kAbsent || call.wants(1))
    return call.refuse("past", "past keys and values", "leave out past and present");
  call.integer("past_present_share_buffer", 0);
  const ValueId all = call.temporary("projected");
  emit_scaled_sums(call, {call.input(0), call.input(1), call.input(6), call.input(7)},
                   call.input(3), call.input(4), call.input(2), all);
  std::vector<ValueId> operands;
  for (const char* part : {"q", "k", "v"}) operands.push_back(call.temporary(part));
  graph::Node& split = call.emit("Split", {all}, operands);
  split.attributes["axis"] = int64_t(2), split.attributes["num_outputs"] = int64_t(3);
  if (call.input(5) != kAbsent) operands.push_back(added_mask(call, call.input(5), filter));
  if (call.refused()) return;
  graph::Node& made = call.emit("Attention", operands, {call.output(0)});
  made.attributes["q_num_heads"] = made.attributes["kv_num_heads"] = heads;
  made.attributes["is_causal"] = int64_t(causal);
  made.attributes["softcap"] = 0.0;
  if (scale != 0) made.attributes["scale"] = scale;
}

}  // namespace

void add_quantized_attention(TranslateTable& table) { table["QAttention"] = quantized_attention; }

const TranslateTable& preview_table() {
  static const TranslateTable kTable = {{"FlexAttention", flex_attention}};
  return kTable;
}

void add_attention(TranslateTable& table) {
  table["Attention"] = attention;
  table["RotaryEmbedding"] = rotary_embedding;
}

}  // namespace ingot::onnx
