// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/device/global_loads.cuh - neighbouring words of memory in one load, from an
// address of which the compiler does not know that it is one of memory (computed_once.cuh).
#pragma once
#include "kernels/cuda/device/gpu.h"

namespace ingot::cuda {

/// N words, 4 N-byte aligned.
#if defined(__CUDACC__)
GPU_FN void load_global(uint32_t (&to)[1], const void* from) {
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(to[0]) : "l"(from));
}
GPU_FN void load_global(uint32_t (&to)[2], const void* from) {
  asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "l"(from));
}
GPU_FN void load_global(uint32_t (&to)[4], const void* from) {
  asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "l"(from));
}
#else
template <int N>
GPU_FN void load_global(uint32_t (&to)[N], const void* from) {
  for (int i = 0; i < N; i++) to[i] = static_cast<const uint32_t*>(from)[i];
}
#endif

/// Four floats that other blocks of this launch have written: not through the first-level cache.
template <class Four>
GPU_FN Four load_through(const Four* from) {
#if defined(__CUDACC__)
  Four v;
  asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x[0]), "=f"(v.x[1]), "=f"(v.x[2]), "=f"(v.x[3])
               : "l"(from)
               : "memory");
  return v;
#else
  return *from;
#endif
}

}  // namespace ingot::cuda
