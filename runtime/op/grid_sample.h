// SPDX-License-Identifier: Apache-2.0
// runtime/op/grid_sample.h - GridSample: x [N, in..., C] read at the places that grid [N, out...,
// d] names -> y [N, out..., C]; d = 1 .. 3 dimensions, grid[..., 0] is the place along the last.
// -1 and 1 are the ends of x: the middles of its outermost elements with align_corners, else their
// outer edges. A place is computed in f32 as at = (grid + 1) * scale + shift, where scale is
// (extent - 1) / 2 and shift 0 with align_corners, else extent / 2 and -0.5.
//   nearest   the element at `at` rounded, ties to even
//   linear    floor(at) and the one behind it, weights 1 - f and f, f = at - floor(at)
//   cubic     floor(at) - 1 .. floor(at) + 2, Keys' weights with a = -0.75
// Outside x: with zeros an element counts as zero. With border a place is limited to 0 .. extent -
// 1, with reflection it is mirrored at the ends and then limited: the place itself for nearest and
// linear, each element's for cubic. y is one chain of fma from zero, the outermost dimension first;
// a weight is the product of its dimensions', the outermost first. As PyTorch and ONNX have it.
//
// Defined for every grid: NaN is place 0 where places are limited; with zeros, nearest gives zero
// and linear NaN; cubic gives NaN. No place reads outside x. nearest takes every type.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class GridMode : uint8_t { kNearest = 0, kLinear = 1, kCubic = 2 };
enum class GridPadding : uint8_t { kZeros = 0, kBorder = 1, kReflection = 2 };
struct GridSampleAttributes {
  GridMode mode = GridMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool align_corners = false;
};
constexpr int kMaxGridDims = 3;
constexpr int64_t kMaxGridExtent = (1 << 24) - 1;  // places are computed in f32
extern const OpContract kGridSampleContract;

}  // namespace ingot
