// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/unit/products.cu - convolutions and matrix products in f32, in the contract's order.
#include "kernels/cuda/conv2d/conv2d.cuh"
#include "kernels/cuda/gemm/gemm.cuh"
