// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/resize.cpp - ONNX Resize: for every output element the weighted sum over its
// taps in every dimension.
#include "runtime/op/resize.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

/// Where output position `out` of dimension i lies in the input. In float, as ONNX's formulas are
/// run everywhere; the sum of half_pixel_symmetric in double, as onnxruntime has it.
float source_coordinate(const OpArguments& a, int i, int64_t out) {
  const ResizeAttributes& t = a.as<ResizeAttributes>();
  const float in_extent = float(a.inputs[0].dims[i]), out_extent = float(a.outputs[0].dims[i]),
              x = float(out);
  const float scale = t.scales[i] != 0 ? t.scales[i] : out_extent / in_extent;
  const float ratio = t.scales[i] != 0 ? t.scales[i] : in_extent / out_extent;
  switch (t.coordinate) {
    case CoordinateMode::kHalfPixel: return (x + 0.5f) / scale - 0.5f;
    case CoordinateMode::kAsymmetric: return x / scale;
    case CoordinateMode::kAlignCorners:
      return out_extent == 1 ? 0 : x * (in_extent - 1) / (out_extent - 1);
    case CoordinateMode::kPytorchHalfPixel: return out_extent > 1 ? (x + 0.5f) / scale - 0.5f : 0;
    case CoordinateMode::kHalfPixelSymmetric: {
      const float adjustment = out_extent / (scale * in_extent);
      const float offset = in_extent / 2 * (1 - adjustment);
      return float(double(offset) + (double(x) + 0.5) / double(scale) - 0.5);
    }
    case CoordinateMode::kTfHalfPixelForNn: return (x + 0.5f) / scale;
    case CoordinateMode::kAsymmetricMultiplied: return x * ratio;
    case CoordinateMode::kTfHalfPixelMultiplied: return (x + 0.5f) * ratio;
    case CoordinateMode::kAlignCornersMultiplied:
      return out_extent > 1 ? x * ((in_extent - 1) / (out_extent - 1)) : 0;
    case CoordinateMode::kAsymmetricFixedPoint: break;
  }
  return x;
}

struct Taps {
  int count;
  int64_t at[4];
  double weight[4];
};

int64_t inside(int64_t at, int64_t extent) { return at < 0 ? 0 : at >= extent ? extent - 1 : at; }

Taps taps_of(const OpArguments& a, int i, int64_t out) {
  const ResizeAttributes& t = a.as<ResizeAttributes>();
  const int64_t extent = a.inputs[0].dims[i];
  if (!resize_changes(a, i)) return {1, {out}, {1}};
  if (t.coordinate == CoordinateMode::kAsymmetricFixedPoint) {
    const int64_t step = extent * 65536 / a.outputs[0].dims[i] + 1;
    return {1, {inside(out * step / 65536, extent)}, {1}};
  }
  const float x = source_coordinate(a, i, out);
  if (t.mode == ResizeMode::kNearest) {
    float nearest = 0;
    const float middle = std::floor(x) + 0.5f;
    const bool is_tie = std::fabs(x - middle) <= kResizeTie;
    switch (t.coordinate == CoordinateMode::kAlignCornersMultiplied ? NearestMode::kRoundPreferCeil
                                                                    : t.nearest) {
      case NearestMode::kRoundPreferFloor: nearest = is_tie ? std::floor(x) : std::round(x); break;
      case NearestMode::kRoundPreferCeil:
        nearest = is_tie && t.coordinate != CoordinateMode::kAlignCornersMultiplied ? std::ceil(x)
                                                                                    : std::round(x);
        break;
      case NearestMode::kFloor: nearest = std::floor(x); break;
      case NearestMode::kCeil: nearest = std::ceil(x); break;
    }
    return {1, {inside(int64_t(nearest), extent)}, {1}};
  }
  if (t.mode == ResizeMode::kLinear) {
    const float limited = x < 0 ? 0 : x > float(extent - 1) ? float(extent - 1) : x;
    const int64_t low = int64_t(limited);
    const double w = double(limited) - double(low);
    return {2, {low, inside(low + 1, extent)}, {1 - w, w}};
  }
  const double f = double(x) - std::floor(double(x)), cubic = double(t.cubic_a);
  const int64_t base = int64_t(std::floor(x));
  Taps taps = {4, {}, {}};
  double sum = 0;
  for (int k = 0; k < 4; k++) {
    const double d = std::fabs(f - (k - 1));
    const bool outside = base - 1 + k < 0 || base - 1 + k >= extent;
    taps.at[k] = inside(base - 1 + k, extent);
    taps.weight[k] = d <= 1 ? ((cubic + 2) * d - (cubic + 3)) * d * d + 1
                            : ((cubic * d - 5 * cubic) * d + 8 * cubic) * d - 4 * cubic;
    if (t.exclude_outside && outside) taps.weight[k] = 0;
    sum += taps.weight[k];
  }
  if (t.exclude_outside)
    for (double& w : taps.weight) w /= sum;
  return taps;
}

}  // namespace

Status resize(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const bool nearest = a.as<ResizeAttributes>().mode == ResizeMode::kNearest;
  for_each_index(y, [&](const int64_t* index) {
    Taps taps[kMaxRank];
    int64_t counts[kMaxRank] = {}, source[kMaxRank] = {};
    for (int i = 0; i < x.rank; i++) taps[i] = taps_of(a, i, index[i]), counts[i] = taps[i].count;
    double sum = 0;
    for_each_index(counts, x.rank, [&](const int64_t* tap) {
      double weight = 1;
      for (int i = 0; i < x.rank; i++)
        source[i] = taps[i].at[tap[i]], weight *= taps[i].weight[tap[i]];
      if (!nearest) sum += weight * read(x, offset_of(x, source));
    });
    if (nearest)
      copy_element(y, offset_of(y, index), x, offset_of(x, source));
    else
      write(y, offset_of(y, index), sum);
  });
  return {};
}

}  // namespace ingot::cpu::oracle
