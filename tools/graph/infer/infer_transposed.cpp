// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_transposed.cpp - a transposed convolution that no kernel takes (three
// dimensions, computed weights) as a convolution of the image with zeros between its elements.
#include "tools/graph/infer/infer_volume.h"

namespace ingot::graph {
namespace {

/// `stride` - 1 zeros behind each element of the axis but the last.
ValueId spread_axis(NodeContext& context, ValueId x, size_t axis, int64_t stride) {
  if (stride == 1) return x;
  const Dims dims = context.run().value(x).dims;
  Dims column = dims, wide = dims, kept = dims;
  column.insert(column.begin() + int64_t(axis) + 1, Dim(1));
  wide[axis] = dims[axis] * stride;
  kept[axis] = wide[axis] - (stride - 1);
  Dims pads(column.size() * 2, Dim(0));
  pads[column.size() + axis + 1] = Dim(stride - 1);
  const std::string mode = "constant";
  const ValueId padded = context.make(op::Pad, {context.reshape(x, column)},
                                      {{attr::pads, pads}, {attr::mode, mode}, {attr::value, 0.0}});
  return context.make(op::Slice, {context.reshape(padded, wide)},
                      {{attr::starts, Dims{Dim(0)}},
                       {attr::ends, Dims{kept[axis]}},
                       {attr::axes, std::vector<int64_t>{int64_t(axis)}}});
}

/// [C, O / group, k...] as a convolution has them: [O, C / group, k...], turned around.
ValueId turned_weights(NodeContext& context, ValueId w, int64_t group) {
  const Dims dims = context.run().value(w).dims;
  const size_t rank = dims.size();
  std::vector<int64_t> axes, steps, perm{0, 2, 1};
  Dims starts, ends, parts{Dim(group), dims[0] / Dim(group), dims[1]};
  for (size_t i = 2; i < rank; i++) {
    axes.push_back(int64_t(i)), steps.push_back(-1), perm.push_back(int64_t(i) + 1);
    starts.push_back(Dim(-1)), ends.push_back(Dim(-(int64_t(1) << 40))), parts.push_back(dims[i]);
  }
  w = context.make(
      op::Slice, {w},
      {{attr::starts, starts}, {attr::ends, ends}, {attr::axes, axes}, {attr::steps, steps}});
  Dims out = dims;
  out[0] = dims[1] * group, out[1] = dims[0] / Dim(group);
  w = context.make(op::Transpose, {context.reshape(w, parts)}, {{attr::perm, perm}});
  return context.reshape(w, out);
}

}  // namespace

void spell_transposed(NodeContext& context, const VolumeWindow& window, const Dims& out,
                      int64_t group) {
  const size_t rank = window.kernel.size();
  ValueId x = context.in(0);
  std::vector<int64_t> pads(rank * 2);
  for (size_t i = 0; i < rank; i++) {
    x = spread_axis(context, x, i + 2, window.strides[i]);
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i];
    const Dim behind = out[i + 2] - context.run().value(x).dims[i + 2] + Dim(window.pads[i]);
    if (window.pads[i] > reach || !behind.is_static() || *behind.value() < 0)
      context.refuse("pads",
                     "cut more than its window adds, and its weights are computed or it "
                     "has three dimensions");
    pads[i] = reach - window.pads[i];
    pads[i + rank] = *behind.value();
  }
  std::vector<ValueId> inputs{x, turned_weights(context, context.in(1), group)};
  if (context.has(2)) inputs.push_back(context.in(2));
  const std::vector<int64_t> ones(rank, 1);
  context.same(0, context.make(op::Conv, inputs,
                               {{attr::kernel_shape, window.kernel},
                                {attr::strides, ones},
                                {attr::dilations, window.dilations},
                                {attr::pads, pads},
                                {attr::group, group}}));
}

}  // namespace ingot::graph
