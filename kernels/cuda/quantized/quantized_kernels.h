// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/quantized_kernels.h - X(kernel, parameters, threads of a block)
//   quantized_<pixels>_<pixels of a tile>x<outputs of a tile>: on tensor cores; rows and windows of
//   sixteen channels, any bytes
#pragma once
#include "kernels/cuda/quantized/dynamic_params.h"
#include "kernels/cuda/quantized/quantized_params.h"

#define INGOT_CUDA_QUANTIZED(X)                         \
  X(quantized_map, QuantizedMapParams, 256)             \
  X(quantized_binary, QuantizedBinaryParams, 256)       \
  X(quantized_pool2d, QuantizedPoolParams, 128)         \
  X(quantized_softmax, QuantizedSoftmaxParams, 128)     \
  X(quantized_depthwise, QuantizedDepthwiseParams, 128) \
  X(quantized_matmul, QuantizedMatMulParams, 128)       \
  X(quantized_product_u8, QuantizedProductParams, 128)  \
  X(quantized_product_i16, QuantizedProductParams, 128) \
  X(quantized_rows_128x64, QuantizedTileParams, 128)    \
  X(quantized_rows_64x64, QuantizedTileParams, 128)     \
  X(quantized_rows_32x128, QuantizedTileParams, 128)    \
  X(quantized_windows_128x64, QuantizedTileParams, 128) \
  X(quantized_windows_64x64, QuantizedTileParams, 128)  \
  X(quantized_windows_32x128, QuantizedTileParams, 128) \
  X(quantized_bytes_64x64, QuantizedTileParams, 128)    \
  X(dynamic_quantize, DynamicQuantizeParams, 256)
