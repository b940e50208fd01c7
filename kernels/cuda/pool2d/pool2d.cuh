// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/pool2d/pool2d.cuh - Pool2d. Contract: runtime/op/pool2d.h: one chain a channel, over
// the window row by row. A thread makes four neighbouring channels of a pixel where they are
// aligned, else one.
#pragma once
#include "kernels/cuda/device/f16.cuh"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/pool2d/pool2d_params.h"

namespace ingot::cuda {

template <int width>
struct alignas(width * 4) Channels {
  float v[width];
};
/// Neighbouring channels from element `at` on.
template <int width>
GPU_FN Channels<width> load_channels(const float* x, int64_t at, bool is_f16) {
  if constexpr (width == 4) {
    if (!is_f16) return *reinterpret_cast<const Channels<4>*>(x + at);
    const FourFloats v = load_f16s(x, at, 4, true);
    return {{v.x[0], v.x[1], v.x[2], v.x[3]}};
  } else {
    return {{load_float(x, at, is_f16)}};
  }
}

/// Taps [begin, end) of `kernel` with first + k * dilation in [low, high).
struct Taps {
  int64_t begin, end;
};
GPU_FN int64_t taps_below(int64_t first, const FastDivisor& dilation, int64_t limit) {
  return first >= limit ? 0
                        : int64_t(divide(uint64_t(limit - first + dilation.divisor - 1), dilation));
}
GPU_FN Taps taps_inside(int64_t first, const FastDivisor& dilation, int64_t kernel, int64_t low,
                        int64_t high) {
  const int64_t begin = taps_below(first, dilation, low), end = taps_below(first, dilation, high);
  const int64_t from = begin < kernel ? begin : kernel, to = end < kernel ? end : kernel;
  return {from, to > from ? to : from};
}
GPU_FN int64_t count_of(Taps t) { return t.end - t.begin; }

struct PoolWindow {
  int64_t top, left;
  Taps y, x;
  float divisor;
};
GPU_FN PoolWindow window_at(const PoolParams& p, int64_t oy, int64_t ox) {
  const Pool2dAttributes& t = p.t;
  PoolWindow w = {oy * t.stride_h - t.pad_top, ox * t.stride_w - t.pad_left, {}, {}, 1};
  w.y = taps_inside(w.top, p.dilation_h, t.kernel_h, 0, p.in_h);
  w.x = taps_inside(w.left, p.dilation_w, t.kernel_w, 0, p.in_w);
  int64_t taps = count_of(w.y) * count_of(w.x);
  if (t.kind == PoolKind::kAverageIncludePad)
    taps = count_of(taps_inside(w.top, p.dilation_h, t.kernel_h, w.top, p.in_h + t.pad_bottom)) *
           count_of(taps_inside(w.left, p.dilation_w, t.kernel_w, w.left, p.in_w + t.pad_right));
  w.divisor = float(taps > 0 ? taps : 1);
  return w;
}

template <int width, class Step>
GPU_FN Channels<width> fold_window(const PoolParams& p, const PoolWindow& w, int64_t image,
                                   float start, Step step) {
  Channels<width> acc;
  INGOT_UNROLL for (int c = 0; c < width; c++) acc.v[c] = start;
  GPU_ROLLED for (int64_t ky = w.y.begin; ky < w.y.end; ky++) {
    const int64_t row = image + (w.top + ky * p.t.dilation_h) * p.in_w * p.x_pixel;
    GPU_ROLLED for (int64_t kx = w.x.begin; kx < w.x.end; kx++) {
      const Channels<width> x =
          load_channels<width>(p.x, row + (w.left + kx * p.t.dilation_w) * p.x_pixel, p.x_f16);
      INGOT_UNROLL for (int c = 0; c < width; c++) acc.v[c] = step(acc.v[c], x.v[c]);
    }
  }
  return acc;
}

template <int width>
GPU_FN void pool2d(const PoolParams& p) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i);
    const int64_t channel = int64_t(take_remainder(&rest, p.channels)) * width,
                  pixel = int64_t(rest);
    const int64_t ox = int64_t(take_remainder(&rest, p.width)),
                  oy = int64_t(take_remainder(&rest, p.height));
    const PoolWindow w = window_at(p, oy, ox);
    const int64_t image = int64_t(rest) * p.in_h * p.in_w * p.x_pixel + channel;
    Channels<width> y;
    switch (p.t.kind) {
      case PoolKind::kMax:
        y = fold_window<width>(p, w, image, -__builtin_inff(), [](float a, float x) {
          return a != a ? a : V::max(a, x);
        });  // NaN stays
        break;
      case PoolKind::kLp:
        y = fold_window<width>(p, w, image, 0, [&](float a, float x) {
          return p.t.p == 1 ? a + V::abs(x) : V::fma(x, x, a);
        });
        if (p.t.p == 2) INGOT_UNROLL for (int c = 0; c < width; c++) y.v[c] = V::sqrt(y.v[c]);
        break;
      default:
        y = fold_window<width>(p, w, image, 0, [](float a, float x) { return a + x; });
        INGOT_UNROLL for (int c = 0; c < width; c++) y.v[c] = y.v[c] / w.divisor;
        break;
    }
    if constexpr (width == 4)
      store_four(p.y, pixel * p.y_pixel + channel, p.y_f16, 4, true, y);
    else
      store_float(p.y, pixel * p.y_pixel + channel, p.y_f16, y.v[0]);
  }
}
INGOT_GPU_KERNEL_BLOCKS(pool2d_1, PoolParams, 128, 4) { pool2d<1>(p); }
INGOT_GPU_KERNEL_BLOCKS(pool2d_4, PoolParams, 128, 4) { pool2d<4>(p); }

}  // namespace ingot::cuda
