// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_sampling.cpp - windows of images as columns and back, and images read at
// computed places.
#include "tools/import/aten/operands.h"

namespace ingot::aten {
namespace {

/// One spatial axis of im2col and col2im: `count` windows of `size` places each.
struct Windows {
  int64_t size, dilation, padding, stride;
  Dim extent, count;
};
Windows windows(Operands& o, size_t axis, const Dim& extent) {
  const auto at = [&](const char* name) { return o.integers(name, 2)[axis]; };
  Windows w = {at("kernel_size"), at("dilation"), at("padding"), at("stride"), extent, Dim()};
  constexpr int64_t kMax = 1 << 16;
  if (w.size < 1 || w.dilation < 1 || w.stride < 1 || w.padding < 0 || w.size > kMax ||
      w.dilation > kMax || w.stride > kMax || w.padding > kMax)
    o.corrupt("has windows of " + std::to_string(w.size) + " places, " + std::to_string(w.stride) +
              " apart");
  const Dim room = extent + Dim(2 * w.padding - w.dilation * (w.size - 1) - 1);
  if (room.is_static() && *room.value() < 0)
    o.corrupt("has windows that are larger than " + extent.text());
  w.count = room / Dim(w.stride) + Dim(1);
  return w;
}
/// Each place of a window is one slice, so that no number is touched.
constexpr int64_t kMaxPlaces = 1024;
void few_places(Operands& o, const Windows& y, const Windows& x) {
  if (y.size * x.size > kMaxPlaces)
    o.refuse("kernel_size",
             "windows of more than " + std::to_string(kMaxPlaces) + " places are not supported");
}
ValueId padded(Builder& b, ValueId x, const Dims& pads) {
  for (const Dim& pad : pads)
    if (pad != Dim(0))
      return b.emit(
          op::Pad, {x},
          {{attr::pads, pads}, {attr::mode, std::string("constant")}, {attr::value, 0.0}});
  return x;
}

Results im2col(Operands& o) {
  Builder& b = o.b;
  ValueId image = o.read("self");
  const Dims given = b.dims(image);
  if (given.size() != 3 && given.size() != 4) o.corrupt("reads " + graph::text(given));
  if (given.size() == 3) image = b.reshape(image, {Dim(1), given[0], given[1], given[2]});
  const Dims in = b.dims(image);
  const Windows y = windows(o, 0, in[2]), x = windows(o, 1, in[3]);
  few_places(o, y, x);
  const Dim none(0), top(y.padding), left(x.padding);
  image = padded(b, image, {none, none, top, left, none, none, top, left});
  const auto part = [&](ValueId of, int64_t axis, const Windows& w, int64_t at) {
    const Dim start(at * w.dilation);
    return b.slice(of, axis, start, start + (w.count - Dim(1)) * Dim(w.stride) + Dim(1), w.stride);
  };
  std::vector<ValueId> places;
  for (int64_t i = 0; i < y.size; i++) {
    const ValueId rows = part(image, 2, y, i);
    for (int64_t j = 0; j < x.size; j++)
      places.push_back(b.reshape(part(rows, 3, x, j), {in[0], in[1], Dim(1), y.count * x.count}));
  }
  const ValueId all =
      places.size() == 1 ? places[0] : b.emit(op::Concat, places, {{attr::axis, int64_t(2)}});
  Dims to = {in[0], in[1] * Dim(y.size * x.size), y.count * x.count};
  if (given.size() == 3) to.erase(to.begin());
  return o.result(b.reshape(all, to));
}

/// `part` with zeros between its elements and around them, along one axis: where its window's place
/// stands in the image.
ValueId spread(Builder& b, ValueId part, int64_t axis, const Windows& w, int64_t at) {
  const size_t a = size_t(axis);
  Dims dims = b.dims(part), pads(2 * dims.size(), Dim(0));
  const Dim taken = (w.count - Dim(1)) * Dim(w.stride) + Dim(1);
  if (w.stride > 1) {
    Dims apart = dims, gaps(2 * dims.size() + 2, Dim(0));
    apart.insert(apart.begin() + axis + 1, Dim(1));
    gaps[dims.size() + 1 + a + 1] = Dim(w.stride - 1);
    dims[a] = dims[a] * Dim(w.stride);
    part = b.slice(b.reshape(padded(b, b.reshape(part, apart), gaps), dims), axis, Dim(0), taken);
  }
  const Dim start(at * w.dilation);
  pads[a] = start;
  pads[a + pads.size() / 2] = w.extent + Dim(2 * w.padding) - taken - start;
  return padded(b, part, pads);
}
Results col2im(Operands& o) {
  Builder& b = o.b;
  const ValueId columns = o.read("self");
  const Dims in = b.dims(columns), size = o.dims("output_size");
  if ((in.size() != 2 && in.size() != 3) || size.size() != 2)
    o.corrupt("makes " + graph::text(size) + " of " + graph::text(in));
  const Windows y = windows(o, 0, size[0]), x = windows(o, 1, size[1]);
  few_places(o, y, x);
  const Dim places(y.size * x.size), batch = in.size() == 3 ? in[0] : Dim(1),
                                     channels = in[in.size() - 2] / places;
  if (channels * places != in[in.size() - 2] ||
      (in.back().is_static() && (y.count * x.count).is_static() && in.back() != y.count * x.count))
    o.corrupt("has columns of " + graph::text(in) + " for an image of " + graph::text(size));
  std::vector<ValueId> parts = {b.reshape(columns, {batch, channels, places, y.count, x.count})};
  if (y.size * x.size > 1)
    parts = b.emit_many(
        op::Split, parts,
        {{attr::axis, int64_t(2)}, {attr::split, Dims(size_t(y.size * x.size), Dim(1))}},
        size_t(y.size * x.size));
  // Rows of windows first: what lies in the same rows is added up before it is spread over them.
  ValueId sum = graph::kAbsent;
  for (int64_t i = 0; i < y.size; i++) {
    ValueId rows = graph::kAbsent;
    for (int64_t j = 0; j < x.size; j++) {
      const ValueId part =
          b.reshape(parts[size_t(i * x.size + j)], {batch, channels, y.count, x.count});
      const ValueId wide = spread(b, part, 3, x, j);
      rows = rows == graph::kAbsent ? wide : b.emit(op::Add, {rows, wide});
    }
    const ValueId high = spread(b, rows, 2, y, i);
    sum = sum == graph::kAbsent ? high : b.emit(op::Add, {sum, high});
  }
  sum = b.slice(sum, 2, Dim(y.padding), Dim(y.padding) + size[0]);
  sum = b.slice(sum, 3, Dim(x.padding), Dim(x.padding) + size[1]);
  return o.result(in.size() == 3 ? sum : b.reshape(sum, {channels, size[0], size[1]}));
}

Results grid_sample(Operands& o) {
  static const char* const kModes[] = {"linear", "nearest", "cubic"};
  static const char* const kPaddings[] = {"zeros", "border", "reflection"};
  const int64_t mode = o.integer("interpolation_mode"), padding = o.integer("padding_mode");
  if (mode < 0 || mode > 2) o.refuse("interpolation_mode", std::to_string(mode) + " is not known");
  if (padding < 0 || padding > 2)
    o.refuse("padding_mode", std::to_string(padding) + " is not known");
  return o.result(o.b.emit(op::GridSample, {o.read("input"), o.read("grid")},
                           {{attr::mode, std::string(kModes[mode])},
                            {attr::padding_mode, std::string(kPaddings[padding])},
                            {attr::align_corners, int64_t(o.flag("align_corners"))}}));
}
/// rois: [K, 5], the number of the image before each box.
Results roi_align(Operands& o) {
  Builder& b = o.b;
  const ValueId x = o.read("input"), rois = o.read("rois");
  const Dims dims = b.dims(rois);
  if (dims.size() != 2 || dims[1] != Dim(5))
    o.corrupt("has rois of " + graph::text(dims) + ", expected [K, 5]");
  const int64_t samples = o.integer("sampling_ratio");
  const ValueId images =
      b.cast(b.reshape(b.slice(rois, 1, Dim(0), Dim(1)), {dims[0]}), DType::kI64);
  return o.result(b.emit(op::RoiAlign, {x, b.slice(rois, 1, Dim(1), Dim(5)), images},
                         {{attr::mode, std::string("avg")},
                          {attr::aligned, int64_t(o.flag("aligned"))},
                          {attr::sampling_ratio, samples < 0 ? int64_t(0) : samples},
                          {attr::spatial_scale, o.number("spatial_scale")},
                          {attr::output_height, o.integer("pooled_height")},
                          {attr::output_width, o.integer("pooled_width")}}));
}
Results affine_grid(Operands& o) {
  const std::vector<int64_t> size = o.integers("size");
  return o.result(o.b.emit(op::AffineGrid, {o.read("theta"), o.b.integers(size)},
                           {{attr::align_corners, int64_t(o.flag("align_corners"))}}));
}

}  // namespace

void add_sampling(Table& table) {
  table.add("im2col", "Tensor self, int[] kernel_size, int[] dilation, int[] padding, int[] stride",
            im2col);
  table.add("col2im",
            "Tensor self, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, "
            "int[] stride",
            col2im);
  table.add_all(
      "grid_sampler grid_sampler_2d grid_sampler_3d",
      "Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners",
      grid_sample);
  table.add("torchvision::roi_align",
            "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
            "int sampling_ratio, bool aligned",
            roi_align);
  table.add("affine_grid_generator", "Tensor theta, int[] size, bool align_corners", affine_grid);
}

}  // namespace ingot::aten
