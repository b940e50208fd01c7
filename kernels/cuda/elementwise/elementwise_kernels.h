// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/elementwise/elementwise_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/elementwise/elementwise_params.h"

#define INGOT_CUDA_ELEMENTWISE(X)            \
  X(elementwise_f32, ElementwiseParams, 256) \
  X(elementwise_f64, ElementwiseParams, 256) \
  X(elementwise_i64, ElementwiseParams, 256) \
  X(elementwise_u64, ElementwiseParams, 256) \
  X(elementwise_vectorized, VectorizedParams, 256)
