// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/unit/tensorcore.cu - convolutions and matrix products on tensor cores.
#include "kernels/cuda/tensorcore/tensorcore.cuh"
