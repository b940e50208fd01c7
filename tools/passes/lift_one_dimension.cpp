// Convolutions and pools along one dimension, kept at rank 3 [N, L, C] so far so that everything could be folded into
// them, become pictures one row high between Reshapes.
#include "tools/passes/pass.h"

namespace ingot::passes {
namespace {

constexpr int64_t kMostChannelsRead = 64;

Dims with_row(const Dims& dims) { return {dims[0], Dim(1), dims[1], dims[2]}; }

bool from_port(const Node& node) { return node.text("input_layout", "nhwc") == "nchw"; }

Dims picture_dims(const Editor& e, const Node& node) {
  const Dims& dims = e.dims(node.inputs[0]);
  return from_port(node) ? Dims{dims[0], dims[1], Dim(1), dims[2]} : with_row(dims);
}

}  // namespace

uint32_t lift_one_dimension(Editor& e, Remarks& remarks) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    bool picture = node->op == "Conv2d" || node->op == "ConvTranspose2d" || node->op == "Pool2d";
    if (!picture || e.rank(node->inputs[0]) != 3) continue;
    std::vector<ValueId> inputs = node->inputs;
    inputs[0] = e.reshape(inputs[0], picture_dims(e, *node), *node);
    if (!from_port(*node)) e.value(inputs[0]).layout = "NHWC";
    if (inputs.size() > 3) inputs[3] = e.reshape(inputs[3], with_row(e.dims(inputs[3])), *node);
    e.set_inputs(*node, inputs);
    ValueId out = node->outputs[0];
    ValueId row = e.new_value(e.value(out).name + "/row", e.value(out).dtype, with_row(e.dims(out)));
    e.value(row).layout = "NHWC";
    e.set_outputs(*node, {row});
    e.add("Reshape", {row}, {out}, *node);
    changed++;
  }
  if (changed) simplify(e, remarks);
  return changed;
}

uint32_t fold_input_layout(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != "Conv2d" || node->integer("groups", 1) != 1) continue;
    Node* turned = e.producer_if(node->inputs[0], "Transpose");
    if (!turned || turned->integers("perm") != to_channels_last(e.rank(node->inputs[0]))) continue;
    ValueId port = turned->inputs[0];
    // A wide input is better transposed once: the convolution may then become Winograd, which reads channels last only.
    std::optional<int64_t> channels = e.dims(port)[1].value();
    if (!channels || *channels > kMostChannelsRead) continue;
    if (!e.is_input(port) || !e.read_once(port) || !e.read_once(node->inputs[0])) continue;
    node->attributes["input_layout"] = std::string("nchw");
    e.merge_sources(*node, *turned);
    e.set_input(*node, 0, port);
    e.kill(*turned);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
