// SPDX-License-Identifier: Apache-2.0
// runtime/op/resize.h - ONNX Resize over all dimensions of x; scales[i] == 0 means output extent /
// input extent. Coordinates are onnxruntime's: f32 in the order ONNX writes them, but the last sum
// of half_pixel_symmetric f64; round_prefer_floor and _ceil take what lies within kResizeTie of the
// middle for the middle. tf_half_pixel_for_nn, of nearest alone: (x + 0.5) / scale. Pixels of
// other sources are the floor of a coordinate of their own:
//   asymmetric_multiplied    x * r                         PyTorch, TFLite (f32, int16)
//   tf_half_pixel_multiplied (x + 0.5) * r                 PyTorch nearest-exact, TFLite, Keras
//   align_corners_multiplied x * ((in - 1) / (out - 1)) + 0.5, the sum exact           TFLite
//   asymmetric_fixed_point   x * (in * 65536 / out + 1) / 65536, whole numbers    TFLite (8 bits)
// r = input extent / output extent in f32, or scales[i] where that is not 0.
// linear: nested x0 +
// (x1 - x0) * w, the last changed dimension innermost. cubic: four taps, one chain of fma from
// zero, the last changed dimension innermost. nearest takes any dimensions and types; linear and
// cubic f32, over the dimensions whose extent or scale changes.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class ResizeMode : uint8_t { kNearest = 0, kLinear = 1, kCubic = 2 };
enum class CoordinateMode : uint8_t {
  kHalfPixel = 0,
  kAsymmetric = 1,
  kAlignCorners = 2,
  kPytorchHalfPixel = 3,
  kHalfPixelSymmetric = 4,
  kTfHalfPixelForNn = 5,
  kAsymmetricMultiplied = 6,
  kTfHalfPixelMultiplied = 7,
  kAlignCornersMultiplied = 8,
  kAsymmetricFixedPoint = 9
};
constexpr CoordinateMode kLastCoordinateMode = CoordinateMode::kAsymmetricFixedPoint;
/// Of nearest pixels alone; behind tf_half_pixel_for_nn with their floor alone.
constexpr bool is_nearest_only(CoordinateMode mode) {
  return uint8_t(mode) >= uint8_t(CoordinateMode::kTfHalfPixelForNn);
}
constexpr bool multiplies_by_scale(CoordinateMode mode) {
  return mode == CoordinateMode::kAsymmetricMultiplied ||
         mode == CoordinateMode::kTfHalfPixelMultiplied;
}
enum class NearestMode : uint8_t {
  kRoundPreferFloor = 0,
  kRoundPreferCeil = 1,
  kFloor = 2,
  kCeil = 3
};
struct ResizeAttributes {
  ResizeMode mode = ResizeMode::kNearest;
  CoordinateMode coordinate = CoordinateMode::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  uint32_t rank = 0;
  float scales[kMaxRank] = {};
};
constexpr float kResizeTie = 1e-6f;
constexpr int64_t kMaxResizeExtent = (1 << 24) - 1;  // coordinates are computed in f32
constexpr int kMaxResizeDims = 3;                    // that linear and cubic may change at once
extern const OpContract kResizeContract;

/// Whether dimension i is resampled rather than copied.
bool resize_changes(const OpArguments& arguments, int i);

/// Elements from one kept row of `length` to the next: whole vectors of any instruction set.
int64_t resize_row_elements(int64_t length);

}  // namespace ingot
