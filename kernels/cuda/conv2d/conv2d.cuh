// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/conv2d.cuh - convolutions as products of windows by weight panels. Contract:
// runtime/op/conv2d.h, linear.h.
#pragma once
#include "kernels/cuda/conv2d/conv2d_each.cuh"
#include "kernels/cuda/conv2d/conv2d_kernels.h"
#include "kernels/cuda/conv2d/conv2d_rows.cuh"
#include "kernels/cuda/conv2d/depthwise.cuh"
#include "kernels/cuda/conv2d/depthwise_rows.cuh"
#include "kernels/cuda/conv2d/winograd.cuh"

namespace ingot::cuda {

/// Blocks walk over tiles, channels innermost: blocks that run together read the same pixels.
/// make_rows(group, first pixel) is where k-tiles of x come from.
template <class T, class MakeRows>
GPU_FN void product_tiles(const ConvParams& p, MakeRows make_rows) {
  float* shared = gpu_shared<float>();
  const TileThread<T> own = TileThread<T>::make();
  if (!p.is_early) wait_for_launches();
  const int across = int((p.outputs + T::kChannels - 1) / T::kChannels);
  const int tiles = int((p.pixels + T::kPixels - 1) / T::kPixels) * across;
  for (int group = int(blockIdx.z); group < p.groups; group += int(gridDim.z))
    for (int tile = int(blockIdx.x); tile < tiles; tile += int(gridDim.x)) {
      const int64_t pixel = int64_t(tile / across) * T::kPixels,
                    channel = int64_t(tile % across) * T::kChannels;
      TileSums<T> sums;
      INGOT_UNROLL for (int j = 0; j < T::kCols; j++) {
        const int64_t c = channel + own.channel(j / 4) + j % 4;
        const float start = p.bias && c < p.outputs ? p.bias[group * p.y_group + c] : 0.0f;
        INGOT_UNROLL for (int i = 0; i < T::kRows; i++) sums.v[i][j] = start;
      }
      auto a = make_rows(group, pixel);
      const PanelColumns<T> b(p.w + group * p.w_group + channel / 16 * p.panel_stride,
                              p.panel_stride, p.outputs - channel);
      accumulate<T>(a, b, p.k, shared, own, sums);
      wait_for_launches();  // where there is nothing to sum
      finish_tile<T>(sums, shared, own, [&](int r, int c, const Quad& sum) {
        if (pixel + r >= p.pixels || channel + c >= p.outputs) return;
        const int64_t at = group * p.y_group + channel + c;
        finish_quad(p.epilogue, sum,
                    p.residual ? p.residual + (pixel + r) * p.residual_stride + at : nullptr,
                    p.y + (pixel + r) * p.y_stride + at, p.outputs - channel - c, p.vector_y);
      });
    }
  wait_for_launches();  // blocks without a tile
}

template <class T, bool kVector>
GPU_FN void conv2d_tiles(const ConvParams& p) {
  product_tiles<T>(p, [&](int group, int64_t pixel) {
    return ConvRows<T, kVector>(p, p.x + group * p.x_group, pixel);
  });
}

INGOT_GPU_KERNEL_EARLY_BLOCKS(conv2d_large, ConvParams, LargeTile::kThreads, LargeTile::kBlocks) {
  conv2d_tiles<LargeTile, true>(p);
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(conv2d_square, ConvParams, SquareTile::kThreads,
                              SquareTile::kBlocks) {
  conv2d_tiles<SquareTile, true>(p);
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(conv2d_narrow, ConvParams, NarrowTile::kThreads,
                              NarrowTile::kBlocks) {
  conv2d_tiles<NarrowTile, true>(p);
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(conv2d_thin, ConvParams, ThinTile::kThreads, ThinTile::kBlocks) {
  conv2d_tiles<ThinTile, true>(p);
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(conv2d_small, ConvParams, SmallTile::kThreads, SmallTile::kBlocks) {
  conv2d_tiles<SmallTile, true>(p);
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(conv2d_large_any, ConvParams, LargeTile::kThreads,
                              LargeTile::kBlocks) {
  conv2d_tiles<LargeTile, false>(p);
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(conv2d_narrow_any, ConvParams, NarrowTile::kThreads,
                              NarrowTile::kBlocks) {
  conv2d_tiles<NarrowTile, false>(p);
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(conv2d_thin_any, ConvParams, ThinTile::kThreads, ThinTile::kBlocks) {
  conv2d_tiles<ThinTile, false>(p);
}
INGOT_GPU_KERNEL_EARLY_BLOCKS(conv2d_small_any, ConvParams, SmallTile::kThreads,
                              SmallTile::kBlocks) {
  conv2d_tiles<SmallTile, false>(p);
}

INGOT_GPU_KERNEL_EARLY_BLOCKS(depthwise_pointwise, DepthwisePointwiseParams, NarrowTile::kThreads,
                              2) {
  product_tiles<NarrowTile>(p.product, [&](int, int64_t pixel) {
    return DepthwiseRows<NarrowTile>(p.depthwise, pixel, p.product.pixels);
  });
}

}  // namespace ingot::cuda
