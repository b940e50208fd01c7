// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/bits.cuh - counting bits, and changing some.
#pragma once
#include "kernels/cuda/device/gpu.h"

namespace ingot::cuda {

GPU_FN int count_bits(uint32_t x) {
#if defined(__CUDACC__)
  return __popc(x);
#else
  return __builtin_popcount(x);
#endif
}

/// (x & mask) ^ change: one instruction, of which the compiler makes two.
GPU_FN uint32_t masked_and_changed(uint32_t x, uint32_t mask, uint32_t change) {
#if defined(__CUDACC__)
  uint32_t y;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(y) : "r"(x), "r"(mask), "r"(change));
  return y;
#else
  return (x & mask) ^ change;
#endif
}

}  // namespace ingot::cuda
