// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/quantized_maps.cpp - sums, products and pools of bytes and 16-bit numbers.
#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/rescale.h"
#include "runtime/op/quantized_elementwise.h"
#include "runtime/op/quantized_pool2d.h"

namespace ingot::cpu::oracle {
namespace {

/// Element `at` of x, with 32768 added where it is i16.
int64_t number_at(const TensorView& x, const int64_t* at) {
  return read_integer(x, offset_of(x, at)) + quantized::number_offset(x.dtype);
}
void write_number(const TensorView& y, const int64_t* at, double number) {
  write_integer(y, offset_of(y, at), int64_t(number) - quantized::number_offset(y.dtype));
}

/// The number of x that broadcasts to element `at` of a tensor of `rank` dimensions.
double broadcast_number(const TensorView& x, const int64_t* at, int rank) {
  int64_t own[kMaxRank] = {};
  for (int i = 0; i < x.rank; i++) own[i] = x.dims[i] == 1 ? 0 : at[rank - x.rank + i];
  return double(number_at(x, own));
}

/// The result less its zero point.
double binary_step(const QuantizedElementwiseAttributes& t, DType type, double a, double b) {
  const bool fixed = t.requant != RequantMode::kFloatEven;
  if (t.function == QuantizedFunction::kMul)
    return fixed ? rescaled(t.requant, a * b, t.y_multiplier, t.y_shift)
                 : double(std::nearbyint(float(a * b) * t.scale));
  const double sign = t.function == QuantizedFunction::kSub ? -1 : 1;
  if (!fixed)
    return std::floor(std::ldexp(a * t.a_multiplier + sign * b * t.b_multiplier, -t.y_shift) + 0.5);
  const double unit = 1 << quantized_sum_shift(type);
  const double sum = rescaled(t.requant, a * unit, t.a_multiplier, t.a_shift) +
                     sign * rescaled(t.requant, b * unit, t.b_multiplier, t.b_shift);
  return rescaled(t.requant, sum, t.y_multiplier, t.y_shift);
}

double pool_at(const QuantizedPool2dAttributes& t, const TensorView& x, const int64_t* at) {
  int64_t most = 0, sum = 0, taps = 0;
  for (int64_t ky = 0; ky < t.kernel_h; ky++)
    for (int64_t kx = 0; kx < t.kernel_w; kx++) {
      const int64_t from[4] = {at[0], at[1] * t.stride_h - t.pad_top + ky * t.dilation_h,
                               at[2] * t.stride_w - t.pad_left + kx * t.dilation_w, at[3]};
      if (from[1] < 0 || from[1] >= x.dims[1] || from[2] < 0 || from[2] >= x.dims[2]) continue;
      const int64_t number = number_at(x, from);
      most = number > most ? number : most;
      sum += number - int64_t(t.offset);
      taps++;
    }
  const int64_t n = taps > 0 ? taps : 1,
                mean = (sum > 0 ? sum + n / 2 : sum - n / 2) / n + int64_t(t.offset);
  return limited(double(t.kind == PoolKind::kMax ? most : mean), t.low, t.high);
}

}  // namespace

Status quantized_elementwise(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const QuantizedElementwiseAttributes& t = a.as<QuantizedElementwiseAttributes>();
  const TensorView& y = a.outputs[0];
  for_each_index(y, [&](const int64_t* at) {
    const double step =
        binary_step(t, y.dtype, broadcast_number(a.inputs[0], at, y.rank) - t.a_zero,
                    broadcast_number(a.inputs[1], at, y.rank) - t.b_zero);
    write_number(y, at, limited(step + t.y_zero, t.low, t.high));
  });
  return {};
}

Status quantized_pool2d(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView& y = a.outputs[0];
  for_each_index(y, [&](const int64_t* at) {
    write_number(y, at, pool_at(a.as<QuantizedPool2dAttributes>(), a.inputs[0], at));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
