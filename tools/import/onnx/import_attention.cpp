// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_attention.cpp - Attention and RotaryEmbedding of opset 23, QAttention of
// com.microsoft.
#include "tools/import/onnx/call.h"
#include "tools/import/onnx/scaled_sums.h"

namespace ingot::onnx {
namespace {

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
  const ValueId scores = call.temporary("scores"), weights = call.temporary("weights");
  graph::Node& made = call.emit(op::FlexScores, {call.input(0), call.input(1)}, {scores});
  if (call.attribute("scale", kAttributeFloat))
    made.attributes[attr::scale] = call.number("scale", 1);
  call.integer("softmax_precision", 1);
  const ValueId changed = modified(call, "score_mod", scores);
  call.emit(op::Softmax, {changed}, {weights}).attributes[attr::axis] = int64_t(-1);
  const ValueId used = modified(call, "prob_mod", weights);
  call.emit(op::FlexValues, {used, call.input(2), call.input(0)}, {call.output(0)});
}

/// One product of bytes for queries, keys and values; behind it Attention of com.microsoft in f32.
void quantized_attention(Call& call) {
  if (call.integer("do_rotary", 0) != 0) return call.refuse("do_rotary", "rotary embeddings");
  if (call.integer("past_present_share_buffer", 0) != 0)
    return call.refuse("past_present_share_buffer", "one buffer for past and present",
                       "export it without, and let ingot keep the state (--state)");
  const ValueId all = call.temporary("projected");
  emit_scaled_sums(call, {call.input(0), call.input(1), call.input(6), call.input(7)},
                   call.input(3), call.input(4), call.input(2), all);
  graph::Node& made = call.emit(
      op::ContribAttention, {all, kAbsent, kAbsent, call.input(5), call.input(8)}, call.outputs());
  read_heads(call, made);
}

}  // namespace

void add_quantized_attention(TranslateTable& table) {
  table["QAttention"] = {5, 9, quantized_attention};
}

const TranslateTable& preview_table() {
  static const TranslateTable kTable = {{"FlexAttention", {3, 3, flex_attention}}};
  return kTable;
}

}  // namespace ingot::onnx
