// kernels/cuda/tensorcore/tile_choice.h - which tile, and into how many parts k is cut:
// gemm/tile_model.h, with cycles of a step that are
//
//   sum over warps of (pixels + outputs of the warp) / 2    fragments out of shared memory, 128
//   bytes a cycle;
//                                                           wide 192 for 8192 sums, square and flat
//                                                             128 for 4096
//
// With at most kFewRows rows nothing but reading w counts: blocks of 16 outputs, parts until
// there are four a multiprocessor. Depends on extents and multiprocessors alone: scratch is asked
// for before addresses are known.
#pragma once
#include "kernels/cuda/gemm/tile_model.h"
#include "kernels/cuda/tensorcore/tensorcore_params.h"

namespace ingot::cuda {

enum class TileKind : uint16_t { kWide, kSquare, kFlat, kSmall };
constexpr int kTileKinds = 4;
struct TileChoice {
  TileKind kind = TileKind::kSquare;
  int splits = 1;
};

inline ProductTile tile_of(TileKind kind) {
  return kind == TileKind::kWide ? kWideTile : kind == TileKind::kFlat ? kFlatTile : kSquareTile;
}
/// The name is that of the variant in files.
constexpr TileCost kTileCosts[kTileKinds] = {{"128x64", kWideTile.m, kWideTile.o, 192},
                                             {"64x64", kSquareTile.m, kSquareTile.o, 128},
                                             {"32x128", kFlatTile.m, kFlatTile.o, 128},
                                             {"few_rows", 1, 16, 0}};

constexpr int kMaxSplits = 16;
/// Every part has eight steps at least, each of which four are in flight.
inline bool may_split(int64_t steps, int splits) {
  return splits == 1 || (splits <= kMaxSplits && steps / splits >= 8);
}

/// Parts of k for a few rows.
inline int few_rows_splits(int64_t batches, int64_t o, int64_t steps, int multiprocessors) {
  const int64_t blocks = batches * ceil_div(o, 16);
  int splits = 1;
  while (may_split(steps, 2 * splits) && blocks * splits < 4 * int64_t(multiprocessors))
    splits *= 2;
  return splits;
}

inline TileChoice choose_tile(int64_t batches, int64_t m, int64_t o, int64_t k,
                              int multiprocessors) {
  const int64_t steps = ceil_div(k, 16);
  if (m <= kFewRows) return {TileKind::kSmall, few_rows_splits(batches, o, steps, multiprocessors)};
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
  return best;
}

}  // namespace ingot::cuda
