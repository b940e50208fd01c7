// SPDX-License-Identifier: Apache-2.0
// A convolution whose weights the model computes: the taps are slices of the padded input, side by
// side, and one MatMul sums over taps and channels. No panels can be packed ahead, so nothing of
// Conv2d would help.
#include "tools/compile/passes/canonical/computed_convolution.h"

#include <algorithm>

#include "tools/compile/passes/common/elementwise.h"

namespace ingot::passes {
namespace {

constexpr int64_t kMaxTaps = 4096;  // each is a slice

struct Taps {
  Integers kernel, strides, dilations, pads;
  size_t spatial() const { return kernel.size(); }
};

/// x with zeros around its spatial dimensions.
ValueId padded(Editor& e, const Node& node, ValueId x, const Taps& t) {
  Dims before = {Dim(0), Dim(0)}, dims = e.dims(x);
  bool any = false;
  for (size_t i = 0; i < t.spatial(); i++) {
    before.push_back(Dim(t.pads[i]));
    dims[i + 2] = dims[i + 2] + Dim(t.pads[i] + t.pads[i + t.spatial()]);
    any = any || t.pads[i] + t.pads[i + t.spatial()] > 0;
  }
  if (!any) return x;
  return e.emit(
      op::Pad, {x}, DType::kF32, dims, node,
      {{attr::mode, std::string("constant")}, {attr::before, before}, {attr::value, 0.0}});
}

/// [N, groups, taps * C / groups, places].
ValueId unfolded(Editor& e, const Node& node, const Taps& t, int64_t groups, const Dims& out) {
  const ValueId x = padded(e, node, node.inputs[0], t);
  const Dims in = e.dims(x);
  Dim places(1);
  for (size_t i = 0; i < t.spatial(); i++) places = places * out[i + 2];
  const Dim channels = in[1] / Dim(groups);
  Integers at(t.spatial(), 0), steps(t.spatial() + 2, 1);
  for (size_t i = 0; i < t.spatial(); i++) steps[i + 2] = t.strides[i];
  std::vector<ValueId> parts;
  for (bool more = true; more;) {
    Dims starts = {Dim(0), Dim(0)}, dims = {in[0], in[1]};
    for (size_t i = 0; i < t.spatial(); i++) {
      starts.push_back(Dim(at[i] * t.dilations[i]));
      dims.push_back(out[i + 2]);
    }
    const ValueId part = e.emit(op::Slice, {x}, DType::kF32, dims, node,
                                {{attr::starts, starts}, {attr::steps, steps}});
    parts.push_back(e.reshape(part, {in[0], Dim(groups), channels, places}, node));
    more = false;
    for (size_t i = t.spatial(); i-- > 0 && !more;) {
      more = ++at[i] < t.kernel[i];
      if (!more) at[i] = 0;
    }
  }
  if (parts.size() == 1) return parts[0];
  const Dims dims = {in[0], Dim(groups), channels * Dim(int64_t(parts.size())), places};
  return e.emit(op::Concat, parts, DType::kF32, dims, node, {{attr::axis, int64_t(2)}});
}

}  // namespace

void computed_convolution(Canonical& c, Node& node) {
  Editor& e = c.editor;
  const Taps t = {node.integers(attr::kernel_shape), node.integers(attr::strides),
                  node.integers(attr::dilations), node.integers(attr::pads)};
  const int64_t groups = node.integer(attr::group, 1);
  const ValueId y = node.outputs[0], w = node.inputs[1],
                bias = node.inputs.size() > 2 ? node.inputs[2] : kAbsent;
  const Dims out = e.dims(y), weight = e.dims(w);
  int64_t taps = 1;
  for (const int64_t k : t.kernel)
    taps = k > kMaxTaps ? kMaxTaps + 1 : std::min(kMaxTaps + 1, taps * k);
  if (taps > kMaxTaps)
    return c.refuse(
        node, "W",
        "computed weights of more than " + std::to_string(kMaxTaps) + " taps are not built");
  e.kill(node);
  const ValueId x = unfolded(e, node, t, groups, out);
  // [O, C, k...] to [groups, O / groups, k... * C].
  Integers perm = {0};
  for (size_t i = 0; i < t.spatial(); i++) perm.push_back(int64_t(i) + 2);
  perm.push_back(1);
  const Dim per_group = weight[0] / Dim(groups);
  const ValueId rows = e.reshape(e.transpose(w, perm, node),
                                 {Dim(1), Dim(groups), per_group, weight[1] * Dim(taps)}, node);
  const Dims product = {out[0], Dim(groups), per_group, e.dims(x)[3]};
  ValueId sum = e.emit(op::MatMul, {rows, x}, DType::kF32, product, node);
  if (bias == kAbsent) {
    e.add(op::Reshape, {sum}, {y}, node);
    return;
  }
  Dims column(out.size(), Dim(1));
  column[1] = out[1];
  sum = e.reshape(sum, out, node);
  e.add(op::Elementwise, {sum, e.reshape(bias, column, node)}, {y}, node,
        elementwise({{Op::kAdd, 0, 1}}, "f32"));
}

}  // namespace ingot::passes
