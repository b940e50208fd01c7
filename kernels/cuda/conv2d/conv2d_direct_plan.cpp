// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/conv2d_direct_plan.cpp - a direct or grouped convolution: its images as
// windows, its groups as panels.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "kernels/cuda/linear/skinny_params.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kSmallOutputs = 8;  // of a group: a panel would be more than half empty

/// Strides of x by image, row, pixel and channel.
struct ImageStrides {
  int64_t image, row, pixel, channel;
};
ImageStrides strides_of(const ConvJob& j) {
  const conv::Extents& e = j.e;
  if (j.t->input_layout == ChannelLayout::kNchw)
    return {e.c * e.h * j.x_stride, j.x_stride, 1, e.h * j.x_stride};
  return {e.h * e.w * j.x_stride, e.w * j.x_stride, j.x_stride, 1};
}

bool fits_tiles(const ConvJob& j) {
  const Conv2dAttributes& t = *j.t;
  const int64_t extents[] = {j.e.h, j.e.w, j.e.c, j.e.ow, conv::window_h(t), conv::window_w(t)};
  for (int64_t extent : extents)
    if (extent >= 1 << 30) return false;
  const double tiles =
      // of the smallest
      double(j.e.n) * double(j.e.oh) * double(j.e.ow) / 32 * (double(j.e.o) / 16 + 1);
  return is_aligned(j.w) && tiles < 1 << 30;
}
bool is_packed_on_device(const Conv2dAttributes& t, const conv::Extents& e) {
  return t.method == ConvMethod::kGrouped && e.o / t.groups >= kSmallOutputs;
}

Status launch_each(const GpuWork& work, const ConvJob& j) {
  const Conv2dAttributes& t = *j.t;
  const ImageStrides s = strides_of(j);
  ConvEachParams p = {};
  p.x = j.x, p.w = j.w, p.bias = j.bias, p.residual = j.residual, p.y = j.y;
  p.count = j.e.n * j.e.oh * j.e.ow * j.e.o;
  p.groups = t.groups, p.h = j.e.h, p.width = j.e.w, p.c = j.e.c / p.groups, p.oh = j.e.oh,
  p.ow = j.e.ow, p.outputs = j.e.o / p.groups;
  p.kernel_h = t.kernel_h, p.kernel_w = t.kernel_w, p.stride_h = t.stride_h,
  p.stride_w = t.stride_w;
  p.dilation_h = t.dilation_h, p.dilation_w = t.dilation_w, p.pad_top = t.pad_top,
  p.pad_left = t.pad_left;
  p.image_stride = s.image, p.row_stride = s.row, p.pixel_stride = s.pixel,
  p.channel_stride = s.channel;
  const int64_t k = p.kernel_h * p.kernel_w * p.c;
  const bool dense = t.method == ConvMethod::kGrouped;
  p.panel_stride = kPanel * k, p.lane_stride = dense ? k : 1, p.step = dense ? 1 : kPanel,
  p.w_group = p.outputs * k;
  p.y_stride = j.y_stride, p.residual_stride = j.residual_stride;
  p.epilogue = epilogue_params(t.activation, t.residual_first);
  return launch(work, KernelId::conv2d_each, blocks_for(p.count, 128, work.traits), p);
}

/// One output a thread beside tiles: only where there are so few that blocks of tiles would leave
/// multiprocessors idle.

bool is_pointwise(const Conv2dAttributes& t) {
  return t.kernel_h == 1 && t.kernel_w == 1 && t.stride_h == 1 && t.stride_w == 1 &&
         !conv::needs_band(t);
}

/// As tiles see it; grouped: weights are those that pack_panels makes in `packed`.
ConvParams tiled_params(const ConvJob& j, float* packed) {
  const Conv2dAttributes& t = *j.t;
  const conv::Extents& e = j.e;
  const int64_t groups = t.groups, c = e.c / groups, k = int64_t(t.kernel_h) * t.kernel_w * c;
  const ImageStrides s = strides_of(j);
  ConvParams p = rows_times_panels(j.x, s.pixel, e.n * e.oh * e.ow, k, j.w, e.o / groups);
  if (!is_pointwise(t)) {
    p.plane = e.oh * e.ow;
    p.image_stride = s.image, p.row_stride = s.row, p.pixel_stride = s.pixel,
    p.channel_stride = s.channel;
    p.window = {int(e.h),          int(e.w),          int(c),          int(e.ow),
                int(t.kernel_h),   int(t.kernel_w),   int(t.stride_h), int(t.stride_w),
                int(t.dilation_h), int(t.dilation_w), int(t.pad_top),  int(t.pad_left)};
  }
  p.bias = j.bias, p.residual = j.residual, p.y = j.y, p.y_stride = j.y_stride,
  p.residual_stride = j.residual_stride;
  p.epilogue = epilogue_params(t.activation, t.residual_first);
  if (t.method != ConvMethod::kGrouped) return p;
  p.groups = groups, p.x_group = c * s.channel, p.y_group = p.outputs;
  p.w = packed, p.w_group = round_up(p.outputs, kPanel) * k;
  return p;
}

Status launch_skinny(const GpuWork& work, const ConvParams& p) {
  const SkinnyParams few = {p.x,
                            p.w,
                            p.bias,
                            p.residual,
                            p.y,
                            p.pixels,
                            p.k,
                            p.outputs,
                            p.image_stride,
                            p.y_stride,
                            p.residual_stride,
                            p.epilogue,
                            work.constants.has(p.w) && work.constants.has_or_null(p.bias)};
  return launch(work, KernelId::skinny, blocks_for(p.outputs, kPanel, work.traits), few,
                SkinnyShape::kSharedBytes);
}

/// Variants to compute what is neither depthwise nor empty: tiles, and what suits few rows or few
/// outputs.
void list_variants(const ConvJob& j, const ConvParams& p, const GpuTraits& traits,
                   VariantList* list) {
  const bool grouped = j.t->method == ConvMethod::kGrouped;
  if (is_pointwise(*j.t) && !grouped && p.pixels <= SkinnyShape::kRows)
    list->add({"skinny", 1, kSkinnyVariant}, -1);
  list_conv_tiles(p, traits, list);
  if (p.pixels <= kMaxOneEach / (p.outputs * p.groups))
    list->add({"one_each", 1, kOneEachVariant}, 1e300);
}

bool is_each(const ConvJob& j) {
  return !fits_tiles(j) || (j.t->method == ConvMethod::kGrouped && !is_packed_on_device(*j.t, j.e));
}
bool is_empty(const conv::Extents& e) { return e.n == 0 || e.oh == 0 || e.ow == 0 || e.o == 0; }

}  // namespace

uint64_t grouped_scratch(const Conv2dAttributes& t, const conv::Extents& e) {
  if (!is_packed_on_device(t, e)) return 0;
  const int64_t k = int64_t(t.kernel_h) * t.kernel_w * (e.c / t.groups);
  return uint64_t(t.groups) * uint64_t(round_up(e.o / t.groups, kPanel)) * uint64_t(k) * 4;
}

void list_conv(const ConvJob& j, const GpuTraits& traits, VariantList* list) {
  if (is_empty(j.e)) return;
  if (j.t->method == ConvMethod::kDepthwise) return list_depthwise(j, list);
  if (!is_each(j)) list_variants(j, tiled_params(j, nullptr), traits, list);
}

Status launch_conv(const GpuWork& work, const ConvJob& j, float* scratch) {
  const Conv2dAttributes& t = *j.t;
  if (is_empty(j.e)) return {};
  if (t.method == ConvMethod::kDepthwise) return launch_depthwise(work, j);
  if (is_each(j)) return launch_each(work, j);
  const ConvParams p = tiled_params(j, scratch);
  VariantList variants;
  list_variants(j, p, work.traits, &variants);
  const uint16_t variant = variants.pick(work.variant).id;
  const bool packs = t.method == ConvMethod::kGrouped && p.k > 0;
  // The row of tensor cores asks for its own scratch, before addresses are known, and comes here
  // when they turn out unaligned.
  const bool has_room = !packs || work.scratch_bytes >= grouped_scratch(t, j.e);
  if (variant == kOneEachVariant || !has_room) return launch_each(work, j);
  if (variant == kSkinnyVariant) return launch_skinny(work, p);
  if (packs) {
    const PackPanelsParams pack = {j.w, scratch, p.groups, p.outputs, p.k};
    INGOT_TRY(launch(work, KernelId::pack_panels,
                     blocks_for(p.groups * p.w_group, 256, work.traits), pack));
  }
  return launch_conv_tiles(work, p);
}

}  // namespace ingot::cuda
