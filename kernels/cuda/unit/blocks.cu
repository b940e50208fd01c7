// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/unit/blocks.cu - weights in blocks, as language models are published.
#include "kernels/cuda/block_linear/block_linear.cuh"
