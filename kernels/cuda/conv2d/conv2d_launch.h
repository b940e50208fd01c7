// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/conv2d_launch.h - one convolution, whole or a stage of a chain, as launches.
#pragma once
#include "kernels/cuda/conv2d/conv2d_params.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm/tile_model.h"
#include "kernels/cuda/tensorcore/bottleneck_params.h"
#include "runtime/op/conv_stage.h"

namespace ingot::cuda {

/// An image on the device and the convolution of it. Strides in elements.
struct ConvJob {
  const Conv2dAttributes* t = nullptr;
  conv::Extents e;
  const float *x = nullptr, *w = nullptr, *bias = nullptr, *residual = nullptr;
  float* y = nullptr;
  // between pixels; of the rows of planes for kNchw
  int64_t x_stride = 0, y_stride = 0, residual_stride = 0;
  bool x_f16 = false, y_f16 = false, residual_f16 = false;  // depthwise alone reads and writes f16
};

/// A kernel of matrix products and what it costs.
struct TileKernel {
  KernelId vector, any;  // the same tile for quads of channels and for any alignment
  uint32_t shared_bytes;
  TileCost cost;
};
template <class T>
constexpr TileKernel make_tile_kernel(KernelId vector, KernelId any, const char* name,
                                      double speed) {
  return {vector, any, T::kSharedBytes, f32_tile(name, T::kPixels, T::kChannels, speed)};
}
/// Up to this many outputs one thread each may suit better than tiles.
constexpr int64_t kMaxOneEach = 1 << 16;

inline bool is_aligned(const void* p, uint32_t bytes = 16) {
  return reinterpret_cast<uintptr_t>(p) % bytes == 0;
}

/// Ids of variants beside tiles, whose ids are their places in the table of tiles.
enum : uint16_t { kSkinnyVariant = 16, kOneEachVariant, kRowOf4Variant, kOnePixelVariant };

/// The tile that work.variant names, or the model has for these extents, launched. `p` is whole but
/// for vector_y. @pre p.pixels, p.outputs, p.groups >= 1, the window's numbers are below 2^30,
/// weights are 16-byte aligned.
Status launch_conv_tiles(const GpuWork& work, ConvParams p);

void list_conv_tiles(const ConvParams& p, const GpuTraits& traits, VariantList* list);

/// Rows of k channels times panels: y[row][o]. @pre as launch_conv_tiles, k below 2^30.
ConvParams rows_times_panels(const float* x, int64_t x_stride, int64_t rows, int64_t k,
                             const float* w, int64_t outputs);

/// Direct, grouped and depthwise convolutions. scratch: grouped_scratch() bytes. Nothing for an
/// empty output.
Status launch_conv(const GpuWork& work, const ConvJob& job, float* scratch);
void list_conv(const ConvJob& job, const GpuTraits& traits, VariantList* list);
uint64_t grouped_scratch(const Conv2dAttributes& t, const conv::Extents& e);

/// F(4x4, 3x3) in blocks of tiles. scratch: winograd_scratch() bytes.
Status launch_winograd(const GpuWork& work, const ConvJob& job, float* scratch);
void list_winograd(const ConvJob& job, const GpuTraits& traits, VariantList* list);
uint64_t winograd_scratch(const conv::Extents& e);

Status launch_depthwise(const GpuWork& work, const ConvJob& job);
void list_depthwise(const ConvJob& job, VariantList* list);
/// Whether a depthwise convolution and the one behind it are worth one launch, that never stores
/// what lies between.
bool joins_pointwise(const GpuWork& work, const ConvJob& first, const ConvJob& next);
/// @pre joins_pointwise
Status launch_depthwise_pointwise(const GpuWork& work, const ConvJob& first, const ConvJob& next);

/// Three stages of a chain: pointwise, depthwise, pointwise. `is_f16`: weights of the first and the
/// last are packed.
struct BottleneckJob {
  ConvJob expand, window, project;
  bool is_f16 = false;
};
struct BottleneckLaunch {
  BottleneckParams p;
  uint32_t images = 0, shared_bytes = 0;
};
constexpr uint32_t kBottleneckShared = 48 << 10;  // that every GPU gives a block unasked
/// Whether one launch has them all, and takes less time than theirs by the formula of
/// tensorcore/bottleneck_cost.h; then also which.
bool choose_bottleneck(const GpuWork& work, const BottleneckJob& job, BottleneckLaunch* out);
Status launch_bottleneck(const GpuWork& work, const BottleneckLaunch& launch, bool is_f16);

}  // namespace ingot::cuda
