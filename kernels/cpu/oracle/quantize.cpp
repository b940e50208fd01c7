// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/quantize.cpp - between floats and integers, and functions of one number.
#include "runtime/op/quantize.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/rescale.h"
#include "runtime/op/lookup.h"

namespace ingot::cpu::oracle {
namespace {

void limits_of(DType type, double* low, double* high) {
  *low = 0, *high = 0;
  if (type == DType::kU8) *high = 255;
  if (type == DType::kU16) *high = 65535;
  if (type == DType::kI8) *low = -128, *high = 127;
  if (type == DType::kI16) *low = -32768, *high = 32767;
  if (type == DType::kI32) *low = -2147483520.0, *high = 2147483520.0;  // +-(2^31 - 128)
}

}  // namespace

Status quantize(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const QuantizeAttributes& t = a.as<QuantizeAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  double low, high;
  limits_of(y.dtype, &low, &high);
  for_each_index(y, [&](const int64_t* at) {
    const float value = x.as<const float>()[offset_of(x, at)];
    const float quotient = t.reciprocal ? value * (1.0f / t.scale) : value / t.scale;
    double step = 0;
    if (!std::isnan(quotient))
      step = limited(double(quotient), low - t.zero_point, high - t.zero_point);
    step = t.rounding == QuantizeRounding::kAway ? std::round(step) : std::nearbyint(step);
    write_integer(y, offset_of(y, at), int64_t(step) + t.zero_point);
  });
  return {};
}

Status dequantize(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const DequantizeAttributes& t = a.as<DequantizeAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  for_each_index(y, [&](const int64_t* at) {
    const int64_t steps = read_integer(x, offset_of(x, at)) - t.zero_point;
    y.as<float>()[offset_of(y, at)] = float(steps) * t.scale;
  });
  return {};
}

Status lookup(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  for_each_index(y, [&](const int64_t* at) {
    const int64_t first = x.dtype == DType::kI16 ? -32768 : 0;
    write_integer(y, offset_of(y, at),
                  read_integer(a.inputs[1], read_integer(x, offset_of(x, at)) - first));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
