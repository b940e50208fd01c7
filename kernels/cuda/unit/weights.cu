// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/unit/weights.cu - many rows times weights of 8 and 4 bits, on tensor cores.
#include "kernels/cuda/linear/weight_tiles.cuh"
