// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_contrib.cpp - operators of com.microsoft in floating point, which
// onnxruntime's offline optimizer and its tools for transformers write: most are two or three
// operators of ONNX in one.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

/// The function that a fused operator ends with; its numbers in the order of activation_params.
void emit_activation(Call& call, ValueId x, const std::string& name,
                     const std::vector<double>& numbers) {
  const ValueId y = call.output(0);
  const auto number = [&](size_t i, double otherwise) {
    return i < numbers.size() ? numbers[i] : otherwise;
  };
  if (name.empty()) {
    call.emit(op::Identity, {x}, {y});
  } else if (name == "Relu" || name == "Tanh" || name == "Sigmoid" || name == "Softplus" ||
             name == "Softsign") {
    call.emit(graph::find_operator(name), {x}, {y});
  } else if (name == "LeakyRelu" || name == "Elu" || name == "ThresholdedRelu") {
    call.emit(graph::find_operator(name), {x}, {y}).attributes[attr::alpha] =
        number(0, name == "LeakyRelu" ? 0.01 : 1);
  } else if (name == "HardSigmoid") {
    graph::Node& made = call.emit(graph::find_operator(name), {x}, {y});
    made.attributes[attr::alpha] = number(0, 0.2), made.attributes[attr::beta] = number(1, 0.5);
  } else if (name == "Clip") {
    graph::Node& made = call.emit(graph::find_operator(name), {x}, {y});
    if (numbers.size() != 2)
      call.translator().corrupt(describe(call.node()) + ": Clip takes two activation_params");
    made.attributes[attr::min] = numbers[0], made.attributes[attr::max] = numbers[1];
  } else {
    call.refuse("activation", "'" + name + "' is not known");
  }
}

ValueId moved_channels(Call& call, ValueId x, const std::vector<int64_t>& perm) {
  const ValueId y = call.temporary("channels");
  call.emit(op::Transpose, {x}, {y}).attributes[attr::perm] = perm;
  return y;
}
const std::vector<int64_t> kToFirst = {0, 3, 1, 2}, kToLast = {0, 2, 3, 1};

/// Conv, then a sum, then a function; channels at the end in the Nhwc forms.
void fused_conv(Call& call) {
  const bool last = call.node().op != "FusedConv", own_weight = call.node().op == "NhwcConv";
  const auto first = [&](size_t i) {
    const ValueId x = call.input(i);
    return last && x != kAbsent ? moved_channels(call, x, kToFirst) : x;
  };
  const ValueId w = own_weight ? first(1) : call.input(1), x = first(0), z = first(3);
  ValueId y = call.temporary("conv");
  graph::Node& made = call.emit(op::Conv, {x, w, call.input(2)}, {y});
  made.attributes[attr::group] = call.integer("group", 1);
  if (!read_window(call, made)) return;
  if (z != kAbsent) {
    const ValueId sum = call.temporary("sum");
    call.emit(op::Add, {y, z}, {sum});
    y = sum;
  }
  if (!last)
    return emit_activation(call, y, call.text("activation", ""),
                           call.numbers("activation_params").value_or(std::vector<double>()));
  // the function of an element does not care where the channels lie
  const ValueId back = moved_channels(call, y, kToLast);
  emit_activation(call, back, own_weight ? "" : call.text("activation", ""),
                  own_weight ? std::vector<double>()
                             : call.numbers("activation_params").value_or(std::vector<double>()));
}

void fused_gemm(Call& call) {
  const ValueId y = call.temporary("gemm");
  graph::Node& made = call.emit(op::Gemm, call.inputs(), {y});
  for (const graph::AttributeName key : {attr::alpha, attr::beta})
    made.attributes[key] = call.number(key, 1);
  for (const graph::AttributeName key : {attr::transA, attr::transB})
    made.attributes[key] = int64_t(call.integer(key, 0) != 0);
  std::vector<double> numbers;
  for (const char* key : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (call.attribute(key, kAttributeFloat)) numbers.push_back(call.number(key, 0));
  emit_activation(call, y, call.text("activation", ""), numbers);
}

ValueId with_bias(Call& call) {
  if (call.input(1) == kAbsent) return call.input(0);
  const ValueId sum = call.temporary("biased");
  call.emit(op::Add, {call.input(0), call.input(1)}, {sum});
  return sum;
}
void contrib_gelu(Call& call) {
  const bool is_fast = call.node().op == "FastGelu";
  call.expect_inputs(call.node().op == "BiasGelu" ? 2 : 1, call.node().op == "Gelu" ? 1 : 2);
  call.emit(op::Gelu, {with_bias(call)}, {call.output(0)}).attributes[attr::approximate] =
      std::string(is_fast ? "tanh" : "none");
}
void bias_softmax(Call& call) {
  call.integer("is_inner_broadcast", 0);  // the shapes say it
  graph::Node& made = call.emit(op::Softmax, {with_bias(call)}, {call.output(0)});
  made.attributes[attr::axis] = call.integer("axis", 1);
  made.attributes[attr::flatten] = int64_t(1);
}

/// A norm of the sum of input, skip and bias; the sum is output 3.
void skip_norm(Call& call) {
  const bool is_rms = call.node().op == "SkipSimplifiedLayerNormalization";
  call.expect_inputs(3, is_rms ? 4 : 5);
  if (call.wants(1) || call.wants(2))
    return call.refuse("mean", "means and deviations as outputs, which training reads");
  ValueId sum = call.temporary("sum");
  const ValueId bias = call.input(is_rms ? 3 : 4);
  if (bias != kAbsent) {
    const ValueId first = call.temporary("first");
    call.emit(op::Add, {call.input(0), call.input(1)}, {first});
    call.emit(op::Add, {first, bias}, {call.wants(3) ? call.output(3) : sum});
  } else {
    call.emit(op::Add, {call.input(0), call.input(1)}, {call.wants(3) ? call.output(3) : sum});
  }
  if (call.wants(3)) sum = call.output(3);
  std::vector<ValueId> operands = {sum, call.input(2)};
  if (!is_rms) operands.push_back(call.input(3));
  graph::Node& made =
      call.emit(is_rms ? op::RMSNormalization : op::LayerNormalization, operands, {call.output(0)});
  made.attributes[attr::axis] = int64_t(-1);
  made.attributes[attr::epsilon] = call.number("epsilon", double(1e-12f));
}
/// Of the default domain too, as the optimizer writes it.
void simplified_norm(Call& call) {
  if (call.wants(1)) return call.refuse("inv_std_var", "which training reads");
  graph::Node& made = call.emit(op::RMSNormalization, call.inputs(), {call.output(0)});
  made.attributes[attr::axis] = call.integer("axis", -1);
  made.attributes[attr::epsilon] = call.number("epsilon", double(1e-5f));
  if (call.integer("stash_type", 1) != 1) call.refuse("stash_type", "only 1 (float) is supported");
}

void contrib_attention(Call& call) {
  if (call.integer("do_rotary", 0) != 0) return call.refuse("do_rotary", "rotary embeddings");
  if (call.integer("past_present_share_buffer", 0) != 0 || call.input(6) != kAbsent)
    return call.refuse("past_present_share_buffer", "one buffer for past and present",
                       "export it without, and let ingot keep the state (--state)");
  graph::Node& made = call.emit(op::ContribAttention);
  read_heads(call, made);
  if (const auto sizes = call.integers("qkv_hidden_sizes"))
    made.attributes[attr::qkv_hidden_sizes] = *sizes;
}
void multi_head_attention(Call& call) {
  if (call.input(8) != kAbsent || call.input(9) != kAbsent || call.wants(3))
    return call.refuse("past_sequence_length", "one buffer for past and present, and its beams",
                       "export it without, and let ingot keep the state (--state)");
  read_heads(call, call.emit(op::MultiHeadAttention));
}
void group_query_attention(Call& call) {
  call.expect_inputs(1, 16);  // keys and values may stand beside the queries
  if (call.input(5) == kAbsent || call.input(6) == kAbsent)
    call.translator().corrupt(describe(call.node()) + ": lacks seqlens_k or total_sequence_length");
  for (size_t i = 11; i < 16; i++)
    if (call.input(i) != kAbsent)
      return call.refuse("", "input " + std::to_string(i) +
                                 ": sinks, quantized caches and norms of heads are not built");
  if (call.wants(3)) return call.refuse("output_qk", "the matrix of scores as an output");
  graph::Node& made = call.emit(op::GroupQueryAttention);
  made.attributes[attr::num_heads] = call.integer("num_heads", 0);
  made.attributes[attr::kv_num_heads] = call.integer("kv_num_heads", 0);
  made.attributes[attr::softcap] = call.number("softcap", 0);
  made.attributes[attr::do_rotary] = call.integer("do_rotary", 0);
  made.attributes[attr::rotary_interleaved] = call.integer("rotary_interleaved", 0);
  made.attributes[attr::local_window_size] = call.integer("local_window_size", -1);
  if (call.attribute("scale", kAttributeFloat))
    made.attributes[attr::scale] = call.number("scale", 0);
  if (call.integer("smooth_softmax", 0) > 0)
    return call.refuse("smooth_softmax", "a softmax with one more in its sum");
  const std::pair<const char*, int64_t> plain[] = {
      {"qk_output", 0}, {"kv_cache_bit_width", 0}, {"sliding_window_cache", 0}, {"causal", 1}};
  for (const auto& [key, value] : plain)
    if (call.integer(key, value) != value)
      return call.refuse(key, "another value than the default");
  for (const char* key : {"k_quant_type", "v_quant_type"})
    if (call.text(key, "NONE") != "NONE") return call.refuse(key, "quantized caches");
  call.number("qk_norm_epsilon", 0);
}
/// position_ids [1] is where the first token stands.
void contrib_rotary(Call& call) {
  if (call.number("scale", 1) != 1) return call.refuse("scale", "another value than 1");
  if (call.integer("is_packed_batching", 0) != 0)
    return call.refuse("is_packed_batching", "tokens of several texts in one row");
  graph::Node& made = call.emit(op::ContribRotaryEmbedding);
  for (const graph::AttributeName key :
       {attr::interleaved, attr::num_heads, attr::rotary_embedding_dim})
    made.attributes[key] = call.integer(key, 0);
}

void search(Call& call) {
  call.refuse("", "a search over tokens is a loop around the model",
              "export the decoder by itself, and run the search with `ingot run` or the Python "
              "package (docs/transformers.md)");
  call.outputs();
}

}  // namespace

void read_heads(Call& call, graph::Node& made) {
  made.attributes[attr::num_heads] = call.integer("num_heads", 0);
  made.attributes[attr::mask_filter_value] = call.number("mask_filter_value", -10000.0);
  made.attributes[attr::unidirectional] = call.integer("unidirectional", 0);
  if (call.attribute("scale", kAttributeFloat))
    made.attributes[attr::scale] = call.number("scale", 0);
}

void add_contrib(TranslateTable& table) {
  for (const char* op : {"FusedConv", "NhwcFusedConv", "NhwcConv"}) table[op] = {2, 4, fused_conv};
  table["FusedGemm"] = {2, 3, fused_gemm};
  for (const char* op : {"Gelu", "FastGelu", "BiasGelu"}) table[op] = contrib_gelu;
  table["BiasSoftmax"] = {2, 2, bias_softmax};
  table["SkipLayerNormalization"] = table["SkipSimplifiedLayerNormalization"] = skip_norm;
  table["SimplifiedLayerNormalization"] = {2, 2, simplified_norm};
  table["Attention"] = {2, 7, contrib_attention};
  table["MultiHeadAttention"] = {1, 10, multi_head_attention};
  table["GroupQueryAttention"] = group_query_attention;
  table["RotaryEmbedding"] = {4, 4, contrib_rotary};
  table["BeamSearch"] = table["GreedySearch"] = table["Sampling"] = search;
}
void add_simplified_norm(TranslateTable& table) {
  table["SimplifiedLayerNormalization"] = {2, 2, simplified_norm};
}

}  // namespace ingot::onnx
