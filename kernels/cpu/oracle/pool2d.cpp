// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/pool2d.cpp - pooling by its definition.
#include "runtime/op/pool2d.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

double pool_at(const Pool2dAttributes& t, const TensorView& x, int64_t n, int64_t oy, int64_t ox,
               int64_t c) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  // taps inside the image, and inside the image extended by its pads
  int64_t inside = 0, padded = 0;
  for (int64_t ky = 0; ky < t.kernel_h; ky++)
    for (int64_t kx = 0; kx < t.kernel_w; kx++) {
      const int64_t y = oy * t.stride_h - t.pad_top + ky * t.dilation_h,
                    column = ox * t.stride_w - t.pad_left + kx * t.dilation_w;
      if (y < x.dims[1] + t.pad_bottom && column < x.dims[2] + t.pad_right) padded++;
      if (y < 0 || y >= x.dims[1] || column < 0 || column >= x.dims[2]) continue;
      inside++;
      const double v =
          double(x.as<float>()[((n * x.dims[1] + y) * x.dims[2] + column) * x.row_stride + c]);
      most = v > most || v != v ? v : most;
      sum += t.kind == PoolKind::kLp ? std::pow(std::fabs(v), double(t.p)) : v;
    }
  switch (t.kind) {
    case PoolKind::kMax: return most;
    case PoolKind::kAverage: return sum / double(inside > 0 ? inside : 1);
    case PoolKind::kAverageIncludePad: return sum / double(padded > 0 ? padded : 1);
    case PoolKind::kLp: break;
  }
  return std::pow(sum, 1.0 / double(t.p));
}

}  // namespace

Status pool2d(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView& y = a.outputs[0];
  for (int64_t n = 0; n < y.dims[0]; n++)
    for (int64_t oy = 0; oy < y.dims[1]; oy++)
      for (int64_t ox = 0; ox < y.dims[2]; ox++)
        for (int64_t c = 0; c < y.dims[3]; c++)
          y.as<float>()[((n * y.dims[1] + oy) * y.dims[2] + ox) * y.row_stride + c] =
              float(pool_at(a.as<Pool2dAttributes>(), a.inputs[0], n, oy, ox, c));
  return {};
}

}  // namespace ingot::cpu::oracle
