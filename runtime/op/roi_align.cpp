// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/roi_align.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_roi_align(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kRoiAlignContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &boxes = a.inputs[1], &images = a.inputs[2], &y = a.outputs[0];
  const RoiAlignAttributes& t = a.as<RoiAlignAttributes>();
  if (uint8_t(t.mode) > uint8_t(RoiMode::kMax))
    return rules::refuse(v, "roi_align.mode is known", Violation::kAttribute, 1, int64_t(t.mode));
  if (t.samples > uint32_t(kMaxRoiSamples))
    return rules::refuse(v, "roi_align.samples are few", Violation::kAttribute, kMaxRoiSamples,
                         int64_t(t.samples));
  if (!(t.scale - t.scale == 0))
    return rules::refuse(v, "roi_align.scale is finite", Violation::kAttribute);
  for (int i = 0; i < 2; i++)
    if (a.inputs[i].dtype != DType::kF32)
      return rules::refuse(v, "roi_align takes f32", i, int64_t(DType::kF32),
                           int64_t(a.inputs[i].dtype));
  if (images.dtype != DType::kI64)
    return rules::refuse(v, "the images of boxes are i64", 2, int64_t(DType::kI64),
                         int64_t(images.dtype));
  if (!rules::check_same_dtype(x, y, rules::output(0), v)) return false;
  if (x.rank != 4) return rules::refuse(v, "roi_align has 2 spatial dimensions", 0, 4, x.rank);
  if (y.rank != 4) return rules::refuse(v, "roi_align keeps the rank", rules::output(0), 4, y.rank);
  if (boxes.rank != 2) return rules::refuse(v, "boxes are rows", 1, 2, boxes.rank);
  if (boxes.dims[1] != 4) return rules::refuse(v, "a box is four numbers", 1, 4, boxes.dims[1]);
  if (images.rank != 1) return rules::refuse(v, "images of boxes are a row", 2, 1, images.rank);
  if (images.dims[0] != boxes.dims[0])
    return rules::refuse(v, "every box has an image", 2, boxes.dims[0], images.dims[0]);
  if (y.dims[0] != boxes.dims[0])
    return rules::refuse(v, "y has the boxes", rules::output(0), boxes.dims[0], y.dims[0]);
  if (y.dims[3] != x.dims[3])
    return rules::refuse(v, "roi_align keeps the channels", rules::output(0), x.dims[3], y.dims[3]);
  for (int i = 1; i < 3; i++) {
    if (x.dims[i] > kMaxRoiExtent)
      return rules::refuse(v, "roi_align extents fit 24 bits", 0, kMaxRoiExtent, x.dims[i]);
    if (y.dims[i] > kMaxRoiExtent)
      return rules::refuse(v, "roi_align extents fit 24 bits", rules::output(0), kMaxRoiExtent,
                           y.dims[i]);
    if (x.dims[i] == 0 && y.elements() != 0)
      return rules::refuse(v, "roi_align cannot read an empty dimension", 0, 1, 0);
  }
  return true;
}

}  // namespace

const OpContract kRoiAlignContract = {OpCode::kRoiAlign, 1,       3,       3, 1, 1,
                                      check_roi_align,   nullptr, nullptr, 3, 1};

}  // namespace ingot
