// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_sampling.cpp - images read at computed places: GridSample, AffineGrid and
// RoiAlign, and CenterCropPad.
#include "runtime/op/roi_align.h"
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;

void grid_sample(NodeContext& context) {
  const Dims in = context.dims(0), grid = context.dims(1);
  const size_t spatial = in.size() < 2 ? 0 : in.size() - 2;
  if (spatial < 1 || grid.size() != in.size() || grid.back() != Dim(int64_t(spatial)))
    context.corrupt("its input has shape " + text(in) + ", its grid " + text(grid) +
                    ", expected [N, ..., " + std::to_string(spatial) + "]");
  if (in[0].is_static() && grid[0].is_static() && in[0] != grid[0])
    context.corrupt("its input has shape " + text(in) + ", its grid " + text(grid) +
                    " of another batch");
  if (spatial > 3) context.refuse("", "more than three spatial dimensions are not supported");
  const std::string mode = context.node.text(attr::mode, "linear");
  const bool is_half = context.dtype(1) == DType::kF16 || context.dtype(1) == DType::kBF16;
  if (is_half && is_floating(context.dtype(0))) return infer_in_single(context);
  if (context.dtype(1) != DType::kF32 || (mode != "nearest" && context.dtype(0) != DType::kF32))
    context.refuse("", "its grid, and but for nearest its input, must be f32",
                   "convert the model to float32");
  Dims out = grid;
  out.pop_back();
  out.insert(out.begin() + 1, in[1]);
  context.set(0, context.dtype(0), std::move(out));
}

void roi_align(NodeContext& context) {
  const Dims in = context.dims(0), boxes = context.dims(1), images = context.dims(2);
  if (in.size() != 4 || boxes.size() != 2 || images.size() != 1 || boxes[1] != Dim(4))
    context.corrupt("its input has shape " + text(in) + ", its boxes " + text(boxes) +
                    ", their images " + text(images) + ", expected [N, C, H, W], [R, 4], [R]");
  if (boxes[0].is_static() && images[0].is_static() && boxes[0] != images[0])
    context.corrupt("it has boxes " + text(boxes) + " and images " + text(images));
  if (context.dtype(0) != DType::kF32 || context.dtype(1) != DType::kF32)
    context.refuse("", "its input and its boxes must be f32", "convert the model to float32");
  if (context.dtype(2) != DType::kI64) context.corrupt("the images of its boxes are not int64");
  const int64_t samples = context.node.integer(attr::sampling_ratio, 0);
  if (samples > kMaxRoiSamples)
    context.refuse("sampling_ratio",
                   std::to_string(samples) + " is more than " + std::to_string(kMaxRoiSamples));
  if (!context.node.has(attr::output_height) && context.settled()) return;  // in normal form
  const int64_t height = context.node.integer(attr::output_height, 1),
                width = context.node.integer(attr::output_width, 1);
  if (height < 1 || width < 1)
    context.corrupt("its output has " + std::to_string(height) + " x " + std::to_string(width) +
                    " bins, expected at least one");
  context.set(0, context.dtype(0), {boxes[0], in[1], height, width});
  context.erase({attr::output_height, attr::output_width});
}

void affine_grid(NodeContext& context) {
  const auto size = context.integers(attr::size, 1);
  const int64_t spatial = size ? int64_t(size->size()) - 2 : 0;
  if (spatial != 2 && spatial != 3) context.corrupt("its size must be four or five numbers");
  if (context.dims(0) != Dims{(*size)[0], spatial, spatial + 1})
    context.corrupt("its theta has shape " + text(context.dims(0)) + ", its size is of " +
                    std::to_string(spatial) + " dimensions");
  const bool aligned = context.node.integer(attr::align_corners, 0) != 0;
  int64_t area = 1;
  for (int64_t k = 0; k < spatial; k++) {
    const int64_t extent = (*size)[size_t(k) + 2];
    if (extent < 0) context.corrupt("its size has a negative number");
    if (extent > 0 && area > (int64_t(1) << 24) / extent) context.refuse("size", "is too large");
    area *= extent;
  }
  std::vector<double> points;  // [area, spatial + 1]: x, y, (z,) 1
  for (int64_t i = 0; i < area; i++) {
    int64_t rest = i;
    for (int64_t k = spatial - 1; k >= 0; k--) {
      const int64_t extent = (*size)[size_t(k) + 2], at = rest % extent;
      rest /= extent;
      points.push_back(!aligned     ? (2.0 * double(at) + 1) / double(extent) - 1
                       : extent > 1 ? 2.0 * double(at) / double(extent - 1) - 1
                                    : -1);
    }
    points.push_back(1);
  }
  const ValueId base =
      context.constant(make_floating(context.dtype(0), {area, spatial + 1}, points));
  const ValueId theta =
      context.make(op::Transpose, {context.in(0)}, {{attr::perm, Integers{0, 2, 1}}});
  Dims out = {(*size)[0]};
  for (int64_t k = 0; k < spatial; k++) out.push_back((*size)[size_t(k) + 2]);
  out.push_back(spatial);
  context.finish_shaped(op::Reshape, context.make(op::MatMul, {base, theta}), out);
}

/// Cuts and pads around the middle; of an odd difference the end has one more.
void center_crop_pad(NodeContext& context) {
  const Dims in = context.dims(0), wanted = context.need_dims(attr::shape, 1);
  Integers axes = context.node.integers(attr::axes);
  if (axes.empty())
    for (int64_t i = 0; i < context.rank(0); i++) axes.push_back(i);
  context.axes(axes, context.rank(0));
  if (axes.size() != wanted.size())
    context.corrupt("its shape has " + std::to_string(wanted.size()) + " entries");
  Dims starts, ends, pads(in.size() * 2, Dim(0)), cropped = in;
  for (size_t i = 0; i < axes.size(); i++) {
    axes[i] = context.axis(axes[i], context.rank(0));
    const size_t axis = size_t(axes[i]);
    const Dim start = max(Dim(0), in[axis] - wanted[i]) / Dim(2), kept = min(in[axis], wanted[i]);
    cropped[axis] = kept;
    starts.push_back(start);
    ends.push_back(start + kept);
    pads[axis] = (wanted[i] - kept) / Dim(2);
    pads[axis + in.size()] = wanted[i] - kept - pads[axis];
  }
  const ValueId part = context.make(
      op::Slice, {context.in(0)}, {{attr::starts, starts}, {attr::ends, ends}, {attr::axes, axes}});
  // what is equal to the slice's own formulas, and shorter: padding takes it away again
  if (part != context.in(0)) context.model().values[size_t(part)].dims = cropped;
  context.finish(op::Pad, {part},
                 {{attr::pads, pads}, {attr::mode, std::string("constant")}, {attr::value, 0.0}});
}

}  // namespace

void add_sampling_rules(InferTable& table) {
  table[op::GridSample] = grid_sample;
  table[op::RoiAlign] = roi_align;
  table[op::AffineGrid] = affine_grid;
  table[op::CenterCropPad] = center_crop_pad;
}

}  // namespace ingot::graph
