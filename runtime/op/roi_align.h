// SPDX-License-Identifier: Apache-2.0
// runtime/op/roi_align.h - RoiAlign: x [N, H, W, C], boxes [R, 4] (x1, y1, x2, y2), images [R]
// (i64: which of x) -> y [R, h, w, C]. A box is cut into h x w bins, and in each x is read at
// places between its elements. Of one dimension, in f32 and in this order:
//   start  low * scale - half, where half is 0.5 with `aligned`, else 0
//   size   (high * scale - half) - start, without `aligned` at least 1
//   bin    size / bins
//   count  of places in a bin: `samples`, or for 0 `bin` rounded up, 0 .. kMaxRoiPlaces
//   place  number k of bin b: (start + b * bin) + (k + 0.5) * bin / count
// A place beyond -1 .. extent counts as zero; others are limited to 0 .. extent - 1 and lie between
// two elements, weights 1 - f and f. The four elements of a place in two dimensions weigh the
// products of theirs.
//   average  the sum of all, one chain of fma from zero, divided by the number of places
//   max      the largest product of an element and its weight, and of the zeros; NaN stays. Not the
//            largest place: ONNX's reference and onnxruntime have it so
// As PyTorch and ONNX have it. Defined for every box: without places, NaN included, y is zero. A
// bad image is kBadIndexValue.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class RoiMode : uint8_t { kAverage = 0, kMax = 1 };
struct RoiAlignAttributes {
  RoiMode mode = RoiMode::kAverage;
  bool aligned = false;
  uint32_t samples = 0;
  float scale = 1;
};
constexpr int32_t kMaxRoiSamples = 256;
constexpr int32_t kMaxRoiPlaces = 1 << 16;        // of a bin in one dimension
constexpr int64_t kMaxRoiExtent = (1 << 24) - 1;  // places are computed in f32
extern const OpContract kRoiAlignContract;

}  // namespace ingot
