// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_volume.cpp - windows over three dimensions by those over two: a
// convolution gathers its taps along the depth into channels, a pool takes the depth after the
// image.
#include "tools/graph/infer/infer_volume.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;
constexpr int64_t kDeepest = 4096;  // taps along the depth, each of which is a slice

/// The last two of three, and of six pads.
Integers flat(const Integers& three) { return {three[1], three[2]}; }
Integers flat_pads(const Integers& six) { return {six[1], six[2], six[4], six[5]}; }

}  // namespace

void convolve_volume(NodeContext& context, const VolumeWindow& w, const Dims& out, int64_t group) {
  const Dims in = context.dims(0), weight = context.dims(1);
  const Integers forward = {0, 2, 1, 3, 4};
  if (w.kernel[0] > kDeepest)
    context.refuse("", "kernels deeper than " + std::to_string(kDeepest) + " are not built");
  // [N, D, C, H, W], then the depth padded; every tap is a slice of it.
  ValueId x = context.make(op::Transpose, {context.in(0)}, {{attr::perm, forward}});
  if (w.pads[0] + w.pads[3] > 0) {
    Dims pads(10, Dim(0));
    pads[1] = Dim(w.pads[0]);
    pads[6] = Dim(w.pads[3]);
    x = context.make(
        op::Pad, {x},
        {{attr::pads, pads}, {attr::mode, std::string("constant")}, {attr::value, 0.0}});
  }
  const Dim images = in[0] * out[2], channels = in[1];
  const Dims grouped = {images, Dim(group), Dim(1), weight[1], in[3], in[4]};
  std::vector<ValueId> taps;
  for (int64_t k = 0; k < w.kernel[0]; k++) {
    const Dim start(k * w.dilations[0]),
        end = start + (out[2] - Dim(1)) * Dim(w.strides[0]) + Dim(1);
    const ValueId tap = context.make(op::Slice, {x},
                                     {{attr::starts, Dims{start}},
                                      {attr::ends, Dims{end}},
                                      {attr::axes, Integers{1}},
                                      {attr::steps, Integers{w.strides[0]}}});
    taps.push_back(context.reshape(tap, grouped));
  }
  const ValueId all =
      taps.size() == 1 ? taps[0] : context.make(op::Concat, taps, {{attr::axis, int64_t(2)}});
  const ValueId flat_x = context.reshape(all, {images, channels * Dim(w.kernel[0]), in[3], in[4]});
  ValueId kernel = context.make(op::Transpose, {context.in(1)}, {{attr::perm, forward}});
  kernel = context.reshape(kernel, {weight[0], weight[1] * Dim(w.kernel[0]), weight[3], weight[4]});
  std::vector<ValueId> inputs = {flat_x, kernel};
  if (context.has(2)) inputs.push_back(context.in(2));
  const ValueId y = context.make(op::Conv, inputs,
                                 {{attr::kernel_shape, flat(w.kernel)},
                                  {attr::strides, flat(w.strides)},
                                  {attr::dilations, flat(w.dilations)},
                                  {attr::pads, flat_pads(w.pads)},
                                  {attr::group, group}});
  const ValueId deep = context.reshape(y, {in[0], out[2], weight[0], out[3], out[4]});
  context.finish(op::Transpose, {deep}, {{attr::perm, forward}});
}

void pool_volume(NodeContext& context, const VolumeWindow& w, const Dims& out) {
  const Dims in = context.dims(0);
  Attributes attributes = context.node.attributes;
  attributes.erase(attr::auto_pad);
  const auto pool = [&](ValueId x, const Integers& kernel, const Integers& strides,
                        const Integers& dilations, const Integers& pads) {
    attributes[attr::kernel_shape] = kernel;
    attributes[attr::strides] = strides;
    attributes[attr::dilations] = dilations;
    attributes[attr::pads] = pads;
    return context.make(context.node.op, {x}, attributes);
  };
  const ValueId slices = context.reshape(context.in(0), {in[0], in[1] * in[2], in[3], in[4]});
  const ValueId flat_y =
      pool(slices, flat(w.kernel), flat(w.strides), flat(w.dilations), flat_pads(w.pads));
  const ValueId columns = context.reshape(flat_y, {in[0], in[1], in[2], out[3] * out[4]});
  const ValueId y = pool(columns, {w.kernel[0], 1}, {w.strides[0], 1}, {w.dilations[0], 1},
                         {w.pads[0], 0, w.pads[3], 0});
  context.finish_shaped(op::Reshape, y, out);
}

}  // namespace ingot::graph
