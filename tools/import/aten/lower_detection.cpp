// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_detection.cpp - operators of torchvision for detectors: boxes that no
// better one covers, bins of boxes each from channels of its own, convolutions at computed places.
#include <algorithm>

#include "tools/import/aten/arithmetic.h"

namespace ingot::aten {
namespace {

/// boxes [N, 4] and scores [N]: which of them stay, the best first.
Results non_max_suppression(Operands& o) {
  Builder& b = o.b;
  const Term boxes = term(o, "dets").cast(DType::kF32),
             scores = term(o, "scores").cast(DType::kF32);
  if (boxes.rank() != 2 || boxes.dims()[1] != Dim(4) || scores.rank() != 1)
    o.corrupt("has boxes of " + graph::text(boxes.dims()) + " and scores of " +
              graph::text(scores.dims()) + ", expected [N, 4] and [N]");
  const Dim count = scores.dims()[0];
  const ValueId found = b.emit(
      op::NonMaxSuppression,
      {boxes.reshape({Dim(1), count, Dim(4)}).id, scores.reshape({Dim(1), Dim(1), count}).id,
       b.reshape(b.extent(count), {Dim(1)}), b.scalar(DType::kF32, o.number("iou_threshold"))},
      {{attr::center_point_box, int64_t(0)}});
  const Dim kept = b.dims(found)[0];
  return o.result(b.reshape(b.slice(found, 1, Dim(2), Dim(3)), {kept}));
}

ValueId roi_align_of(Operands& o, const Term& x, const Term& rois, bool aligned) {
  const Dims dims = rois.dims();
  if (dims.size() != 2 || dims[1] != Dim(5))
    o.corrupt("has rois of " + graph::text(dims) + ", expected [K, 5]");
  const int64_t samples = o.integer("sampling_ratio");
  const Term images = rois.slice(1, Dim(0), Dim(1)).reshape({dims[0]}).cast(DType::kI64);
  return o.b.emit(op::RoiAlign, {x.id, rois.slice(1, Dim(1), Dim(5)).id, images.id},
                  {{attr::mode, std::string("avg")},
                   {attr::aligned, int64_t(aligned)},
                   {attr::sampling_ratio, samples < 0 ? int64_t(0) : samples},
                   {attr::spatial_scale, o.number("spatial_scale")},
                   {attr::output_height, o.integer("pooled_height")},
                   {attr::output_width, o.integer("pooled_width")}});
}
/// Bin (i, j) of output channel c is that of channel (c * height + i) * width + j: all bins of all
/// channels, of which one in height * width is kept. Also says which channel, [K, C, height,
/// width].
Results aligned_by_position(Operands& o) {
  Builder& b = o.b;
  const Term x = term(o, "input"), rois = term(o, "rois");
  const int64_t height = o.integer("pooled_height"), width = o.integer("pooled_width");
  if (x.rank() != 4 || height < 1 || width < 1 || height > 1 << 10 || width > 1 << 10)
    o.corrupt("reads " + graph::text(x.dims()) + " into " + std::to_string(height) + " x " +
              std::to_string(width) + " bins");
  const int64_t bins = height * width;
  const int64_t channels = fixed(o, "input", x.dims()[1]);
  if (channels % bins != 0)
    o.corrupt("has " + std::to_string(channels) + " channels for " + std::to_string(bins) +
              " bins");
  const Dim count = rois.dims().empty() ? Dim(0) : rois.dims()[0], out(channels / bins);
  const Term all = x.of(roi_align_of(o, x, rois, true));
  std::vector<int64_t> places, numbers;
  for (int64_t i = 0; i < bins; i++) places.push_back(i * (bins + 1));
  for (int64_t c = 0; c < channels; c++) numbers.push_back(c);
  const ValueId own =
      b.emit(op::Gather, {all.reshape({count, out, Dim(bins * bins)}).id, b.integers(places)},
             {{attr::axis, int64_t(2)}});
  const Dims shape = {count, out, Dim(height), Dim(width)};
  const ValueId mapping = b.reshape(b.integers(numbers), {Dim(1), out, Dim(height), Dim(width)});
  return {Value::of(b.own(b.reshape(own, shape))),
          Value::of(b.own(b.cast(b.expand(mapping, shape), DType::kI32)))};
}

Results deformable_convolution(Operands& o) {
  Builder& b = o.b;
  const ValueId x = o.read("input"), weight = o.read("weight"), offset = o.read("offset"),
                bias = o.read("bias"), mask = o.read("mask");
  const Dims kernel = b.dims(weight);
  if (kernel.size() != 4) o.corrupt("has weights of " + graph::text(kernel));
  const auto two = [&](const char* first, const char* second) {
    return std::vector<int64_t>{o.integer(first), o.integer(second)};
  };
  const std::vector<int64_t> pads = two("pad_h", "pad_w");
  const bool masked = o.flag("use_mask");
  return o.result(b.emit(op::DeformConv, {x, weight, offset, bias, masked ? mask : graph::kAbsent},
                         {{attr::strides, two("stride_h", "stride_w")},
                          {attr::pads, std::vector<int64_t>{pads[0], pads[1], pads[0], pads[1]}},
                          {attr::dilations, two("dilation_h", "dilation_w")},
                          {attr::group, o.integer("groups")},
                          {attr::offset_group, o.integer("offset_groups")}}));
}

/// The largest of any range of an axis in two reads: of 2^j elements from each place, for each j.
struct RangeTable {
  Term rows;       // [..., levels * extent, ...]: of level j from place i, at j * extent + i
  int64_t extent;  // of the axis
  Term powers;     // i64 [levels]: 1, 2, 4, ...
};
RangeTable range_table(const Term& x, int64_t axis, int64_t extent) {
  Builder& b = *x.b;
  std::vector<Term> levels = {x};
  std::vector<int64_t> powers = {1};
  for (int64_t reach = 1; 2 * reach <= extent; reach *= 2) {
    std::vector<int64_t> behind;
    for (int64_t i = 0; i < extent; i++) behind.push_back(std::min(i + reach, extent - 1));
    const Term& last = levels.back();
    levels.push_back(larger(last, gathered(last, x.of(b.integers(behind)), axis)));
    powers.push_back(2 * reach);
  }
  return {concat(levels, axis), extent, x.of(b.integers(powers))};
}
/// The ranges of the bins of each box along one axis: i64 [K, bins].
struct Bins {
  Term first, length;
};
/// Half away from zero.
Term rounded(const Term& x) {
  const Term size = absolute(x), low = call(op::Floor, size);
  const Term up = where(size - low >= 0.5, low + 1, low);
  return where(x < 0, -up, up);
}
/// Box from `low` to `high` [K, 1], both included, in `count` bins that may share a row; cut to the
/// image.
Bins bins_of(const Term& low, const Term& high, double scale, int64_t count, int64_t extent) {
  Builder& b = *low.b;
  const Term start = rounded(low * scale), size = larger(rounded(high * scale) - start + 1, 1);
  const Term number = counting(b, Dim(count)).cast(low.dtype()), each = size / double(count);
  const auto inside = [&](const Term& at) {
    return smaller(larger(at + start, 0), double(extent)).cast(DType::kI64);
  };
  const Term first = inside(call(op::Floor, number * each));
  return {first, inside(call(op::Ceil, (number + 1) * each)) - first};
}
/// For each bin, places in a table of the two ranges that cover it; of an empty bin any.
std::pair<Term, Term> places_in(const RangeTable& table, const Bins& bins) {
  const int64_t levels = *table.powers.dims()[0].value();
  const Term length = larger(bins.length, 1);
  Dims apart = length.dims();
  apart.push_back(Dim(1));
  const Term reached = length.reshape(apart) >= table.powers;
  const Term level = reached.cast(DType::kI64).reduce(op::ReduceSum, {2}) - 1;
  const Term first = smaller(bins.first, double(table.extent - 1));
  const Term last = larger(first + length - gathered(table.powers, level, 0), 0);
  const Term begin = smaller(level, double(levels - 1)) * double(table.extent);
  return {begin + first, begin + last};
}
/// The largest of each bin, 0 of an empty one. Rows of the image first: [K, bins, C, W]; then the
/// columns of those.
Results roi_pool(Operands& o) {
  Builder& b = o.b;
  const Term x = term(o, "input"), rois = term(o, "rois");
  const Dims in = x.dims(), boxes = rois.dims();
  const int64_t height = o.integer("pooled_height"), width = o.integer("pooled_width");
  if (in.size() != 4 || boxes.size() != 2 || boxes[1] != Dim(5) || height < 1 || width < 1 ||
      height > 1 << 10 || width > 1 << 10)
    o.corrupt("reads " + graph::text(in) + " in boxes of " + graph::text(boxes) + " into " +
              std::to_string(height) + " x " + std::to_string(width) +
              " bins, expected [N, C, H, W] and [K, 5]");
  const int64_t rows = fixed(o, "input", in[2]), columns = fixed(o, "input", in[3]);
  if (rows < 1 || columns < 1) o.corrupt("reads an image of " + graph::text(in));
  const double scale = o.number("spatial_scale");
  const Term numbers = rois.cast(DType::kF32);
  const auto column = [&](int64_t at) { return numbers.slice(1, Dim(at), Dim(at + 1)); };
  const Bins down = bins_of(column(2), column(4), scale, height, rows),
             across = bins_of(column(1), column(3), scale, width, columns);

  const RangeTable by_row = range_table(moved(x, 1, 2), 1, rows);  // [N, H, C, W]
  const Dim tall = by_row.rows.dims()[1];
  const Term of_rows = by_row.rows.reshape({in[0] * tall, in[1], in[3]});
  const Term image = column(0).cast(DType::kI64) * x.of(b.extent(tall));
  const auto [top, bottom] = places_in(by_row, down);
  const Term strips = larger(gathered(of_rows, image + top, 0),
                             gathered(of_rows, image + bottom, 0));  // [K, height, C, W]

  const RangeTable by_column = range_table(moved(strips, 3, 1), 1, columns);  // [K, W, height, C]
  const Dim wide = by_column.rows.dims()[1];
  const Term of_columns = by_column.rows.reshape({boxes[0] * wide, Dim(height), in[1]});
  const Term box = counting(b, boxes[0]).reshape({boxes[0], Dim(1)}) * x.of(b.extent(wide));
  const auto [left, right] = places_in(by_column, across);
  const Term largest = larger(gathered(of_columns, box + left, 0),
                              gathered(of_columns, box + right, 0));  // [K, width, height, C]
  const Term empty = either((across.length <= 0).reshape({boxes[0], Dim(width), Dim(1), Dim(1)}),
                            (down.length <= 0).reshape({boxes[0], Dim(1), Dim(height), Dim(1)}));
  return {value_of(swapped(where(empty, 0, largest), 1, 3)),
          Value::unavailable("reads where the maxima of roi_pool lie, which are not made")};
}

}  // namespace

void add_detection(Table& table) {
  table.add("torchvision::nms", "Tensor dets, Tensor scores, float iou_threshold",
            non_max_suppression);
  table.add("torchvision::ps_roi_align",
            "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
            "int sampling_ratio",
            aligned_by_position);
  table.add("torchvision::roi_pool",
            "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width",
            roi_pool);
  table.add("torchvision::deform_conv2d",
            "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h, "
            "int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, "
            "int offset_groups, bool use_mask",
            deformable_convolution);
}

}  // namespace ingot::aten
