// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/gpu_cost/tensor_tiles.h - what tiles of products on tensor cores fetch, take of
// shared memory and issue, by the kernel's name.
// Owns     nothing.
// Threads  any.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cuda/tensorcore/tile_choice.h"
#include "tools/diagnose/gpu_cost/launch_work.h"
#include "tools/diagnose/gpu_cost/loop_instructions.h"

namespace ingot::gpu_cost {

using namespace ingot::cuda;

constexpr double kWord = 4;         // bytes of an f32
constexpr double kHalf = 2;         // of an f16
constexpr double kChipBytes = 128;  // that a multiprocessor's shared memory gives in a cycle
constexpr double kWarps = 4;        // of a block of products
// Warp instructions of a word of k that is put together of bytes; a thread has 16 a stage, of which
// the figure of the loop has one.
constexpr double kByteWord = 60, kWordsOfThread = 16;

inline double tiles(double extent, double tile) { return std::ceil(extent / tile); }
inline bool contains(const char* name, const char* part) { return strstr(name, part) != nullptr; }

/// Extents of a product on tensor cores; k in words of x.
struct TensorExtents {
  double batches, m, o, k;
};
inline TileKind kind_of(const char* kernel) {
  return contains(kernel, "128x64")    ? TileKind::kWide
         : contains(kernel, "32x128")  ? TileKind::kFlat
         : contains(kernel, "128x128") ? TileKind::kLarge
                                       : TileKind::kSquare;
}
/// Bytes that weights of an output take: of a word of k in memory, of 16 in a tile.
struct TensorWeights {
  double word;
  int tile;
};
constexpr TensorWeights kWholeWords = {kWord, kWordWeights},
                        kPackedF16Words = {kHalf, kPackedF16Weights};
/// Tiles of its kernel, sums at `sum` bytes. @pre w->weight_bytes
inline void set_tensor_tiles(LaunchWork* w, const char* kernel, const TensorExtents& e, double sum,
                             const TensorWeights& weights, int splits, bool is_early) {
  const TileCost& tile = kTileCosts[int(kind_of(kernel))];
  const double steps = tiles(e.k, 16);
  w->blocks = e.batches * tiles(e.m, tile.m) * tiles(e.o, tile.o);
  w->issued = w->blocks * tile.m * tile.o * steps * 16;
  w->on_chip = w->blocks * steps * tile.step_cycles * kChipBytes;
  w->fetched = w->blocks * ((tile.m * kWord + tile.o * weights.word) * steps * 16 +
                            tile.m * tile.o * sum * splits);
  const bool singly = contains(kernel, "_first_") || contains(kernel, "_any_");
  const ProductTile shape = tile_of(kind_of(kernel));
  const int bytes = weights.tile;
  const double first =
      double(shape.steps_per_stage(bytes, singly)) * (shape.stages(bytes, singly) - 1);
  w->in_flight = shape.step_bytes(bytes) * first;
  if (is_early) {
    w->early_share = double(shape.o) * bytes / shape.step_bytes(bytes);
    w->early_bytes = std::min(w->weight_bytes,
                              shape.o * bytes * first * splits * e.batches * tiles(e.o, tile.o));
  }
  // what the figure of a loop counts once
  const double stages = w->blocks * steps / shape.steps_per_stage(bytes, singly);
  w->blocks *= splits;  // of these, each has its part of the steps
  const double words = contains(kernel, "bytes") ? (kWordsOfThread - 1) * kByteWord : 0;
  w->instructions = stages * kWarps * words;
}
/// Of the loop, once all that the unit multiplies is known.
inline void add_loop(LaunchWork* w, const char* kernel) {
  const double product = w->unit == Unit::kS8    ? 16 * 8 * 32
                         : w->unit == Unit::kF16 ? 16 * 8 * 16
                                                 : 16 * 8 * 8;
  w->instructions += w->issued / product * loop_instructions(kernel);
}

}  // namespace ingot::gpu_cost
