// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/conv_transpose2d.cpp - a transposed convolution by its definition, gathered at
// each output.
#include "runtime/op/conv_transpose2d.h"

#include "kernels/cpu/oracle/activation.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/weights.h"

namespace ingot::cpu::oracle {
namespace {

/// The input coordinate that tap `k` brings to output `out`, or -1.
int64_t source(int64_t out, int64_t pad, int64_t k, int64_t dilation, int64_t stride,
               int64_t extent) {
  const int64_t scaled = out + pad - k * dilation;
  return scaled >= 0 && scaled % stride == 0 && scaled / stride < extent ? scaled / stride : -1;
}

double sum_at(const OpArguments& a, int64_t n, int64_t oy, int64_t ox, int64_t o) {
  const ConvTranspose2dAttributes& t = a.as<ConvTranspose2dAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const int64_t channels = x.dims[3] / t.groups, first = o / (y.dims[3] / t.groups) * channels;
  double sum = bias_of(a.optional(2), o);
  for (int64_t ky = 0; ky < t.kernel_h; ky++)
    for (int64_t kx = 0; kx < t.kernel_w; kx++) {
      const int64_t iy = source(oy, t.pad_top, ky, t.dilation_h, t.stride_h, x.dims[1]);
      const int64_t ix = source(ox, t.pad_left, kx, t.dilation_w, t.stride_w, x.dims[2]);
      if (iy < 0 || ix < 0) continue;
      const float* p =
          x.as<float>() + ((n * x.dims[1] + iy) * x.dims[2] + ix) * x.row_stride + first;
      for (int64_t c = 0; c < channels; c++)
        sum += double(p[c]) * weight(a.inputs[1], o, ky * t.kernel_w + kx, c,
                                     int64_t(t.kernel_h) * t.kernel_w, channels);
    }
  return sum;
}

}  // namespace

Status conv_transpose2d(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView& y = a.outputs[0];
  for (int64_t n = 0; n < y.dims[0]; n++)
    for (int64_t oy = 0; oy < y.dims[1]; oy++)
      for (int64_t ox = 0; ox < y.dims[2]; ox++)
        for (int64_t o = 0; o < y.dims[3]; o++)
          y.as<float>()[((n * y.dims[1] + oy) * y.dims[2] + ox) * y.row_stride + o] = float(
              activate(a.as<ConvTranspose2dAttributes>().activation, sum_at(a, n, oy, ox, o)));
  return {};
}

}  // namespace ingot::cpu::oracle
