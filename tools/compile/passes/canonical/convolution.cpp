// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/canonical/computed_convolution.h"
#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"

namespace ingot::passes {
namespace {

// The window as it is, but for its pads.
Attributes window(const Node& node, Integers pads, int64_t groups) {
  return {{attr::kernel_shape, node.integers(attr::kernel_shape)},
          {attr::strides, node.integers(attr::strides)},
          {attr::dilations, node.integers(attr::dilations)},
          {attr::pads, std::move(pads)},
          {attr::group, groups}};
}

// What every convolution needs; refuses and returns false otherwise.
bool usable(Canonical& c, const Node& node) {
  Editor& e = c.editor;
  size_t rank = e.rank(node.inputs[0]);
  if (rank != 3 && rank != 4) {
    c.refuse(node, "",
             "convolutions over " + std::to_string(rank - 2) + " dimensions are not built yet",
             "one or two work");
    return false;
  }
  const Constant* w = e.constant(node.inputs[1]);
  if (!w) {
    c.refuse(node, "W", "its weights are computed when the model runs",
             "export the model with constant weights");
    return false;
  }
  if (w->dtype != DType::kF32 || e.value(node.inputs[0]).dtype != DType::kF32) {
    c.refuse(node, "",
             "only f32 convolutions are built, this one is " + std::string(dtype_name(w->dtype)),
             "export the model in f32");
    return false;
  }
  return true;
}

// Adds the bias: as operand when constant, as an Elementwise behind otherwise. Writes the node's
// output in the source's layout.
void finish(Editor& e, const Node& node, graph::Operator op, std::vector<ValueId> inputs,
            Attributes attributes) {
  ValueId out = node.outputs[0], bias = node.inputs.size() > 2 ? node.inputs[2] : kAbsent;
  Integers perm = to_channels_last(e.rank(out));
  Dims dims = permuted(e.dims(out), perm);
  if (bias >= 0 && e.constant(bias)) inputs.push_back(bias);
  ValueId y = e.emit(op, inputs, DType::kF32, dims, node, std::move(attributes));
  e.value(y).layout = "NHWC";
  if (bias >= 0 && !e.constant(bias))
    y = e.emit(op::Elementwise, {y, bias}, DType::kF32, dims, node,
               elementwise({{Op::kAdd, 0, 1}}, "f32"));
  e.add(op::Transpose, {y}, {out}, node, {{attr::perm, inverse(perm)}});
}

ValueId channels_last(Editor& e, ValueId x, const Node& node) {
  ValueId y = e.transpose(x, to_channels_last(e.rank(x)), node);
  e.value(y).layout = "NHWC";
  return y;
}

void convolution(Canonical& c, Node& node) {
  Editor& e = c.editor;
  const bool f32 = e.value(node.inputs[0]).dtype == DType::kF32;
  if (f32 && !e.constant(node.inputs[1])) return computed_convolution(c, node);
  if (!usable(c, node)) return;
  e.kill(node);
  const Constant& w = *e.constant(node.inputs[1]);
  size_t spatial = w.dims.size() - 2;
  int64_t groups = node.integer(attr::group, 1), channels = w.dims[1] * groups, outputs = w.dims[0];
  Constant dense = permuted(w, to_channels_last(w.dims.size()));
  if (spatial == 1) dense = with_dims(dense, {dense.dims[0], 1, dense.dims[1], dense.dims[2]});
  Attributes a = window(node, node.integers(attr::pads), groups);
  a[attr::method] = std::string(groups == 1                               ? "direct"
                                : groups == channels && groups == outputs ? "depthwise"
                                                                          : "grouped");
  ValueId weights = e.new_constant(e.value(node.inputs[1]).name, std::move(dense));
  finish(e, node, op::Conv2d, {channels_last(e, node.inputs[0], node), weights}, std::move(a));
}

// Chooses the pad at the end of dimension `i` so that what remains is an output padding below the
// stride.
bool transposed_end_pad(Editor& e, const Node& node, size_t i, int64_t stride, int64_t reach,
                        int64_t begin, int64_t& end) {
  Dim in = e.dims(node.inputs[0])[i], out = e.dims(node.outputs[0])[i];
  Dim spare = (in - Dim(1)) * Dim(stride) + Dim(reach) - Dim(begin) - out;
  if (!spare.value()) return false;
  end = std::max<int64_t>(0, *spare.value());
  return *spare.value() > -stride;
}

void transposed_convolution(Canonical& c, Node& node) {
  if (!usable(c, node)) return;
  Editor& e = c.editor;
  const Constant& w = *e.constant(node.inputs[1]);
  size_t spatial = w.dims.size() - 2;
  const Integers kernel = node.integers(attr::kernel_shape), strides = node.integers(attr::strides),
                 dilations = node.integers(attr::dilations);
  Integers pads = node.integers(attr::pads);
  for (size_t i = 0; i < spatial; i++) {
    const int64_t reach = dilations[i] * (kernel[i] - 1) + 1;
    if (!transposed_end_pad(e, node, 2 + i, strides[i], reach, pads[i], pads[spatial + i])) {
      c.refuse(node, "pads", "its output padding is not below its stride, or cannot be told",
               "fix the shape with --input-shape");
      return;
    }
  }
  e.kill(node);
  int64_t groups = node.integer(attr::group, 1), per_group = w.dims[0] / groups;
  int64_t kh = spatial == 1 ? 1 : w.dims[2], kw = w.dims.back();
  Constant dense = permuted(with_dims(w, {groups, per_group, w.dims[1], kh, kw}), {0, 2, 3, 4, 1});
  dense = with_dims(dense, {groups * w.dims[1], kh, kw, per_group});
  ValueId weights = e.new_constant(e.value(node.inputs[1]).name, std::move(dense));
  finish(e, node, op::ConvTranspose2d, {channels_last(e, node.inputs[0], node), weights},
         window(node, std::move(pads), groups));
}

}  // namespace

void add_convolution_rules(Rules& rules) {
  rules[op::Conv] = convolution;
  rules[op::ConvTranspose] = transposed_convolution;
}

}  // namespace ingot::passes
