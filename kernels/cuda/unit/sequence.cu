// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/unit/sequence.cu - attention and recurrent layers.
#include "kernels/cuda/attention/attention.cuh"
#include "kernels/cuda/recurrent/recurrent.cuh"
