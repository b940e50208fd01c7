// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/computed_once.cuh - what a loop takes from before it stays as it is: to spare
// a register that may be free, the compiler else computes a value again in every iteration.
#pragma once
#include "kernels/cuda/device/gpu.h"

namespace ingot::cuda {

/// x, of which the compiler does not know how it was made.
GPU_FN int64_t computed_once(int64_t x) {
#if defined(__CUDACC__)
  asm volatile("" : "+l"(x));
#endif
  return x;
}
GPU_FN uint32_t computed_once(uint32_t x) {
#if defined(__CUDACC__)
  asm volatile("" : "+r"(x));
#endif
  return x;
}
GPU_FN const char* computed_once(const char* x) {
#if defined(__CUDACC__)
  asm volatile("" : "+l"(x));
#endif
  return x;
}

/// threadIdx.x and blockIdx.x, read again: what was computed of them need not be kept.
GPU_FN uint32_t thread_again() {
#if defined(__CUDACC__)
  uint32_t x;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
  return x;
#else
  return threadIdx.x;
#endif
}
GPU_FN uint32_t block_again() {
#if defined(__CUDACC__)
  uint32_t x;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return x;
#else
  return blockIdx.x;
#endif
}

}  // namespace ingot::cuda
