// tools/import/onnx/import_attention.cpp - Attention and RotaryEmbedding of opset 23.
#include <cmath>

#include "tools/import/onnx/call.h"

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

}  // namespace

void add_attention(TranslateTable& table) {
  table["Attention"] = attention;
  table["RotaryEmbedding"] = rotary_embedding;
}

}  // namespace ingot::onnx
