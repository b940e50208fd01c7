// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/dynamic_quantize.cpp - floats to bytes by what they hold, as
// runtime/op/dynamic_quantize.h says, one number at a time.
#include "runtime/op/dynamic_quantize.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/rescale.h"

namespace ingot::cpu::oracle {
namespace {

struct Group {
  float low = 0, high = 0;
};
struct GroupNumbers {
  float scale = 1, zero = 0;
};

GroupNumbers numbers_of(DynamicRange kind, const Group& g) {
  GroupNumbers n;
  const bool flat = g.low == 0 && g.high == 0;
  if (kind == DynamicRange::kFull) {
    if (!flat) n.scale = (g.high - g.low) / 255.0f;
    const float zero = 0.0f - g.low / n.scale;
    n.zero = std::isnan(zero) ? 0.0f : std::nearbyint(std::fmin(std::fmax(zero, 0.0f), 255.0f));
  } else if (kind == DynamicRange::kSymmetric) {
    if (!flat) n.scale = std::fmax(g.high, -g.low) / 127.0f;
  } else if (!flat) {
    const double low = double(g.low), high = double(g.high), scale = (high - low) / 255.0;
    const bool from_low = 128.0 + std::fabs(low / scale) < 127.0 + std::fabs(high / scale);
    const double zero = from_low ? -128.0 - low / scale : 127.0 - high / scale;
    n.scale = float(scale);
    n.zero = std::isnan(zero) ? 0.0f : float(std::round(limited(zero, -128.0, 127.0)));
  }
  return n;
}

double byte_of(DynamicRange kind, const Group& g, const GroupNumbers& n, float x) {
  float factor = kind == DynamicRange::kFull ? n.scale : 1.0f / n.scale;
  if (kind == DynamicRange::kSymmetric && (g.low != 0 || g.high != 0))
    factor = 127.0f / std::fmax(g.high, -g.low);
  const float v = kind == DynamicRange::kFull ? x / factor : x * factor;
  const float number = std::isnan(v) ? 0.0f : v;
  if (kind == DynamicRange::kFull) {
    const double zero = double(n.zero);
    return std::nearbyint(limited(double(number), 0 - zero, 255 - zero)) + zero;
  }
  const double least = kind == DynamicRange::kSymmetric ? -127 : -128;
  return std::round(limited(double(n.zero + number), least, 127)) + 128;
}

}  // namespace

Status dynamic_quantize(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const DynamicQuantizeAttributes& t = a.as<DynamicQuantizeAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0], &steps = a.outputs[1];
  const int inner = x.rank - int(t.axis);
  int64_t group = 0;
  for_each_index(x.dims, int(t.axis), [&](const int64_t* outer) {
    int64_t at[kMaxRank] = {};
    for (uint32_t i = 0; i < t.axis; i++) at[i] = outer[i];
    const auto each = [&](auto use) {
      for_each_index(x.dims + t.axis, inner, [&](const int64_t* index) {
        for (int i = 0; i < inner; i++) at[int(t.axis) + i] = index[i];
        use(x.as<const float>()[offset_of(x, at)]);
      });
    };
    Group g;
    each([&](float v) {
      if (v < g.low) g.low = v;
      if (v > g.high) g.high = v;
    });
    const GroupNumbers n = numbers_of(t.range, g);
    steps.as<float>()[2 * group] = n.scale;
    steps.as<float>()[2 * group + 1] = n.zero + (t.range == DynamicRange::kFull ? 0.0f : 128.0f);
    group++;
    each([&](float v) { y.as<uint8_t>()[offset_of(y, at)] = uint8_t(byte_of(t.range, g, n, v)); });
  });
  return {};
}

}  // namespace ingot::cpu::oracle
