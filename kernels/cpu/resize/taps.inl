// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/resize/taps.inl - which source positions (and weights) an output position reads.
// Contract: runtime/op/resize.h. Device code as well.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/resize.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// One dimension.
struct ResizeAxis {
  int64_t extent;  // of the input
  float in_extent, out_extent, scale;
  int64_t fixed_scale;  // of asymmetric_fixed_point: 16 bits behind the point
  bool changes;         // resampled rather than copied
};
/// What a coordinate is divided by, or multiplied with.
inline float resize_scale(const ResizeAttributes& t, int i, float in, float out) {
  if (t.coordinate == CoordinateMode::kAlignCornersMultiplied)
    return out > 1 ? (in - 1) / (out - 1) : in / out;
  if (t.scales[i] != 0) return t.scales[i];
  return multiplies_by_scale(t.coordinate) ? in / out : out / in;
}
inline ResizeAxis resize_axis(const ResizeAttributes& t, int i, int64_t in, int64_t out,
                              bool changes) {
  const float in_extent = float(in), out_extent = float(out);
  return {in,
          in_extent,
          out_extent,
          resize_scale(t, i, in_extent, out_extent),
          out > 0 ? (in << 16) / out + 1 : 0,
          changes};
}

INGOT_FN inline float resize_coordinate(const ResizeAttributes& t, const ResizeAxis& axis,
                                        int64_t out) {
  const float in_extent = axis.in_extent, out_extent = axis.out_extent, scale = axis.scale,
              x = float(out);
  switch (t.coordinate) {
    case CoordinateMode::kHalfPixel: return (x + 0.5f) / scale - 0.5f;
    case CoordinateMode::kAsymmetric: return x / scale;
    case CoordinateMode::kAlignCorners:
      return out_extent == 1 ? 0 : x * (in_extent - 1) / (out_extent - 1);
    case CoordinateMode::kPytorchHalfPixel: return out_extent > 1 ? (x + 0.5f) / scale - 0.5f : 0;
    case CoordinateMode::kHalfPixelSymmetric: {
      const float adjustment = out_extent / (scale * in_extent),
                  offset = in_extent / 2 * (1 - adjustment);
      return float(double(offset) + (double(x) + 0.5) / double(scale) - 0.5);
    }
    case CoordinateMode::kTfHalfPixelForNn: return (x + 0.5f) / scale;
    case CoordinateMode::kAsymmetricMultiplied:
    case CoordinateMode::kAlignCornersMultiplied: return x * scale;
    case CoordinateMode::kTfHalfPixelMultiplied: return (x + 0.5f) * scale;
    case CoordinateMode::kAsymmetricFixedPoint: break;  // in whole numbers: nearest_index
  }
  return x;
}

/// As int32; the contract bounds scales and extents, but coordinates may still pass the ends: the
/// caller limits.
INGOT_FN inline int32_t floor_of(float x) {
  if (!(x > -16777216.0f)) return -16777216;
  if (x > 33554432.0f) return 33554432;
  const int32_t whole = int32_t(x);
  return float(whole) > x ? whole - 1 : whole;
}
INGOT_FN inline int32_t limit_index(int64_t at, int64_t extent) {
  return int32_t(at < 0 ? 0 : at >= extent ? extent - 1 : at);
}

INGOT_FN inline int32_t nearest_index(const ResizeAttributes& t, const ResizeAxis& axis,
                                      int64_t out) {
  const int64_t extent = axis.extent;
  if (!axis.changes) return int32_t(out);
  if (t.coordinate == CoordinateMode::kAsymmetricFixedPoint)
    return limit_index((out * axis.fixed_scale) >> 16, extent);
  const float x = resize_coordinate(t, axis, out);
  const int32_t low = floor_of(x);
  const float f = x - float(low);
  if (t.coordinate == CoordinateMode::kAlignCornersMultiplied)
    return limit_index(int64_t(low) + (f >= 0.5f), extent);
  switch (t.nearest) {
    case NearestMode::kRoundPreferFloor:
      return limit_index(int64_t(low) + (f > 0.5f + kResizeTie), extent);
    case NearestMode::kRoundPreferCeil:
      return limit_index(int64_t(low) + (f >= 0.5f - kResizeTie), extent);
    case NearestMode::kFloor: return limit_index(low, extent);
    case NearestMode::kCeil: return limit_index(int64_t(low) + (f > 0), extent);
  }
  return low;
}

struct ResizeTap {
  int32_t at[4];
  float weight[4];  // linear: the fraction in weight[0]
};

INGOT_FN inline ResizeTap resize_tap(const ResizeAttributes& t, const ResizeAxis& axis,
                                     int64_t out) {
  const int64_t extent = axis.extent;
  ResizeTap tap = {};
  const float x = resize_coordinate(t, axis, out);
  if (t.mode == ResizeMode::kLinear) {
    const float limited = x < 0 ? 0 : x > float(extent - 1) ? float(extent - 1) : x;
    const int32_t low = floor_of(limited);
    tap.at[0] = limit_index(low, extent);
    tap.at[1] = limit_index(int64_t(low) + 1, extent);
    tap.weight[0] = limited - float(low);
    return tap;
  }
  const int32_t base = floor_of(x);
  const float f = x - float(base), c = t.cubic_a;
  const float near0 = f, near1 = 1 - f, far0 = f + 1, far1 = 2 - f;
  tap.weight[0] = ((c * far0 - 5 * c) * far0 + 8 * c) * far0 - 4 * c;
  tap.weight[1] = ((c + 2) * near0 - (c + 3)) * near0 * near0 + 1;
  tap.weight[2] = ((c + 2) * near1 - (c + 3)) * near1 * near1 + 1;
  tap.weight[3] = ((c * far1 - 5 * c) * far1 + 8 * c) * far1 - 4 * c;
  float sum = 0;
  for (int k = 0; k < 4; k++) {
    const int64_t at = int64_t(base) - 1 + k;
    tap.at[k] = limit_index(at, extent);
    if (t.exclude_outside && (at < 0 || at >= extent)) tap.weight[k] = 0;
    sum += tap.weight[k];
  }
  if (t.exclude_outside)
    for (float& w : tap.weight) w /= sum;
  return tap;
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
