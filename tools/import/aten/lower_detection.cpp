// tools/import/aten/lower_detection.cpp - operators of torchvision for detectors: boxes that no
// better one covers, bins of boxes each from channels of its own, convolutions at computed places.
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
      "NonMaxSuppression",
      {boxes.reshape({Dim(1), count, Dim(4)}).id, scores.reshape({Dim(1), Dim(1), count}).id,
       b.reshape(b.extent(count), {Dim(1)}), b.scalar(DType::kF32, o.number("iou_threshold"))},
      {{"center_point_box", int64_t(0)}});
  const Dim kept = b.dims(found)[0];
  return o.result(b.reshape(b.slice(found, 1, Dim(2), Dim(3)), {kept}));
}

ValueId roi_align_of(Operands& o, const Term& x, const Term& rois, bool aligned) {
  const Dims dims = rois.dims();
  if (dims.size() != 2 || dims[1] != Dim(5))
    o.corrupt("has rois of " + graph::text(dims) + ", expected [K, 5]");
  const int64_t samples = o.integer("sampling_ratio");
  const Term images = rois.slice(1, Dim(0), Dim(1)).reshape({dims[0]}).cast(DType::kI64);
  return o.b.emit("RoiAlign", {x.id, rois.slice(1, Dim(1), Dim(5)).id, images.id},
                  {{"mode", std::string("avg")},
                   {"aligned", int64_t(aligned)},
                   {"sampling_ratio", samples < 0 ? int64_t(0) : samples},
                   {"spatial_scale", o.number("spatial_scale")},
                   {"output_height", o.integer("pooled_height")},
                   {"output_width", o.integer("pooled_width")}});
}
/// Bin (i, j) of output channel c is that of channel (c * height + i) * width + j: all bins of all
/// channels, of which one in height * width is kept. Also says which channel, [K, C, height,
/// width].
Results aligned_by_position(Operands& o) {
  Builder& b = o.b;
  const Term x = term(o, "input"), rois = term(o, "rois");
  const int64_t height = o.integer("pooled_height"), width = o.integer("pooled_width");
  const int64_t bins = height * width;
  if (x.rank() != 4 || height < 1 || width < 1 || height > 1 << 10 || width > 1 << 10)
    o.corrupt("reads " + graph::text(x.dims()) + " into " + std::to_string(height) + " x " +
              std::to_string(width) + " bins");
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
      b.emit("Gather", {all.reshape({count, out, Dim(bins * bins)}).id, b.integers(places)},
             {{"axis", int64_t(2)}});
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
  return o.result(b.emit("DeformConv", {x, weight, offset, bias, masked ? mask : graph::kAbsent},
                         {{"strides", two("stride_h", "stride_w")},
                          {"pads", std::vector<int64_t>{pads[0], pads[1], pads[0], pads[1]}},
                          {"dilations", two("dilation_h", "dilation_w")},
                          {"group", o.integer("groups")},
                          {"offset_group", o.integer("offset_groups")}}));
}

}  // namespace

void add_detection(Table& table) {
  table.add("torchvision::nms", "Tensor dets, Tensor scores, float iou_threshold",
            non_max_suppression);
  table.add("torchvision::ps_roi_align",
            "Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
            "int sampling_ratio",
            aligned_by_position);
  table.add("torchvision::deform_conv2d",
            "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h, "
            "int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, "
            "int offset_groups, bool use_mask",
            deformable_convolution);
}

}  // namespace ingot::aten
