// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/dynamic_quant_params.inl - from the range of a group's numbers to how they
// become bytes. The arithmetic is in runtime/op/dynamic_quantize.h. GPUs compile the same file.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/dynamic_quantize.h"

namespace ingot::cpu {
namespace {

struct ValueRange {
  float low = 0, high = 0;
};

/// How a group becomes bytes: limited(x / scale, or x * scale, + offset) to the nearest, + zero.
struct GroupQuantParams {
  float scale = 1, zero_point = 0;  // what consumers take
  float factor = 1, offset = 0, low = 0, high = 0;
  int32_t zero = 0;
  bool away = false;
};

/// To the nearest, ties to even, of 0 .. 2^22: adding 2^23 rounds at the unit.
INGOT_INLINE float rounded_even(float x) { return (x + 8388608.0f) - 8388608.0f; }
/// To the nearest, ties away from zero, of a number below 2^31.
INGOT_INLINE double rounded_away(double x) {
  const double whole = double(int64_t(x)), rest = x - whole;
  return rest >= 0.5 ? whole + 1 : rest <= -0.5 ? whole - 1 : whole;
}

INGOT_INLINE void asymmetric_quant_params(const ValueRange& range, GroupQuantParams* s) {
  const double low = double(range.low), high = double(range.high), scale = (high - low) / 255.0;
  const double from_low = -128.0 - low / scale, from_high = 127.0 - high / scale;
  const double low_error = 128.0 - low / scale, high_error = 127.0 + high / scale;
  const double zero = low_error < high_error ? from_low : from_high;
  s->zero_point = zero >= 127.0    ? 127.0f
                  : zero > -128.0  ? float(rounded_away(zero))
                  : zero <= -128.0 ? -128.0f
                                   : 0.0f;
  s->scale = float(scale);
}

INGOT_INLINE GroupQuantParams group_quant_params(DynamicRange kind, const ValueRange& range) {
  GroupQuantParams s;
  const float most = range.high > -range.low ? range.high : -range.low;
  const bool is_flat = most == 0.0f;
  if (kind == DynamicRange::kFull) {
    if (!is_flat) s.scale = (range.high - range.low) / 255.0f;
    const float zero = 0.0f - range.low / s.scale;
    s.zero_point = zero >= 255.0f ? 255.0f : zero > 0.0f ? rounded_even(zero) : 0.0f;
    s.factor = s.scale, s.zero = int32_t(s.zero_point);
    s.low = 0.0f - s.zero_point, s.high = 255.0f - s.zero_point;
    return s;
  }
  s.away = true, s.zero = 128;
  s.low = -127, s.high = 127;
  if (kind == DynamicRange::kSymmetric) {
    if (!is_flat) s.scale = most / 127.0f, s.factor = 127.0f / most;
  } else {
    s.low = -128;
    if (!is_flat) asymmetric_quant_params(range, &s);
    s.factor = 1.0f / s.scale, s.offset = s.zero_point;
  }
  s.zero_point += 128.0f;
  return s;
}

}  // namespace
}  // namespace ingot::cpu
