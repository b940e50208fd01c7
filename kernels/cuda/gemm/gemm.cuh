// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gemm/gemm.cuh - device code of products that are no convolutions.
#pragma once
#include "kernels/cuda/conv_transpose2d/conv_transpose2d.cuh"
#include "kernels/cuda/gemm/gemm_kernels.h"
#include "kernels/cuda/linear/skinny.cuh"
#include "kernels/cuda/linear/weights.cuh"
#include "kernels/cuda/linear/weights_relaxed.cuh"
#include "kernels/cuda/matmul/matmul.cuh"
