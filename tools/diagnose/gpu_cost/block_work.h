// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/block_work.h - what products with weights in blocks read and issue.
// Owns     nothing.
// Threads  any.
#pragma once
#include "kernels/cuda/cuda_kernels.h"
#include "tools/diagnose/gpu_cost/tensor_tiles.h"

namespace ingot::gpu_cost {

// What a warp reads of shared memory for 32 k: fragments, words and scales of its rows, scales and
// minima of its panel.
constexpr double kSharedPiece = 2 * 512 + 8 * 128 + 4 * 256;

/// Of weights in codes, on tensor cores. A warp has a panel and half of a tile's rows.
inline void describe_tiles(const cuda::BlockLinearParams& p, const char* kernel, LaunchWork* w) {
  using cuda::BlockTiles;
  const BlockFormat f = block_format(p.type);
  const double half = BlockTiles::kRows / BlockTiles::kHalves, k = double(p.units) * f.unit,
               groups = tiles(double(p.panels), BlockTiles::kPanels),
               halves = tiles(double(p.rows), half);
  w->unit = Unit::kS8;
  w->issued = double(p.panels) * block_weights::kOutputs * halves * half * k;
  w->blocks = groups * double(p.tiles);
  w->fetched = double(p.tiles) * double(p.panels) * double(p.panel_bytes) +
               groups * double(p.rows) * double(p.x_stride);
  w->on_chip = double(p.panels) * halves * k / 32 * kSharedPiece;
  add_loop(w, kernel);
  if (f.sub == 16) w->instructions *= 2;  // an instruction has 16 k
  w->in_flight = BlockTiles::kPanels * double(p.panel_bytes) / std::max(k / 32, 1.0) +
                 BlockTiles::kRows * BlockTiles::kK;
}

/// A tile of rows reads its panel for itself, from the second-level cache but for the first. Of a
/// mixture each expert counts that can have a row.
inline void describe(const cuda::BlockLinearParams& p, const char* kernel, const GpuLaunch& l,
                     LaunchWork* w) {
  const BlockFormat f = block_format(p.type);
  const bool is_float = f.is_float(), is_row = contains(kernel, "row_");
  const double k = double(p.units) * f.unit, rows = double(p.rows), outputs = double(p.outputs),
               panel = double(p.panel_bytes), panels = double(p.panels);
  const double owners =
      p.groups.ends ? std::min(rows, double(std::max<int64_t>(p.groups.experts, 1))) : 1;
  const double tiles_of_rows = double(p.tiles), x = double(p.x_stride) * (is_float ? kWord : 1);
  w->known = true;
  w->multiply_adds = rows * outputs * k;
  w->weight_bytes = owners * panels * panel;
  w->bytes = rows * (x + outputs * (p.residual ? 2 : 1) * kWord);
  w->blocks = panels * tiles_of_rows;
  w->fetched = panels * (tiles_of_rows * panel + rows * x);
  if (is_float) {
    w->unit = Unit::kF32;
    w->issued = panels * block_weights::kOutputs * rows * k;
    w->in_flight = l.shared_bytes;
    return;
  }
  if (contains(kernel, "block_tiles")) return describe_tiles(p, kernel, w);
  w->unit = Unit::kDot4;
  w->issued = panels * block_weights::kOutputs * rows * k;
  w->instructions =
      panels * k / 32 * (tiles_of_rows * cuda::kDecodeIssue + rows * cuda::kCodeRowIssue);
  const double ahead = is_row ? 4 : 1, warps = cuda::kBlockThreads / 32;
  w->in_flight = warps * ahead * panel / std::max(k / 32, 1.0);
}
inline void describe(const cuda::BlockQuantizeParams& p, const char*, const GpuLaunch&,
                     LaunchWork* w) {
  const double numbers = double(p.rows * p.units) * p.unit;
  w->known = true;
  w->bytes = numbers * kWord + double(p.rows) * double(p.y_stride);
  w->in_flight = cuda::kBlockThreads * kWord * (p.unit / 32.0);
}
/// Of the table only the rows that are written.
inline void describe(const cuda::BlockGatherParams& p, const char*, const GpuLaunch&,
                     LaunchWork* w) {
  const BlockFormat f = block_format(p.type);
  w->known = true;
  w->bytes = double(p.count) * 32 * (kWord + double(f.bytes) / f.unit);
}

}  // namespace ingot::gpu_cost
