// kernels/cuda/tensorcore/tile_choice.h - which tile, and into how many parts k is cut.
//
//   t(tile)   = sum over warps of (pixels + outputs of the warp) / 2   cycles of a step: fragments out of shared memory, 128 bytes a cycle;
//                                                                      wide 192 for 8192 sums, square and flat 128 for 4096
//   blocks    = batches * ceil(m / tile.m) * ceil(o / tile.o) * splits
//   time      = ceil(blocks / multiprocessors) * (ceil(steps / splits) * t + 600)
//             + (splits > 1: 3000 + (splits + 2) * batches * m * o / (8 * multiprocessors))    partial sums, 32 bytes a cycle and processor
//
// The least time wins, the larger tile and fewer splits among equals; 600 and 3000 are the cycles to fill a pipeline and to start another
// kernel. With at most kFewRows rows nothing but reading w counts: blocks of 16 outputs, splits until there are four a multiprocessor.
// Depends on extents and multiprocessors alone: scratch is asked for before addresses are known.
#pragma once
#include "kernels/cuda/tensorcore/tensorcore_params.h"
#include "runtime/base/checked_math.h"

namespace ingot::cuda {

enum class TileKind { kWide, kSquare, kFlat, kFewRows };
struct TileChoice {
  TileKind kind = TileKind::kSquare;
  int splits = 1;
};

inline ProductTile tile_of(TileKind kind) {
  return kind == TileKind::kWide ? kWideTile : kind == TileKind::kFlat ? kFlatTile : kSquareTile;
}

inline TileChoice choose_tile(int64_t batches, int64_t m, int64_t o, int64_t steps, int multiprocessors) {
  constexpr int kMostSplits = 16;
  TileChoice best;
  if (m <= kFewRows) {
    best.kind = TileKind::kFewRows;
    const int64_t blocks = batches * ceil_div(o, 16);
    while (best.splits < kMostSplits && blocks * best.splits < 4 * int64_t(multiprocessors) &&
           steps / (2 * best.splits) >= 8)
      best.splits *= 2;
    return best;
  }
  double least = 0;
  constexpr TileKind kKinds[] = {TileKind::kWide, TileKind::kSquare, TileKind::kFlat};
  for (const TileKind kind : kKinds) {
    const ProductTile tile = tile_of(kind);
    const double blocks = double(batches) * double(ceil_div(m, tile.m)) * double(ceil_div(o, tile.o));
    const int cycles = kind == TileKind::kWide ? 192 : 128;
    for (int splits = 1; splits <= kMostSplits && (splits == 1 || steps / splits >= 8); splits *= 2) {
      const double waves = double(int64_t((blocks * splits + multiprocessors - 1) / multiprocessors));
      double time = waves * (double(ceil_div(steps, splits)) * cycles + 600);
      if (splits > 1) time += 3000 + (splits + 2) * double(batches) * double(m) * double(o) / (8.0 * multiprocessors);
      if (least != 0 && time >= least) continue;
      least = time, best.kind = kind, best.splits = splits;
    }
  }
  return best;
}

}  // namespace ingot::cuda
