// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/dynamic_range.h - scale and zero point of what a group of numbers holds, and
// the byte of a number, as runtime/op/dynamic_quantize.h says.
#pragma once
#include <cmath>

#include "kernels/cpu/oracle/rescale.h"
#include "runtime/op/dynamic_quantize.h"

namespace ingot::cpu::oracle {

struct Group {
  float low = 0, high = 0;
  void add(float v) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
};
struct GroupNumbers {
  float scale = 1, zero = 0;
};

inline GroupNumbers numbers_of(DynamicRange kind, const Group& g) {
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

inline double byte_of(DynamicRange kind, const Group& g, const GroupNumbers& n, float x) {
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

}  // namespace ingot::cpu::oracle
