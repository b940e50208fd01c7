// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/grid_sample.cpp - GridSample: for every output element the weighted sum over
// its taps. Places in float, as the contract has them, weights in double.
#include "runtime/op/grid_sample.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

struct Taps {
  int count = 1;
  bool inside[4] = {true};
  int64_t at[4] = {};
  double weight[4] = {1};
};

float padded(const GridSampleAttributes& t, int64_t extent, float at) {
  const float last = float(extent - 1);
  if (t.padding == GridPadding::kZeros) return at;
  if (t.padding == GridPadding::kReflection) {
    const float low = t.align_corners ? 0.0f : -0.5f;
    const float period = 2 * (t.align_corners ? last : float(extent));
    const float far = std::fabs(at - low), within = far - std::trunc(far / period) * period;
    at = std::fmin(within, period - within) + low;
  }
  return !(at > 0) ? 0 : at < last ? at : last;
}

void set(Taps* taps, int k, int64_t extent, float at, double weight, bool keep_nan) {
  const float last = float(extent - 1);
  taps->inside[k] = std::isnan(at) ? keep_nan : at >= 0 && at <= last;
  taps->at[k] = taps->inside[k] && !std::isnan(at) ? int64_t(at) : 0;
  taps->weight[k] = weight;
}

/// Keys' polynomial with a = -0.75 at distance d.
double cubic_weight(double d) {
  constexpr double a = -0.75;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

Taps taps_of(const GridSampleAttributes& t, int64_t extent, float grid) {
  Taps taps;
  const float size = float(extent);
  float at = t.align_corners ? (grid + 1) * ((size - 1) / 2) : (grid + 1) * (size / 2) - 0.5f;
  if (t.mode != GridMode::kCubic) at = padded(t, extent, at);
  if (t.mode == GridMode::kNearest) {
    set(&taps, 0, extent, std::nearbyint(at), 1, false);
    return taps;
  }
  const float whole = std::floor(at);
  const double f = double(at) - double(whole);
  if (t.mode == GridMode::kLinear) {
    taps.count = 2;
    set(&taps, 0, extent, whole, 1 - f, true);
    set(&taps, 1, extent, whole + 1, f, true);
    return taps;
  }
  taps.count = 4;
  for (int k = 0; k < 4; k++)
    set(&taps, k, extent, padded(t, extent, whole + float(k - 1)),
        std::isnan(f) ? f : cubic_weight(std::fabs(f - (k - 1))), true);
  return taps;
}

}  // namespace

Status grid_sample(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &grid = a.inputs[1], &y = a.outputs[0];
  const GridSampleAttributes& t = a.as<GridSampleAttributes>();
  const int spatial = x.rank - 2;
  for_each_index(y, [&](const int64_t* index) {
    Taps taps[kMaxGridDims];
    int64_t counts[kMaxGridDims] = {}, place[kMaxRank] = {}, source[kMaxRank] = {};
    for (int i = 0; i <= spatial; i++) place[i] = index[i];
    for (int i = 0; i < spatial; i++) {
      place[spatial + 1] = spatial - 1 - i;
      taps[i] = taps_of(t, x.dims[1 + i], grid.as<const float>()[offset_of(grid, place)]);
      counts[i] = taps[i].count;
    }
    source[0] = index[0], source[spatial + 1] = index[spatial + 1];
    double sum = 0;
    bool found = false;
    for_each_index(counts, spatial, [&](const int64_t* tap) {
      double weight = 1;
      for (int i = 0; i < spatial; i++) {
        if (!taps[i].inside[tap[i]]) return;
        source[1 + i] = taps[i].at[tap[i]], weight *= taps[i].weight[tap[i]];
      }
      found = true;
      if (t.mode != GridMode::kNearest) sum += weight * read(x, offset_of(x, source));
    });
    if (t.mode == GridMode::kNearest && found)
      copy_element(y, offset_of(y, index), x, offset_of(x, source));
    else
      write(y, offset_of(y, index), sum);
  });
  return {};
}

}  // namespace ingot::cpu::oracle
