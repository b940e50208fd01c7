// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/data_dependent/data_dependent_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/data_dependent/data_dependent_params.h"

// clang-format off
#define INGOT_CUDA_DATA_DEPENDENT(X)                                              \
  X(nonzero_count, NonZeroParams, 256) X(nonzero_write, NonZeroParams, 256) \
  X(unique_merge, UniqueParams, 256) X(unique_write, UniqueParams, 256)     \
  X(nms_select, NmsParams, 256) X(nms_write, NmsWriteParams, 256)
// clang-format on
