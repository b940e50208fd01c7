// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/unit/quantized.cu - operators of integers.
#include "kernels/cuda/quantized/quantized.cuh"
#include "kernels/cuda/quantized/quantized_kernels.h"
