// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/tile_choice.h - which tile, and into how many parts k is cut:
// gemm/tile_model.h, with cycles of a step that are
//
//   sum over warps of (pixels + outputs of the warp) / 2    fragments out of shared memory, 128
//   bytes a cycle;
//                                                           wide 192 for 8192 sums, square and flat
//                                                             128 for 4096
//   of tiles that share windows (window_strips.h) those of the tensor cores, 512 products a cycle,
//   which are more; of 64 outputs 240, not 256, since L2, which is what bounds the wide tile, takes
//   the rows of y besides
//
// With at most kSkinnyRows rows nothing but reading w counts: blocks of 16 outputs, parts until
// there are four a multiprocessor. Depends on extents and multiprocessors alone: scratch is asked
// for before addresses are known.
#pragma once
#include "kernels/cuda/gemm/tile_model.h"
#include "kernels/cuda/tensorcore/window_strips.h"

namespace ingot::cuda {

enum class TileKind : uint16_t {
  kWide,
  kSquare,
  kFlat,
  kSmall,
  kLarge,
  kShared32,
  kShared48,
  kShared64,
  kShared80
};
constexpr int kTileKinds = 9;
constexpr bool is_shared(TileKind kind) { return kind >= TileKind::kShared32; }
constexpr int panels_of(TileKind kind) {
  return int(kind) - int(TileKind::kShared32) + kMinSharedPanels;
}
/// Whether tiles that share windows and have so many panels of outputs are worth a try: the fewest
/// panels of as many tiles as have to be, and of one tile more; and the smallest, for few blocks.
inline bool is_worth_sharing(TileKind kind, int64_t o) {
  const int64_t all = ceil_div(o, 16), least = ceil_div(all, kMaxSharedPanels);
  return panels_of(kind) == kMinSharedPanels || panels_of(kind) == ceil_div(all, least) ||
         panels_of(kind) == ceil_div(all, least + 1);
}
struct TileChoice {
  TileKind kind = TileKind::kSquare;
  int splits = 1;
};

inline ProductTile tile_of(TileKind kind) {
  return kind == TileKind::kWide    ? kWideTile
         : kind == TileKind::kFlat  ? kFlatTile
         : kind == TileKind::kLarge ? kLargeTile
                                    : kSquareTile;
}
/// The name is that of the variant in files.
constexpr TileCost kTileCosts[kTileKinds] = {
    {"128x64", kWideTile.m, kWideTile.o, 192},    {"64x64", kSquareTile.m, kSquareTile.o, 128},
    {"32x128", kFlatTile.m, kFlatTile.o, 128},    {"skinny", 1, 16, 0},
    {"128x128", kLargeTile.m, kLargeTile.o, 384}, {"128x32_shared", kSharedPixels, 32, 128},
    {"128x48_shared", kSharedPixels, 48, 192},    {"128x64_shared", kSharedPixels, 64, 240},
    {"128x80_shared", kSharedPixels, 80, 320}};

constexpr int kMaxSplits = 16;
/// Every part has eight steps at least, each of which four are in flight.
inline bool may_split(int64_t steps, int splits) {
  return splits == 1 || (splits <= kMaxSplits && steps / splits >= 8);
}

/// Of tiles that share windows parts are of slices of channels.
inline bool may_split_slices(int64_t slices, int splits) { return splits <= 4 && splits <= slices; }

/// Parts of k for a few rows.
inline int skinny_splits(int64_t batches, int64_t o, int64_t steps, int multiprocessors) {
  const int64_t blocks = batches * ceil_div(o, 16);
  int splits = 1;
  while (may_split(steps, 2 * splits) && blocks * splits < 4 * int64_t(multiprocessors))
    splits *= 2;
  return splits;
}

/// Cycles of a large tile's step: what tensor cores multiply in a cycle bounds it, where shared
/// memory and the second-level cache bound the others.
inline TileCost large_tile_cost(int sm) {
  TileCost cost = kTileCosts[int(TileKind::kLarge)];
  const double products = sm >= 90 ? 406 : 512;  // of 1290 f16 a cycle (mma.sync on H100), of 1024
  if (cost.step_cycles < products) cost.step_cycles = products;
  return cost;
}

/// *cycles: of the choice, where it is asked for. large_sm: the architecture,
/// where there may be large tiles; else -1.
inline TileChoice choose_tile(int64_t batches, int64_t m, int64_t o, int64_t k, int multiprocessors,
                              double* cycles = nullptr, int large_sm = -1) {
  const int64_t steps = ceil_div(k, 16);
  if (m <= kSkinnyRows)
    return {TileKind::kSmall, skinny_splits(batches, o, steps, multiprocessors)};
  TileChoice best;
  double least = 0;
  constexpr TileKind kKinds[] = {TileKind::kWide, TileKind::kSquare, TileKind::kFlat};
  for (const TileKind kind : kKinds)
    for (int splits = 1; may_split(steps, splits); splits *= 2) {
      const double time =
          model_cycles(kTileCosts[int(kind)], {batches, m, o, k}, splits, multiprocessors);
      if (least != 0 && time >= least) continue;
      least = time, best = {kind, splits};
    }
  for (int splits = 1; large_sm >= 0 && may_split(steps, splits); splits *= 2) {
    const double time =
        model_cycles(large_tile_cost(large_sm), {batches, m, o, k}, splits, multiprocessors);
    if (time < least) least = time, best = {TileKind::kLarge, splits};
  }
  if (cycles) *cycles = least;
  return best;
}
/// Replaces a choice that takes `cycles` by a tile that shares windows, where that takes less.
/// @pre has_shared_windows(p)
inline void choose_shared_tile(const ProductParams& p, int multiprocessors, double cycles,
                               TileChoice* choice) {
  for (int i = int(TileKind::kShared32); i < kTileKinds; i++) {
    const TileCost& tile = kTileCosts[i];
    const WindowStrips strips = cut_strips(p, max_patch(panels_of(TileKind(i))));
    if (!strips.count || !is_worth_sharing(TileKind(i), p.o)) continue;
    for (int splits = 1; may_split_slices(ceil_div(p.c, 16), splits); splits *= 2) {
      const double time =
          shared_windows_cycles(p, strips, tile.o, tile.step_cycles, splits, multiprocessors);
      if (time < cycles) cycles = time, *choice = {TileKind(i), splits};
    }
  }
}

}  // namespace ingot::cuda
