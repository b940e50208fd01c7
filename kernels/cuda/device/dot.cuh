// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/dot.cuh - four products of bytes in one instruction.
#pragma once
#include "kernels/cuda/device/gpu.h"

namespace ingot::cuda {

/// sum + x[0] w[0] + .. + x[3] w[3], modulo 2^32: x of u8, w of i8.
GPU_FN int32_t dot4(uint32_t x, uint32_t w, int32_t sum) {
#if defined(__CUDACC__)
  int32_t result = 0;
#if defined(__CUDA_ARCH__)
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(w), "r"(sum));
#endif
  return result;
#else
  uint32_t result = uint32_t(sum);
  for (int i = 0; i < 4; i++)
    result += uint32_t(int32_t(uint8_t(x >> 8 * i)) * int32_t(int8_t(uint8_t(w >> 8 * i))));
  return int32_t(result);
#endif
}

}  // namespace ingot::cuda
