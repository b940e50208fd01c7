// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/pool2d/pool2d_kernels.h - X(kernel, parameters, threads of a block)
#pragma once
#include "kernels/cuda/pool2d/pool2d_params.h"

#define INGOT_CUDA_POOL2D(X) X(pool2d_1, PoolParams, 128) X(pool2d_4, PoolParams, 128)
