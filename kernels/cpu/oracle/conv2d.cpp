// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/conv2d.cpp - convolutions by their definition, and Winograd by its definition
// from the packed U.
#include <cstdlib>

#include "kernels/cpu/oracle/activation.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/weights.h"
#include "runtime/op/chain.h"

namespace ingot::cpu::oracle {
namespace {

/// A convolution whose input and output are read and written by index: a tensor, or a later stage
/// of a chain.
struct Stage {
  const Conv2dAttributes& t;
  conv::Extents e;
  const TensorView& w;
  const TensorView* bias;
};

/// Sum of output (n, oy, ox, o) without the bias; in(n, y, x, c) is a value of the image.
template <class In>
double direct_sum(const Stage& s, int64_t n, int64_t oy, int64_t ox, int64_t o, const In& in) {
  const Conv2dAttributes& t = s.t;
  const int64_t channels = s.e.c / t.groups, first = o / (s.e.o / t.groups) * channels;
  double sum = 0;
  for (int64_t ky = 0; ky < t.kernel_h; ky++)
    for (int64_t kx = 0; kx < t.kernel_w; kx++) {
      const int64_t y = oy * t.stride_h - t.pad_top + ky * t.dilation_h,
                    x = ox * t.stride_w - t.pad_left + kx * t.dilation_w;
      if (y < 0 || y >= s.e.h || x < 0 || x >= s.e.w) continue;
      for (int64_t c = 0; c < channels; c++)
        sum += in(n, y, x, first + c) *
               weight(s.w, o, ky * t.kernel_w + kx, c, int64_t(t.kernel_h) * t.kernel_w, channels);
    }
  return sum;
}

constexpr double kB[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                             {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
constexpr double kA[4][6] = {
    {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};

/// One output of Y = A^T [U . (B^T d B)] A, straight from the packed U.
template <class In>
double winograd_sum(const Stage& s, int64_t n, int64_t oy, int64_t ox, int64_t o, const In& in) {
  const int64_t y0 = oy / 4 * 4 - s.t.pad_top, x0 = ox / 4 * 4 - s.t.pad_left;
  double m[6][6] = {};
  for (int64_t c = 0; c < s.e.c; c++) {
    double d[6][6], bd[6][6] = {};
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++) {
        const int64_t y = y0 + i, x = x0 + j;
        d[i][j] = y < 0 || y >= s.e.h || x < 0 || x >= s.e.w ? 0 : in(n, y, x, c);
      }
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++)
        for (int k = 0; k < 6; k++) bd[i][j] += kB[i][k] * d[k][j];
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++) {
        double v = 0;
        for (int k = 0; k < 6; k++) v += bd[i][k] * kB[j][k];
        const float* u = s.w.as<float>() +
                         ((o / kPanel * kWinogradPlanes + i * 6 + j) * s.e.c + c) * kPanel +
                         o % kPanel;
        m[i][j] += double(*u) * v;
      }
  }
  double sum = 0;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) sum += kA[oy % 4][i] * m[i][j] * kA[ox % 4][j];
  return sum;
}

template <class In>
double stage_sum(const Stage& s, int64_t n, int64_t oy, int64_t ox, int64_t o, const In& in) {
  const double sum = s.w.packing == Packing::kWinogradF43 ? winograd_sum(s, n, oy, ox, o, in)
                                                          : direct_sum(s, n, oy, ox, o, in);
  return sum + bias_of(s.bias, o);
}

double pixel_value(const TensorView& x, ChannelLayout layout, int64_t n, int64_t y, int64_t column,
                   int64_t c) {
  const bool nchw = layout == ChannelLayout::kNchw;
  const int64_t row =
      nchw ? (n * x.dims[1] + c) * x.dims[2] + y : (n * x.dims[1] + y) * x.dims[2] + column;
  return double(x.as<float>()[row * x.row_stride + (nchw ? column : c)]);
}

/// Image n of y.
template <class Sum>
void store_outputs(const TensorView& y, int64_t n, const TensorView* residual,
                   const Conv2dAttributes& last, const Sum& sum) {
  for (int64_t oy = 0; oy < y.dims[1]; oy++)
    for (int64_t ox = 0; ox < y.dims[2]; ox++)
      for (int64_t o = 0; o < y.dims[3]; o++) {
        const int64_t pixel = (n * y.dims[1] + oy) * y.dims[2] + ox;
        const double r =
            residual ? double(residual->as<float>()[pixel * residual->row_stride + o]) : 0.0;
        y.as<float>()[pixel * y.row_stride + o] =
            float(epilogue(last.activation, last.residual_first, sum(n, oy, ox, o), r));
      }
}

/// What lies between the stages of a chain: of one image, whole, in double. The oracle never runs
/// in a device.
struct Between {
  double* stages[kMaxChainStages] = {};

  Between() = default;
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;
  ~Between() {
    for (double* stage : stages) std::free(stage);
  }
  static int64_t at(const conv::Extents& e, int64_t y, int64_t x, int64_t c) {
    return (y * e.ow + x) * e.o + c;
  }
};

/// Stage i at one output: the first reads the chain's input, the others what the stage before left.
double chain_value(const OpArguments& a, const conv::Extents* extents, const Between& between,
                   int i, int64_t n, int64_t oy, int64_t ox, int64_t o) {
  const Conv2dAttributes& t = a.as<ChainAttributes>().stages[i];
  const Stage s{t, extents[i], a.inputs[1 + 2 * i], a.optional(2 + 2 * i)};
  return stage_sum(s, n, oy, ox, o, [&](int64_t m, int64_t y, int64_t x, int64_t c) {
    if (i == 0) return pixel_value(a.inputs[0], t.input_layout, m, y, x, c);
    return between.stages[i - 1][Between::at(extents[i - 1], y, x, c)];
  });
}

}  // namespace

Status conv2d(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  const Stage s{t, conv::extents(t, a.inputs[0], a.outputs[0]), a.inputs[1], a.optional(2)};
  const auto in = [&](int64_t n, int64_t y, int64_t x, int64_t c) {
    return pixel_value(a.inputs[0], t.input_layout, n, y, x, c);
  };
  for (int64_t image = 0; image < a.outputs[0].dims[0]; image++)
    store_outputs(a.outputs[0], image, a.optional(3), t,
                  [&](int64_t n, int64_t oy, int64_t ox, int64_t o) {
                    return stage_sum(s, n, oy, ox, o, in);
                  });
  return {};
}

Status chain(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const ChainAttributes& t = a.as<ChainAttributes>();
  conv::Extents extents[kMaxChainStages];
  conv::chain_extents(a, extents);
  const int last = int(t.stage_count) - 1;
  Between between;
  for (int i = 0; i < last; i++) {
    const size_t count = size_t(extents[i].oh * extents[i].ow * extents[i].o);
    between.stages[i] = static_cast<double*>(std::calloc(count, sizeof(double)));
    if (!between.stages[i]) return Code::kOutOfMemory;
  }
  for (int64_t image = 0; image < a.outputs[0].dims[0]; image++) {
    for (int i = 0; i < last; i++)
      for (int64_t y = 0; y < extents[i].oh; y++)
        for (int64_t x = 0; x < extents[i].ow; x++)
          for (int64_t o = 0; o < extents[i].o; o++)
            between.stages[i][Between::at(extents[i], y, x, o)] = activate(
                t.stages[i].activation, chain_value(a, extents, between, i, image, y, x, o));
    store_outputs(a.outputs[0], image, a.optional(conv::chain_residual(t)), t.stages[last],
                  [&](int64_t n, int64_t oy, int64_t ox, int64_t o) {
                    return chain_value(a, extents, between, last, n, oy, ox, o);
                  });
  }
  return {};
}

}  // namespace ingot::cpu::oracle
