// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"

namespace ingot::passes {
namespace {

void only_dims(Node& node, graph::Operator op) {
  node.op = op;
  node.attributes.clear();
}

void reshape(Canonical&, Node& node) { only_dims(node, op::Reshape); }
void bit_cast(Canonical&, Node& node) { only_dims(node, op::BitCast); }
void tile(Canonical&, Node& node) { only_dims(node, op::Tile); }

void slice_into(Editor& e, const Node& node, ValueId x, int64_t axis, const Dim& start,
                ValueId out) {
  Dims starts(e.rank(x), Dim(0));
  starts[size_t(axis)] = start;
  e.add(op::Slice, {x}, {out}, node,
        {{attr::starts, starts}, {attr::steps, Integers(e.rank(x), 1)}});
}

void split(Canonical& c, Node& node) {
  Editor& e = c.editor;
  e.kill(node);
  int64_t axis = node.integer(attr::axis, 0);
  Dim start = 0;
  for (ValueId out : node.outputs) {
    if (out < 0) continue;
    slice_into(e, node, node.inputs[0], axis, start, out);
    start = start + e.dims(out)[size_t(axis)];
  }
}

// Indices that are one constant, or a constant run going up by one, are a Slice: a view at best, a
// copy of rows at worst.
void gather(Canonical& c, Node& node) {
  Editor& e = c.editor;
  int64_t axis = node.integer(attr::axis, 0);
  ValueId x = node.inputs[0], out = node.outputs[0];
  node.attributes = {{attr::axis, axis}};
  const Constant* indices = e.constant(node.inputs[1]);
  if (!indices || indices->elements() == 0 || indices->dims.size() > 1) return;
  const std::vector<int64_t> at = graph::read_integers(*indices);
  for (size_t i = 1; i < at.size(); i++)
    if (at[i] <= at[i - 1] || uint64_t(at[i]) - uint64_t(at[0]) != i) return;
  Dim extent = e.dims(x)[size_t(axis)], start = at[0];
  if (at[0] < 0) {
    if (at.back() >= 0) return;
    start = extent + start;
  }
  if (start.value() && *start.value() < 0) return;
  if (start.value() && extent.value() && int64_t(at.size()) > *extent.value() - *start.value())
    return;  // left for the kernel to report
  e.kill(node);
  Dims dims = e.dims(x);
  dims[size_t(axis)] = Dim(int64_t(at.size()));
  if (same(dims, e.dims(out))) return slice_into(e, node, x, axis, start, out);
  ValueId piece = e.new_value(e.value(out).name + "/Slice", e.value(x).dtype, dims);
  slice_into(e, node, x, axis, start, piece);
  e.add(op::Reshape, {piece}, {out}, node);
}

void resize(Canonical& c, Node& node) {
  std::string coordinate = node.text(attr::coordinate_transformation_mode, "half_pixel");
  if (coordinate == "tf_crop_and_resize")
    return c.refuse(node, "coordinate_transformation_mode", "tf_crop_and_resize is not built");
  node.attributes = {{attr::mode, node.text(attr::mode, "nearest")},
                     {attr::coordinate, coordinate},
                     {attr::nearest, node.text(attr::nearest_mode, "round_prefer_floor")},
                     {attr::cubic_a, node.number(attr::cubic_coeff_a, -0.75)},
                     {attr::exclude_outside, node.integer(attr::exclude_outside, 0)},
                     {attr::scales, node.numbers(attr::scales)}};
}

/// Channels last, where a place is a run of memory.
void grid_sample(Canonical& c, Node& node) {
  Editor& e = c.editor;
  ValueId x = node.inputs[0], grid = node.inputs[1], out = node.outputs[0];
  const Integers perm = to_channels_last(e.rank(x));
  e.kill(node);
  ValueId y = e.emit(op::GridSample, {e.transpose(x, perm, node), grid}, e.value(out).dtype,
                     permuted(e.dims(out), perm), node,
                     {{attr::mode, node.text(attr::mode, "linear")},
                      {attr::padding, node.text(attr::padding_mode, "zeros")},
                      {attr::align_corners, node.integer(attr::align_corners, 0)}});
  e.value(y).layout = "NHWC";
  e.add(op::Transpose, {y}, {out}, node, {{attr::perm, inverse(perm)}});
}

void roi_align(Canonical& c, Node& node) {
  Editor& e = c.editor;
  const ValueId x = node.inputs[0], boxes = node.inputs[1], images = node.inputs[2],
                out = node.outputs[0];
  const Integers perm = to_channels_last(e.rank(x));
  e.kill(node);
  const ValueId y =
      e.emit(op::RoiAlign, {e.transpose(x, perm, node), boxes, images}, e.value(out).dtype,
             permuted(e.dims(out), perm), node,
             {{attr::mode, std::string(node.text(attr::mode, "avg") == "max" ? "max" : "average")},
              {attr::aligned, node.integer(attr::aligned, 1)},
              {attr::samples, node.integer(attr::sampling_ratio, 0)},
              {attr::scale, node.number(attr::spatial_scale, 1)}});
  e.value(y).layout = "NHWC";
  e.add(op::Transpose, {y}, {out}, node, {{attr::perm, inverse(perm)}});
}

/// Bytes with another sign: 128 more, modulo 256.
void offset_byte(Canonical&, Node& node) {
  node.op = op::Elementwise;
  node.attributes = elementwise({{Op::kBitwiseXor, 0, kConstantRegister, 0, 128}}, "i64");
}

void renamed(Canonical&, Node& node) {
  node.op = node.op == op::GatherND ? op::GatherNd : op::ScatterNd;
}

}  // namespace

void add_movement_rules(Rules& rules) {
  rules[op::Reshape] = rules[op::Identity] = reshape;
  rules[op::BitCast] = bit_cast;
  rules[op::Tile] = tile;
  rules[op::Split] = split;
  rules[op::Gather] = gather;
  rules[op::Resize] = resize;
  rules[op::GridSample] = grid_sample;
  rules[op::RoiAlign] = roi_align;
  rules[op::OffsetByte] = offset_byte;
  rules[op::GatherND] = rules[op::ScatterND] = renamed;
}

}  // namespace ingot::passes
