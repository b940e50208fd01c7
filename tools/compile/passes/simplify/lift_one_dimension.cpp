// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools along one dimension, kept at rank 3 [N, L, C] so far so that everything
// could be folded into them, become images one row high between Reshapes; so do convolutions of
// images one column wide, because kernels work along rows.
#include "tools/compile/passes/common/pass.h"
#include "tools/graph/window.h"

namespace ingot::passes {
namespace {

constexpr int64_t kMaxChannelsRead = 64;

Dims with_row(const Dims& dims) { return {dims[0], Dim(1), dims[1], dims[2]}; }

bool from_port(const Node& node) { return node.text(attr::input_layout, "nhwc") == "nchw"; }

Dims image_dims(const Editor& e, const Node& node) {
  const Dims& dims = e.dims(node.inputs[0]);
  return from_port(node) ? Dims{dims[0], dims[1], Dim(1), dims[2]} : with_row(dims);
}

bool is_one(const Dim& dim) { return dim.value() == 1; }

/// A window over the rows of an image that is one column wide, before and after.
bool works_down_a_column(const Editor& e, const Node& node) {
  if (node.op != op::Conv2d || e.rank(node.inputs[0]) != 4 || !e.constant(node.inputs[1]))
    return false;
  const bool one_column =
      is_one(e.dims(node.inputs[0])[from_port(node) ? 3 : 2]) && is_one(e.dims(node.outputs[0])[2]);
  const graph::Window2d window = graph::window_of(node);
  return one_column && window.w.kernel == 1 && window.h.kernel > 1 && !window.w.has_pads();
}

Dims laid_down(const Dims& dims, bool nchw = false) {
  return nchw ? Dims{dims[0], dims[1], dims[3], dims[2]} : Dims{dims[0], dims[2], dims[1], dims[3]};
}

/// The weights [O, k, 1, C] as [O, 1, k, C]: the same bytes.
ValueId lay_weights_down(Editor& e, ValueId weights) {
  Constant turned = *e.constant(weights);
  std::swap(turned.dims[1], turned.dims[2]);
  return e.new_constant(e.value(weights).name + "/row", std::move(turned));
}

/// The node makes a row now, channels last; a reshape gives it back its dims.
void make_row(Editor& e, Node* node, Dims dims) {
  const ValueId out = node->outputs[0];
  const ValueId row = e.new_value(e.value(out).name + "/row", e.value(out).dtype, std::move(dims));
  e.value(row).layout = "NHWC";
  e.set_outputs(*node, {row});
  e.add(op::Reshape, {row}, {out}, *node);
}

}  // namespace

uint32_t lay_columns_down(Editor& e, Remarks& remarks) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (!works_down_a_column(e, *node)) continue;
    std::vector<ValueId> inputs = node->inputs;
    for (size_t i : {size_t(0), size_t(3)}) {
      if (i >= inputs.size() || inputs[i] == kAbsent) continue;
      const bool nchw = i == 0 && from_port(*node);
      inputs[i] = e.reshape(inputs[i], laid_down(e.dims(inputs[i]), nchw), *node);
      if (!nchw) e.value(inputs[i]).layout = "NHWC";
    }
    inputs[1] = lay_weights_down(e, inputs[1]);
    e.set_inputs(*node, inputs);
    graph::Window2d window = graph::window_of(*node);
    std::swap(window.h, window.w);
    graph::set_window(node, window);
    make_row(e, node, laid_down(e.dims(node->outputs[0])));
    changed++;
  }
  if (changed) simplify(e, remarks);
  return changed;
}

uint32_t lift_one_dimension(Editor& e, Remarks& remarks) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    bool image =
        node->op == op::Conv2d || node->op == op::ConvTranspose2d || node->op == op::Pool2d;
    if (!image || e.rank(node->inputs[0]) != 3) continue;
    std::vector<ValueId> inputs = node->inputs;
    inputs[0] = e.reshape(inputs[0], image_dims(e, *node), *node);
    if (!from_port(*node)) e.value(inputs[0]).layout = "NHWC";
    if (inputs.size() > 3) inputs[3] = e.reshape(inputs[3], with_row(e.dims(inputs[3])), *node);
    e.set_inputs(*node, inputs);
    make_row(e, node, with_row(e.dims(node->outputs[0])));
    changed++;
  }
  if (changed) simplify(e, remarks);
  return changed;
}

uint32_t fold_input_layout(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::Conv2d || node->integer(attr::group, 1) != 1) continue;
    Node* turned = e.producer_if(node->inputs[0], op::Transpose);
    if (!turned || turned->integers(attr::perm) != to_channels_last(e.rank(node->inputs[0])))
      continue;
    ValueId port = turned->inputs[0];
    // A wide input is better transposed once: the convolution may then become Winograd, which reads
    // channels last only.
    std::optional<int64_t> channels = e.dims(port)[1].value();
    if (!channels || *channels > kMaxChannelsRead) continue;
    if (!e.is_input(port) || !e.read_once(port) || !e.read_once(node->inputs[0])) continue;
    node->attributes[attr::input_layout] = std::string("nchw");
    e.merge_sources(*node, *turned);
    e.set_input(*node, 0, port);
    e.kill(*turned);
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
