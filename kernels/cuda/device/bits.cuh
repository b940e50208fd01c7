// kernels/cuda/device/bits.cuh - counting bits.
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

}  // namespace ingot::cuda
