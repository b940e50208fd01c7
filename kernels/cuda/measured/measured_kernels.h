// kernels/cuda/measured/measured_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/measured/measured_params.h"

// clang-format off
#define INGOT_CUDA_MEASURED(X)                                              \
  X(nonzero_count, NonZeroParams, 256) X(nonzero_write, NonZeroParams, 256) \
  X(unique_merge, UniqueParams, 256) X(unique_write, UniqueParams, 256)     \
  X(nms_select, NmsParams, 256) X(nms_write, NmsWriteParams, 256)
// clang-format on
