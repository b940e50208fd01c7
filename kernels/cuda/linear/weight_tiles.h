// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/weight_tiles.h - many rows times weights of 8 and 4 bits on tensor cores, f16
// made of both on the way: whether they can be, which tile. Host code.
#pragma once
#include "kernels/cuda/gemm/tile_model.h"
#include "kernels/cuda/linear/weight_tiles_params.h"

namespace ingot::cuda {

struct WeightTiles {
  WeightTileParams p = {};
  WeightTileShape shape = {};
  RowsAsHalvesParams rows = {};  // where x is f32 and products are of f16
  bool converts = false;         // likewise
  bool fits = false;             // by extents: scratch is asked for before addresses are known
  bool is_aligned = false;       // x lies where tiles of words can be read from
};

/// @pre y has elements
WeightTiles weight_tiles(const OpArguments& a, const PackedWeights& w, const GpuTraits& traits,
                         GpuPrecision precision);
/// Tiles, each with every split-K, and the model's cycles.
void list_weight_tiles(const WeightTiles& tiles, const GpuTraits& traits, VariantList* list);
/// With the split-K of a variant; 0: the least that launch_weight_tiles() makes do with.
uint64_t weight_tiles_scratch(const WeightTiles& tiles, int parts);
/// In fewer parts where there is less scratch. @pre fits, is_aligned, and the least scratch
Status launch_weight_tiles(const GpuWork& work, const WeightTiles& tiles,
                           const GpuVariant& variant);

}  // namespace ingot::cuda
