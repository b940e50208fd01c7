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
  if (call.input(6) != kAbsent)
    call.refuse("nonpad_kv_seqlen", "lengths of keys beside a mask are not built",
                "pass a mask of the valid keys");
  if (call.wants(3))
    call.refuse("qk_matmul_output_mode", "the matrix of scores is never made",
                "take qk_matmul_output from the outputs of the model");
  graph::Node& made = call.emit("Attention");
  made.attributes["is_causal"] = call.integer("is_causal", 0);
  made.attributes["q_num_heads"] = call.integer("q_num_heads", 0);
  made.attributes["kv_num_heads"] = call.integer("kv_num_heads", 0);
  made.attributes["softcap"] = call.number("softcap", 0);
  if (call.attribute("scale", 1)) made.attributes["scale"] = call.number("scale", 1);
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

void add_attention(TranslateTable& table) {
  table["Attention"] = attention;
  table["RotaryEmbedding"] = rotary_embedding;
}

}  // namespace ingot::onnx
