// kernels/cuda/quantized/quantized_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/quantized/quantized_params.h"

#define INGOT_CUDA_QUANTIZED(X)                        \
  X(quantized_map, QuantizedMapParams, 256)            \
  X(quantized_binary, QuantizedBinaryParams, 256)      \
  X(quantized_pool2d, QuantizedPoolParams, 128)        \
  X(quantized_matmul, QuantizedMatMulParams, 128)      \
  X(quantized_product_u8, QuantizedProductParams, 128) \
  X(quantized_product_i16, QuantizedProductParams, 128)
