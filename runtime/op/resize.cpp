// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/resize.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/rules.h"

namespace ingot {

bool resize_changes(const OpArguments& a, int i) {
  const float scale = a.as<ResizeAttributes>().scales[i];
  return a.inputs[0].dims[i] != a.outputs[0].dims[i] || (scale != 0 && scale != 1);
}

int64_t resize_row_elements(int64_t length) { return round_up(length, 16); }

namespace {

bool check_enums(const ResizeAttributes& t, Violation* v) {
  if (uint8_t(t.mode) > uint8_t(ResizeMode::kCubic))
    return rules::refuse(v, "resize.mode is known", Violation::kAttribute, 2, int64_t(t.mode));
  if (uint8_t(t.coordinate) > uint8_t(kLastCoordinateMode))
    return rules::refuse(v, "resize.coordinate is known", Violation::kAttribute,
                         int64_t(kLastCoordinateMode), int64_t(t.coordinate));
  if (uint8_t(t.nearest) > uint8_t(NearestMode::kCeil))
    return rules::refuse(v, "resize.nearest is known", Violation::kAttribute, 3,
                         int64_t(t.nearest));
  if (is_nearest_only(t.coordinate) && t.mode != ResizeMode::kNearest)
    return rules::refuse(v, "resize.coordinate is one of linear and cubic", Violation::kAttribute,
                         int64_t(ResizeMode::kNearest), int64_t(t.mode));
  if (uint8_t(t.coordinate) > uint8_t(CoordinateMode::kTfHalfPixelForNn) &&
      t.nearest != NearestMode::kFloor)
    return rules::refuse(v, "resize.coordinate of a source's nearest takes the floor",
                         Violation::kAttribute, int64_t(NearestMode::kFloor), int64_t(t.nearest));
  if (!(t.cubic_a >= -16 && t.cubic_a <= 16))
    return rules::refuse(v, "resize.cubic_a is within 16 of zero", Violation::kAttribute, 16);
  return true;
}

bool check_resize(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kResizeContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const ResizeAttributes& t = a.as<ResizeAttributes>();
  if (!rules::check_same_dtype(x, y, rules::output(0), v) || !check_enums(t, v)) return false;
  if (t.rank != x.rank)
    return rules::refuse(v, "resize.scales has one entry per dimension", Violation::kAttribute,
                         x.rank, t.rank);
  if (x.rank != y.rank)
    return rules::refuse(v, "resize keeps the rank", rules::output(0), x.rank, y.rank);
  int changed = 0;
  for (int i = 0; i < x.rank; i++) {
    if (!(t.scales[i] >= 0) || t.scales[i] > 1e9f || (t.scales[i] > 0 && t.scales[i] < 1e-9f))
      return rules::refuse(v, "resize.scales are zero or within 1e-9 .. 1e9", Violation::kAttribute,
                           0, i);
    if (x.dims[i] == 0 && y.dims[i] != 0)
      return rules::refuse(v, "resize cannot fill from an empty dimension", 0, 1, 0);
    if (x.dims[i] > kMaxResizeExtent || y.dims[i] > kMaxResizeExtent)
      return rules::refuse(v, "resize extents fit 24 bits", 0, kMaxResizeExtent,
                           x.dims[i] > y.dims[i] ? x.dims[i] : y.dims[i]);
    changed += resize_changes(a, i);
  }
  if (t.mode != ResizeMode::kNearest) {
    if (x.dtype != DType::kF32)
      return rules::refuse(v, "linear and cubic resize take f32", 0, int64_t(DType::kF32),
                           int64_t(x.dtype));
    if (changed > kMaxResizeDims)
      return rules::refuse(v, "linear and cubic resize change at most 3 dimensions",
                           Violation::kAttribute, kMaxResizeDims, changed);
  }
  return true;
}

/// For each output position of each dimension up to four source positions (i32) and weights (f32);
/// where the last dimension and another are mixed, also as many source rows, mixed along the last
/// dimension, as an output row reads.
ScratchNeed resize_scratch(const OpArguments& a, int) {
  const ResizeMode mode = a.as<ResizeAttributes>().mode;
  uint64_t positions = 0;
  for (int i = 0; i < a.outputs[0].rank; i++) positions += uint64_t(a.outputs[0].dims[i]);
  if (mode == ResizeMode::kNearest) return {positions * 4, 0};
  const int last = a.outputs[0].rank - 1;
  uint64_t rows = 0;
  if (last > 0 && resize_changes(a, last))
    rows = uint64_t(resize_row_elements(a.outputs[0].dims[last])) *
           (mode == ResizeMode::kCubic ? 16 : 8);
  return {positions * 32 + rows, 0};
}

}  // namespace

const OpContract kResizeContract = {OpCode::kResize, 1, 1, 1, 1, 1, check_resize, nullptr,
                                    resize_scratch,  1, 1};

}  // namespace ingot
