// kernels/cuda/conv2d/conv2d_plan.cpp - which tile a convolution is cut into, and the rows of conv2d and linear.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "runtime/op/linear.h"

namespace ingot::cuda {
namespace {

struct Tile {
  KernelId vector, any;  // the same tile for quads of channels and for any alignment
  int pixels, channels;
  uint32_t shared_bytes;
  double speed;  // of a multiprocessor, relative: fewer loads of shared memory a product in larger tiles
};
template <class T>
constexpr Tile make_tile(KernelId vector, KernelId any, double speed) {
  return {vector, any, T::kPixels, T::kChannels, T::kSharedBytes, speed};
}
constexpr Tile kTiles[] = {
    make_tile<LargeTile>(KernelId::conv2d_large, KernelId::conv2d_large_any, 1.0),
    make_tile<SquareTile>(KernelId::conv2d_square, KernelId::kCount, 0.8),
    make_tile<NarrowTile>(KernelId::conv2d_narrow, KernelId::conv2d_narrow_any, 0.8),
    make_tile<ThinTile>(KernelId::conv2d_thin, KernelId::conv2d_thin_any, 0.6),
    make_tile<SmallTile>(KernelId::conv2d_small, KernelId::conv2d_small_any, 0.6),
};

int64_t tiles_of(const Tile& tile, const ConvParams& p) {
  return ceil_div(p.pixels, tile.pixels) * ceil_div(p.outputs, tile.channels);
}

/// The least time of the multiprocessor that has most to do.
const Tile& best_tile(const ConvParams& p, bool vector, const GpuTraits& traits) {
  const Tile* best = nullptr;
  double least = 0;
  for (const Tile& tile : kTiles) {
    if (!vector && tile.any == KernelId::kCount) continue;
    const double rounds =
        double(ceil_div(tiles_of(tile, p) * (p.groups < (1 << 20) ? p.groups : 1 << 20), traits.multiprocessors));
    const double time = rounds * tile.pixels * tile.channels / tile.speed;
    if (best && time >= least) continue;
    best = &tile, least = time;
  }
  return *best;
}

bool reads_quads(const ConvParams& p) {
  const int64_t strides = p.window.c | p.image_stride | p.row_stride | p.pixel_stride | p.x_group;
  return strides % 4 == 0 && p.channel_stride == 1 && is_aligned(p.x);
}
bool writes_quads(const ConvParams& p) {
  const int64_t strides = p.y_stride | p.y_group | (p.residual ? p.residual_stride : 0);
  return strides % 4 == 0 && is_aligned(p.y) && (!p.residual || is_aligned(p.residual));
}

}  // namespace

Status launch_conv_tiles(const GpuWork& work, ConvParams p) {
  p.vector_y = writes_quads(p);
  if (p.k == 0) p.window.c = 1;  // nobody walks over no channels
  const bool vector = reads_quads(p);
  const Tile& tile = best_tile(p, vector, work.traits);
  const int64_t tiles = tiles_of(tile, p), most = int64_t(work.traits.multiprocessors) * 32;
  return launch(work, vector ? tile.vector : tile.any, uint32_t(tiles < most ? tiles : most), p, tile.shared_bytes, 1,
                uint32_t(p.groups < 65535 ? p.groups : 65535));
}

ConvParams rows_times_panels(const float* x, int64_t x_stride, int64_t rows, int64_t k, const float* w,
                             int64_t outputs) {
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
  j.bias = bias ? bias->as<float>() : nullptr, j.residual = residual ? residual->as<float>() : nullptr;
  j.x_stride = a.inputs[0].row_stride, j.y_stride = a.outputs[0].row_stride;
  j.residual_stride = residual ? residual->row_stride : 0;
  return j;
}

uint64_t scratch_conv2d(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  const conv::Extents e = conv::extents(t, a.inputs[0], a.outputs[0]);
  return t.method == ConvMethod::kWinogradF43 ? winograd_scratch(e) : grouped_scratch(t, e);
}
Status plan_conv2d(const GpuWork& work) {
  const ConvJob j = job_of(*work.arguments);
  float* scratch = reinterpret_cast<float*>(work.scratch);
  return j.t->method == ConvMethod::kWinogradF43 ? launch_winograd(work, j, scratch) : launch_conv(work, j, scratch);
}

bool supports_linear(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const TensorView* bias = a.optional(2);
  return a.inputs[1].packing == Packing::kPanels16 && (!bias || bias->packing == Packing::kVector16);
}

/// A pointwise convolution of `rows` pictures of one pixel.
Status plan_linear(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const LinearAttributes& l = a.as<LinearAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const TensorView *bias = a.optional(2), *residual = a.optional(3);
  if (y.elements() == 0) return {};
  Conv2dAttributes t;
  t.activation = l.activation, t.residual_first = l.residual_first;
  ConvJob j;
  j.t = &t, j.e = {y.rows(), 1, 1, x.row_length(), 1, 1, y.row_length()};
  j.x = x.as<float>(), j.w = a.inputs[1].as<float>(), j.y = y.as<float>();
  j.bias = bias ? bias->as<float>() : nullptr, j.residual = residual ? residual->as<float>() : nullptr;
  j.x_stride = x.row_stride, j.y_stride = y.row_stride, j.residual_stride = residual ? residual->row_stride : 0;
  return launch_conv(work, j, nullptr);
}

constexpr GpuRow kRows[] = {{OpCode::kConv2d, "conv2d", supports_conv2d, scratch_conv2d, plan_conv2d},
                            {OpCode::kLinear, "linear", supports_linear, nullptr, plan_linear}};

}  // namespace

const Span<const GpuRow> kConv2dRows = Span<const GpuRow>(kRows);

}  // namespace ingot::cuda
