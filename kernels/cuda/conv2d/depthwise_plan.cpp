// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/depthwise_plan.cpp - which windows have a kernel of their own.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "kernels/cuda/conv2d/depthwise_params.h"

namespace ingot::cuda {
namespace {

struct Line {
  KernelId kernel;
  int64_t pixels;  // of a thread
};
Line pixel_of(const ConvJob& j) {
  return {j.x_f16 ? KernelId::depthwise_f16_any : KernelId::depthwise_any, 1};
}

/// pixel_of() where the window has no kernel of its own.
Line line_of(const ConvJob& j) {
  const Conv2dAttributes& t = *j.t;
  const bool aligned = is_aligned(j.w) && is_aligned(j.bias);
  if (!aligned || t.kernel_h != t.kernel_w || t.dilation_w != 1 || t.stride_w > 2)
    return pixel_of(j);
  const bool two = t.stride_w == 2;
  if (j.x_f16 && t.kernel_h == 3)
    return {two ? KernelId::depthwise_f16_3x3_stride2 : KernelId::depthwise_f16_3x3, 4};
  if (j.x_f16 && t.kernel_h == 5)
    return {two ? KernelId::depthwise_f16_5x5_stride2 : KernelId::depthwise_f16_5x5, 4};
  if (t.kernel_h == 3) return {two ? KernelId::depthwise_3x3_stride2 : KernelId::depthwise_3x3, 4};
  if (t.kernel_h == 5) return {two ? KernelId::depthwise_5x5_stride2 : KernelId::depthwise_5x5, 4};
  return pixel_of(j);
}

}  // namespace

void list_depthwise(const ConvJob& j, VariantList* list) {
  if (line_of(j).pixels > 1) list->add({"row_of_4", 1, kRowOf4Variant}, 0);
  list->add({"one_pixel", 1, kOnePixelVariant}, 1);
}

DepthwiseParams depthwise_params(const ConvJob& j) {
  const Conv2dAttributes& t = *j.t;
  const conv::Extents& e = j.e;
  DepthwiseParams p = {};
  p.x = j.x, p.w = j.w, p.bias = j.bias, p.residual = j.residual, p.y = j.y;
  p.h = e.h, p.width = e.w, p.c = e.c, p.oh = e.oh, p.ow = e.ow;
  p.kernel_h = t.kernel_h, p.kernel_w = t.kernel_w, p.stride_h = t.stride_h,
  p.stride_w = t.stride_w;
  p.dilation_h = t.dilation_h, p.dilation_w = t.dilation_w, p.pad_top = t.pad_top,
  p.pad_left = t.pad_left;
  p.x_stride = j.x_stride, p.y_stride = j.y_stride, p.residual_stride = j.residual_stride;
  p.tap_stride = round_up(e.c, kPanel);
  p.epilogue = epilogue_params(t.activation, t.residual_first);
  p.x_f16 = j.x_f16, p.y_f16 = j.y_f16, p.residual_f16 = j.residual_f16;
  p.vector_x = j.x_stride % 4 == 0 && is_aligned(j.x, j.x_f16 ? 8 : 16);
  p.vector_y = j.y_stride % 4 == 0 && is_aligned(j.y, j.y_f16 ? 8 : 16) &&
               (!j.residual ||
                (j.residual_stride % 4 == 0 && is_aligned(j.residual, j.residual_f16 ? 8 : 16)));
  return p;
}

Status launch_depthwise(const GpuWork& work, const ConvJob& j) {
  const conv::Extents& e = j.e;
  if (e.n == 0 || e.oh == 0 || e.ow == 0 || e.o == 0) return {};
  DepthwiseParams p = depthwise_params(j);
  VariantList variants;
  list_depthwise(j, &variants);
  const Line line = variants.pick(work.variant).id == kOnePixelVariant ? pixel_of(j) : line_of(j);
  p.count = e.n * e.oh * ceil_div(e.ow, line.pixels) * ceil_div(e.c, 4);
  return launch(work, line.kernel, blocks_for(p.count, 128, work.traits), p);
}

bool joins_pointwise(const GpuWork& work, const ConvJob& first, const ConvJob& next) {
  using T = NarrowTile;
  const Conv2dAttributes& t = *next.t;
  if (first.x_f16 || next.y_f16 || next.residual_f16) return false;
  if (first.t->method != ConvMethod::kDepthwise || t.method != ConvMethod::kDirect || t.groups != 1)
    return false;
  if (t.kernel_h != 1 || t.kernel_w != 1 || t.stride_h != 1 || t.stride_w != 1 ||
      conv::needs_band(t))
    return false;
  if (first.t->input_layout != ChannelLayout::kNhwc || first.x == next.y) return false;
  const Conv2dAttributes& window = *first.t;
  if (window.kernel_h != 3 || window.kernel_w != 3 || window.dilation_w != 1 || window.stride_w > 2)
    return false;
  // More outputs than a tile has would compute the windows again for each; too few tiles would
  // leave the device idle.
  const int64_t pixels = next.e.n * next.e.oh * next.e.ow;
  if (next.e.o < 1 || next.e.o > T::kChannels ||
      pixels < int64_t(work.traits.multiprocessors) * T::kPixels || pixels >= 1 << 30)
    return false;
  const bool in_quads =
      first.e.c > 0 && first.e.c % 4 == 0 && first.x_stride % 4 == 0 && next.e.ow % 4 == 0;
  return in_quads && first.e.c < 1 << 30 && is_aligned(first.x) && is_aligned(first.w) &&
         is_aligned(first.bias) && is_aligned(next.w);
}

Status launch_depthwise_pointwise(const GpuWork& work, const ConvJob& first, const ConvJob& next) {
  using T = NarrowTile;
  DepthwisePointwiseParams p = {};
  p.depthwise = depthwise_params(first);
  p.product =
      rows_times_panels(nullptr, 0, next.e.n * next.e.oh * next.e.ow, next.e.c, next.w, next.e.o);
  p.product.bias = next.bias, p.product.residual = next.residual, p.product.y = next.y;
  p.product.y_stride = next.y_stride, p.product.residual_stride = next.residual_stride;
  p.product.epilogue = epilogue_params(next.t->activation, next.t->residual_first);
  p.product.vector_y =
      next.y_stride % 4 == 0 && is_aligned(next.y) &&
      (!next.residual || (next.residual_stride % 4 == 0 && is_aligned(next.residual)));
  p.product.is_early = work.constants.has(next.w) && work.constants.has_or_null(next.bias);
  const int64_t tiles = ceil_div(p.product.pixels, T::kPixels),
                most = int64_t(work.traits.multiprocessors) * 32;
  return launch(work, KernelId::depthwise_pointwise, uint32_t(tiles < most ? tiles : most), p,
                T::kSharedBytes);
}

}  // namespace ingot::cuda
