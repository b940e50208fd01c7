// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/quantized.cuh - operators of integers, and the tiles that there are.
#pragma once
#include "kernels/cuda/quantized/depthwise.cuh"
#include "kernels/cuda/quantized/dynamic.cuh"
#include "kernels/cuda/quantized/maps.cuh"
#include "kernels/cuda/quantized/products.cuh"
#include "kernels/cuda/quantized/softmax.cuh"
#include "kernels/cuda/quantized/tiles.cuh"

namespace ingot::cuda {

#define INGOT_QUANTIZED_TILE(name, Pixels, m, o, warp_m)                                \
  INGOT_GPU_KERNEL_EARLY_BLOCKS(quantized_##name##_##m##x##o, QuantizedTileParams, 128, \
                                o == 128 ? 4 : 3) {                                     \
    INGOT_BODY_OF(S8U8, product<S8U8, Pixels, PanelWeights, m, o, warp_m>(p));          \
  }
INGOT_QUANTIZED_TILE(rows, RowPixels, 128, 64, 64)
INGOT_QUANTIZED_TILE(rows, RowPixels, 64, 64, 32)
INGOT_QUANTIZED_TILE(rows, RowPixels, 32, 128, 32)
INGOT_QUANTIZED_TILE(windows, NumberWindows, 128, 64, 64)
INGOT_QUANTIZED_TILE(windows, NumberWindows, 64, 64, 32)
INGOT_QUANTIZED_TILE(windows, NumberWindows, 32, 128, 32)
INGOT_QUANTIZED_TILE(bytes, BytePixels, 64, 64, 32)
#undef INGOT_QUANTIZED_TILE

}  // namespace ingot::cuda
