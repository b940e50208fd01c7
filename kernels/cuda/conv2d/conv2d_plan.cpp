// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/conv2d_plan.cpp - which tile a convolution is cut into, and the rows of
// conv2d and linear.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "runtime/op/linear.h"

namespace ingot::cuda {
namespace {

constexpr TileKernel kConv2dTiles[] = {
    make_tile_kernel<LargeTile>(KernelId::conv2d_large, KernelId::conv2d_large_any, "128x64", 1.0),
    make_tile_kernel<SquareTile>(KernelId::conv2d_square, KernelId::kCount, "64x64", 0.8),
    make_tile_kernel<NarrowTile>(KernelId::conv2d_narrow, KernelId::conv2d_narrow_any, "128x32",
                                 0.8),
    make_tile_kernel<ThinTile>(KernelId::conv2d_thin, KernelId::conv2d_thin_any, "128x16", 0.6),
    make_tile_kernel<SmallTile>(KernelId::conv2d_small, KernelId::conv2d_small_any, "32x32", 0.6),
};

bool reads_quads(const ConvParams& p) {
  const int64_t strides = p.window.c | p.image_stride | p.row_stride | p.pixel_stride | p.x_group;
  return p.k > 0 && strides % 4 == 0 && p.channel_stride == 1 && is_aligned(p.x);
}
bool writes_quads(const ConvParams& p) {
  const int64_t strides = p.y_stride | p.y_group | (p.residual ? p.residual_stride : 0);
  return strides % 4 == 0 && is_aligned(p.y) && (!p.residual || is_aligned(p.residual));
}

}  // namespace

void list_conv_tiles(const ConvParams& p, const GpuTraits& traits, VariantList* list) {
  const bool vector = reads_quads(p);
  const ProductExtents extents = {p.groups, p.pixels, p.outputs, p.k};
  for (const TileKernel& tile : kConv2dTiles)
    if (vector || tile.any != KernelId::kCount)
      list->add({tile.cost.name, 1, uint16_t(&tile - kConv2dTiles)},
                model_cycles(tile.cost, extents, 1, traits.multiprocessors));
}

Status launch_conv_tiles(const GpuWork& work, ConvParams p) {
  p.vector_y = writes_quads(p);
  p.is_early = work.constants.has(p.w) && work.constants.has_or_null(p.bias);
  if (p.k == 0) p.window.c = 1;  // nobody walks over no channels
  VariantList variants;
  list_conv_tiles(p, work.traits, &variants);
  const TileKernel& tile = kConv2dTiles[variants.pick(work.variant).id];
  const int64_t tiles = ceil_div(p.pixels, tile.cost.m) * ceil_div(p.outputs, tile.cost.o);
  const int64_t most = int64_t(work.traits.multiprocessors) * 32;
  return launch(work, reads_quads(p) ? tile.vector : tile.any,
                uint32_t(tiles < most ? tiles : most), p, tile.shared_bytes, 1,
                uint32_t(p.groups < 65535 ? p.groups : 65535));
}

ConvParams rows_times_panels(const float* x, int64_t x_stride, int64_t rows, int64_t k,
                             const float* w, int64_t outputs) {
  ConvParams p = {};
  p.x = x, p.w = w, p.pixels = rows, p.plane = 1, p.k = k, p.outputs = outputs, p.groups = 1;
  p.image_stride = x_stride, p.channel_stride = 1, p.panel_stride = k * kPanel;
  p.window = {1, 1, int(k), 1, 1, 1, 1, 1, 1, 1, 0, 0};
  return p;
}

namespace {

bool supports_conv2d(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const TensorView* bias = a.optional(2);
  if (bias && bias->packing != Packing::kVector16) return false;
  switch (a.as<Conv2dAttributes>().method) {
    case ConvMethod::kDirect: return a.inputs[1].packing == Packing::kPanels16;
    case ConvMethod::kDepthwise: return a.inputs[1].packing == Packing::kDepthwise16;
    case ConvMethod::kGrouped: return a.inputs[1].packing == Packing::kDense;
    case ConvMethod::kWinogradF43: return a.inputs[1].packing == Packing::kWinogradF43;
  }
  return false;
}

ConvJob job_of(const OpArguments& a) {
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  const TensorView *bias = a.optional(2), *residual = a.optional(3);
  ConvJob j;
  j.t = &t, j.e = conv::extents(t, a.inputs[0], a.outputs[0]);
  j.x = a.inputs[0].as<float>(), j.w = a.inputs[1].as<float>(), j.y = a.outputs[0].as<float>();
  j.bias = bias ? bias->as<float>() : nullptr,
  j.residual = residual ? residual->as<float>() : nullptr;
  j.x_stride = a.inputs[0].row_stride, j.y_stride = a.outputs[0].row_stride;
  j.residual_stride = residual ? int64_t{residual->row_stride} : 0;
  j.x_f16 = a.inputs[0].dtype == DType::kF16, j.y_f16 = a.outputs[0].dtype == DType::kF16;
  j.residual_f16 = residual && residual->dtype == DType::kF16;
  return j;
}
/// Those of depthwise convolutions; the others are exact arithmetic.
uint64_t f16_operands_of_conv2d(const OpArguments& a, const GpuTraits&) {
  constexpr uint64_t kImage = 1, kResidual = 1 << 3;
  return a.as<Conv2dAttributes>().method == ConvMethod::kDepthwise
             ? kImage | kResidual | uint64_t{1} << a.input_count
             : 0;
}

uint64_t scratch_conv2d(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  const conv::Extents e = conv::extents(t, a.inputs[0], a.outputs[0]);
  return t.method == ConvMethod::kWinogradF43 ? winograd_scratch(e) : grouped_scratch(t, e);
}
Status plan_conv2d(const GpuWork& work) {
  const ConvJob j = job_of(*work.arguments);
  float* scratch = reinterpret_cast<float*>(work.scratch);
  return j.t->method == ConvMethod::kWinogradF43 ? launch_winograd(work, j, scratch)
                                                 : launch_conv(work, j, scratch);
}

uint32_t list_conv2d(const OpArguments& a, const GpuTraits& traits, GpuPrecision, GpuVariant* out) {
  const ConvJob j = job_of(a);
  VariantList list;
  if (j.t->method == ConvMethod::kWinogradF43)
    list_winograd(j, traits, &list);
  else
    list_conv(j, traits, &list);
  return list.copy(out);
}

bool supports_linear(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const TensorView* bias = a.optional(2);
  return !linear_weights::has_quantized_weights(a) && a.inputs[1].packing == Packing::kPanels16 &&
         (!bias || bias->packing == Packing::kVector16);
}

/// A pointwise convolution of `rows` images of one pixel. `t` is filled, and must outlive the
/// job.
ConvJob linear_job(const OpArguments& a, Conv2dAttributes* t) {
  const LinearAttributes& l = a.as<LinearAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const TensorView *bias = a.optional(2), *residual = a.optional(3);
  t->activation = l.activation, t->residual_first = l.residual_first;
  ConvJob j;
  j.t = t, j.e = {y.rows(), 1, 1, x.row_length(), 1, 1, y.row_length()};
  j.x = x.as<float>(), j.w = a.inputs[1].as<float>(), j.y = y.as<float>();
  j.bias = bias ? bias->as<float>() : nullptr,
  j.residual = residual ? residual->as<float>() : nullptr;
  j.x_stride = x.row_stride, j.y_stride = y.row_stride,
  j.residual_stride = residual ? int64_t{residual->row_stride} : 0;
  return j;
}
Status plan_linear(const GpuWork& work) {
  Conv2dAttributes t;
  if (work.arguments->outputs[0].elements() == 0) return {};
  return launch_conv(work, linear_job(*work.arguments, &t), nullptr);
}
uint32_t list_linear(const OpArguments& a, const GpuTraits& traits, GpuPrecision, GpuVariant* out) {
  Conv2dAttributes t;
  VariantList list;
  if (a.outputs[0].elements() == 0) return 0;
  list_conv(linear_job(a, &t), traits, &list);
  return list.copy(out);
}

constexpr GpuKernelEntry kConv2dTable[] = {
    {OpCode::kConv2d,
     "conv2d",
     supports_conv2d,
     scratch_conv2d,
     plan_conv2d,
     {list_conv2d, nullptr},
     f16_operands_of_conv2d},
    {OpCode::kLinear, "linear", supports_linear, nullptr, plan_linear, {list_linear, nullptr}}};

}  // namespace

const Span<const GpuKernelEntry> kConv2dRows = Span<const GpuKernelEntry>(kConv2dTable);

}  // namespace ingot::cuda
