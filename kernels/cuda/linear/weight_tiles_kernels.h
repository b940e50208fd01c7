// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/weight_tiles_kernels.h - X(kernel, parameters, threads of a block)
//   weights_<type>_w<bits>_<rows of a tile>x<outputs of a tile>: rows of f16 or f32 times
//   weights of 8 or 4 bits, products of f16 or tf32
#pragma once
#include "kernels/cuda/linear/weight_tiles_params.h"

#define INGOT_CUDA_WEIGHT_TILES_OF(X, type)            \
  X(weights_##type##_w8_128x64, WeightTileParams, 128) \
  X(weights_##type##_w8_64x64, WeightTileParams, 128)  \
  X(weights_##type##_w8_32x128, WeightTileParams, 128) \
  X(weights_##type##_w4_128x64, WeightTileParams, 128) \
  X(weights_##type##_w4_64x64, WeightTileParams, 128)  \
  X(weights_##type##_w4_32x128, WeightTileParams, 128)

#define INGOT_CUDA_WEIGHT_TILES(X)    \
  INGOT_CUDA_WEIGHT_TILES_OF(X, f16)  \
  INGOT_CUDA_WEIGHT_TILES_OF(X, tf32) \
  X(rows_as_halves, RowsAsHalvesParams, 128)
