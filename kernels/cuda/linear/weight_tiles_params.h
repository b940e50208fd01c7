// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/weight_tiles_params.h - what products on tensor cores with weights of 8 and 4
// bits take. Lengths of x count words, as ProductParams says: of two f16, or f32; k of weights
// counts numbers.
#pragma once
#include "kernels/cuda/linear/weights_params.h"
#include "kernels/cuda/tensorcore/tensorcore_params.h"

namespace ingot::cuda {

/// y = epilogue(x * weights). Blocks are whole steps.
struct WeightTileParams : ProductParams {
  PackedWeights weights;
};

/// Of products of f16 or of tf32.
struct WeightTileShape {
  bool is_f16;
  int bits;
  constexpr int step_numbers() const { return is_f16 ? 32 : 16; }
  /// Bytes of a step that an output's weights are copied as; of 4 bits in tf32 each twice.
  constexpr int packed_bytes() const { return is_f16 && bits == 8 ? 32 : 16; }
  /// In a tile, with what becomes of them.
  constexpr int tile_bytes() const { return kWordWeights + packed_bytes(); }
};

/// Rows of f32 as rows of f16, up to whole pieces of eight.
struct RowsAsHalvesParams {
  const float* x;
  uint32_t* to;
  int64_t x_stride;    // in f32
  int64_t count;       // of pieces, of all rows
  FastDivisor pieces;  // of a row
  int32_t k;
  int32_t is_aligned;  // x and its rows to 16 bytes
};

}  // namespace ingot::cuda
