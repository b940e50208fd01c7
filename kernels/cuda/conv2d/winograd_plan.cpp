// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/winograd_plan.cpp - blocks of tiles: transform, 36 products in one launch,
// transform back.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "kernels/cuda/conv2d/winograd_params.h"

namespace ingot::cuda {
namespace {

// of V and M together: they stay in the L2 cache of larger GPUs
constexpr int64_t kBlockBytes = 16 << 20;
constexpr int64_t kTileGrain = 64;  // pixels of a register tile: blocks are multiples of it

/// Tiles of a block. Does not depend on how many tiles there are, so that fewer never take more
/// scratch.
struct Blocks {
  int64_t tiles_w, tiles, total, block, v_row, m_row;
  explicit Blocks(const conv::Extents& e) {
    tiles_w = ceil_div(e.ow, 4), tiles = ceil_div(e.oh, 4) * tiles_w, total = e.n * tiles;
    v_row = round_up(e.c, 4), m_row = round_up(e.o, 4);
    const int64_t fit =
        kBlockBytes / 4 / kWinogradPlanes / (v_row + m_row) / kTileGrain * kTileGrain;
    block = fit < kTileGrain ? kTileGrain : fit;
    if (block > total) block = total;
  }
};

/// The 36 products of a block of `count` tiles.
ConvParams product_of(const ConvJob& j, const Blocks& b, float* v, float* m, int64_t count) {
  const conv::Extents& e = j.e;
  ConvParams p = rows_times_panels(v, b.v_row, count, e.c, j.w, e.o);
  p.groups = kWinogradPlanes, p.panel_stride = kWinogradPlanes * e.c * kPanel;
  p.x_group = b.block * b.v_row, p.w_group = e.c * kPanel, p.y_group = b.block * b.m_row;
  p.y = m, p.y_stride = b.m_row, p.epilogue = epilogue_params({}, false);
  return p;
}

}  // namespace

void list_winograd(const ConvJob& j, const GpuTraits& traits, VariantList* list) {
  const conv::Extents& e = j.e;
  if (e.n == 0 || e.oh == 0 || e.ow == 0 || e.o == 0) return;
  const Blocks b(e);
  list_conv_tiles(product_of(j, b, nullptr, nullptr, b.block), traits, list);
}

uint64_t winograd_scratch(const conv::Extents& e) {
  if (e.n == 0 || e.oh == 0 || e.ow == 0 || e.o == 0) return 0;
  const Blocks b(e);
  return uint64_t(b.block) * uint64_t(b.v_row + b.m_row) * kWinogradPlanes * 4;
}

Status launch_winograd(const GpuWork& work, const ConvJob& j, float* scratch) {
  const conv::Extents& e = j.e;
  if (e.n == 0 || e.oh == 0 || e.ow == 0 || e.o == 0) return {};
  if (!is_aligned(j.w)) return Status(Code::kMisaligned);
  if (e.c >= 1 << 30 || e.o >= 1 << 30) return Status(Code::kLimitExceeded);
  const Blocks b(e);
  float *v = scratch, *m = v + kWinogradPlanes * b.block * b.v_row;
  for (int64_t first = 0; first < b.total; first += b.block) {
    const int64_t count = b.total - first < b.block ? b.total - first : b.block;
    if (e.c > 0) {
      const WinogradInputParams in = {
          j.x, v,   first,        count,         b.tiles_w,  b.tiles, e.h,
          e.w, e.c, j.t->pad_top, j.t->pad_left, j.x_stride, b.v_row, b.block * b.v_row};
      const Status status =
          launch(work, KernelId::winograd_input, blocks_for(count * e.c, 128, work.traits), in);
      if (!status.ok()) return status;
    }
    Status status = launch_conv_tiles(work, product_of(j, b, v, m, count));
    if (!status.ok()) return status;
    const WinogradOutputParams out = {m,
                                      j.bias,
                                      j.residual,
                                      j.y,
                                      first,
                                      count,
                                      b.tiles_w,
                                      b.tiles,
                                      e.oh,
                                      e.ow,
                                      e.o,
                                      b.m_row,
                                      b.block * b.m_row,
                                      j.y_stride,
                                      j.residual_stride,
                                      epilogue_params(j.t->activation, j.t->residual_first)};
    status =
        launch(work, KernelId::winograd_output, blocks_for(count * e.o, 128, work.traits), out);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace ingot::cuda
