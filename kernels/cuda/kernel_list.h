// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/kernel_list.h - every kernel of device code, by unit: the one list that host code,
// modules and the emulator are made of.
#pragma once
#include "kernels/cuda/attention/attention_kernels.h"
#include "kernels/cuda/block_linear/block_kernels.h"
#include "kernels/cuda/control/control_kernels.h"
#include "kernels/cuda/conv2d/conv2d_kernels.h"
#include "kernels/cuda/data_dependent/data_dependent_kernels.h"
#include "kernels/cuda/elementwise/elementwise_kernels.h"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "kernels/cuda/image/image_kernels.h"
#include "kernels/cuda/linear/weight_tiles_kernels.h"
#include "kernels/cuda/movement/movement_kernels.h"
#include "kernels/cuda/pool2d/pool2d_kernels.h"
#include "kernels/cuda/ports/ports_kernels.h"
#include "kernels/cuda/quantized/quantized_kernels.h"
#include "kernels/cuda/recurrent/recurrent_kernels.h"
#include "kernels/cuda/reduce/reduce_kernels.h"
#include "kernels/cuda/resize/resize_kernels.h"
#include "kernels/cuda/tensorcore/tensorcore_kernels.h"

// A unit is one module of device code: unit/<name>.cu, loaded when a program needs it.
#define INGOT_CUDA_UNIT_TENSORS(X) \
  INGOT_CUDA_PORTS(X)              \
  INGOT_CUDA_CONTROL(X)            \
  INGOT_CUDA_ELEMENTWISE(X)        \
  INGOT_CUDA_MOVEMENT(X)           \
  INGOT_CUDA_REDUCE(X)             \
  INGOT_CUDA_POOL2D(X) INGOT_CUDA_RESIZE(X) INGOT_CUDA_IMAGE(X) INGOT_CUDA_DATA_DEPENDENT(X)
#define INGOT_CUDA_UNIT_PRODUCTS(X) INGOT_CUDA_CONV2D(X) INGOT_CUDA_GEMM(X)
#define INGOT_CUDA_UNIT_QUANTIZED(X) INGOT_CUDA_QUANTIZED(X)
#define INGOT_CUDA_UNIT_TENSORCORE(X) INGOT_CUDA_TENSORCORE(X)
#define INGOT_CUDA_UNIT_WEIGHTS(X) INGOT_CUDA_WEIGHT_TILES(X)
#define INGOT_CUDA_UNIT_BLOCKS(X) INGOT_CUDA_BLOCK_LINEAR(X)
#define INGOT_CUDA_UNIT_SEQUENCE(X) INGOT_CUDA_ATTENTION(X) INGOT_CUDA_RECURRENT(X)
#define INGOT_CUDA_UNIT_CONDITIONAL(X) INGOT_CUDA_DECIDING(X)

#define INGOT_CUDA_KERNELS(X)    \
  INGOT_CUDA_UNIT_TENSORS(X)     \
  INGOT_CUDA_UNIT_PRODUCTS(X)    \
  INGOT_CUDA_UNIT_TENSORCORE(X)  \
  INGOT_CUDA_UNIT_SEQUENCE(X)    \
  INGOT_CUDA_UNIT_CONDITIONAL(X) \
  INGOT_CUDA_UNIT_QUANTIZED(X) INGOT_CUDA_UNIT_WEIGHTS(X) INGOT_CUDA_UNIT_BLOCKS(X)

namespace ingot::cuda {

enum class KernelId : uint16_t {
#define INGOT_CUDA_ID(name, Params, threads) name,
  INGOT_CUDA_KERNELS(INGOT_CUDA_ID)
#undef INGOT_CUDA_ID
      kCount
};

}  // namespace ingot::cuda
